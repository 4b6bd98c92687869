// The table with one row: the experiment.
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "export/facts.h"
#include "export/tables/tables.h"

struct experiment_row {
    const char *id, *command, *prompt, *warning;
};

static void start_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    (void) parts;
    *cell = (struct ggs_cell){.null = export->start_utc_ns < 0, .integer = export->start_utc_ns};
}

#define ROW_(member) GGS_MEMBER_OR_NONE(0, struct experiment_row, member)
static const struct ggs_table_field experiment[] = {
    {"experiment_id", GGS_CELL_TEXT, GGS_MEMBER(0, struct experiment_row, id), "UUID"},
    {"ggscope_version", GGS_CELL_TEXT, GGS_FACT("ggscope_version"), "that recorded it"},
    {"state", GGS_CELL_TEXT, GGS_FACT("state"), "complete, or what else became of it"},
    {"start_utc", GGS_CELL_TIME, GGS_CALL_OR_NONE(start_of), "what 0 ns is"},
    {"start_monotonic_ns", GGS_CELL_INTEGER, GGS_FACT("start_monotonic_ns"), "the same as CLOCK_MONOTONIC"},
    {"duration_ns", GGS_CELL_INTEGER, GGS_FACT("duration_ns"), "of the program"},
    {"command", GGS_CELL_TEXT, ROW_(command), "words of the command as a JSON array"},
    {"working_directory", GGS_CELL_TEXT, GGS_FACT("working_directory"), "where it ran"},
    {"model", GGS_CELL_TEXT, GGS_FACT("model"), "as the command named it"},
    {"prompt", GGS_CELL_TEXT, ROW_(prompt), "what was asked"},
    {"exit_status", GGS_CELL_INTEGER, GGS_FACT("exit_status"), "of the program"},
    {"process_id", GGS_CELL_INTEGER, GGS_FACT("process_id"), "of the program"},
    {"threads", GGS_CELL_INTEGER, GGS_FACT("threads"), "of the engine"},
    {"ggml_version", GGS_CELL_TEXT, GGS_FACT("engine.ggml_version"), "of the engine"},
    {"ggml_commit", GGS_CELL_TEXT, GGS_FACT("engine.ggml_commit"), "of the engine"},
    {"llama_version", GGS_CELL_TEXT, GGS_FACT("engine.llama_version"), "of the engine"},
    {"cpu", GGS_CELL_TEXT, GGS_FACT("host.cpu"), "the machine"},
    {"cores", GGS_CELL_INTEGER, GGS_FACT("host.cores"), "the machine"},
    {"memory_bytes", GGS_CELL_INTEGER, GGS_FACT("host.memory_bytes"), "the machine"},
    {"kernel", GGS_CELL_TEXT, GGS_FACT("host.kernel"), "the machine"},
    {"os", GGS_CELL_TEXT, GGS_FACT("host.os"), "the machine"},
    {"warning", GGS_CELL_TEXT, ROW_(warning), "what is missing of the trace; null if it is whole"},
};

static void command_of(const struct ggs_facts * facts, struct ggs_text * text) {
    struct ggs_json json;
    const char *    word;
    ggs_json_init(&json, ggs_json_to_text, text, false);
    ggs_json_array(&json, NULL);
    for (size_t i = 0; (word = ggs_facts_command(facts, i)) != NULL; i++) ggs_json_string(&json, NULL, word);
    ggs_json_end(&json);
    ggs_json_finish(&json);
}

static int produce_experiment(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_text command = {0};
    command_of(sink->export->facts, &command);
    struct experiment_row row = {.id      = sink->export->id,
                                 .command = ggs_text_string(&command),
                                 .prompt  = ggs_facts_prompt(sink->export->facts),
                                 .warning = sink->export->warning[0] == '\0' ? NULL : sink->export->warning};
    int status = command.failed ? ggs_fail_memory(error) : ggs_sink_put(sink, (const void *[]){&row}, error);
    ggs_text_release(&command);
    return status;
}

const struct ggs_flat_table ggs_table_experiment = {
    .name        = "experiment",
    .description = "One row.",
    .keys        = 1,
    GGS_FIELDS(experiment),
    .produce = produce_experiment,
};
