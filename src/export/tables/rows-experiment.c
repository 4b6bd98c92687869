// The table of experiments, with one row.
#include <string.h>

#include "analyze/machine/conditions.h"
#include "analyze/memory/weight-places.h"
#include "answer/notes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "export/metadata.h"
#include "export/tables/tables.h"

struct experiment_row {
    const char *             id, *command, *prompt, *warning, *notes;
    struct ggs_weight_places places;
    struct ggs_conditions    conditions;
    bool                     locked;
};

static void start_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    (void) parts;
    *cell = (struct ggs_cell){.null = export->start_utc_ns < 0, .integer = export->start_utc_ns};
}

// With a limit: the kernel's figure for the program's group, which includes the page cache that it
// filled.
static void peak_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct experiment_row * row = parts[0];
    cell->integer                     = (int64_t) row->conditions.memory_peak;
    if (cell->integer == 0) cell->null = !ggs_metadata_number(export->facts, "machine.resident_peak", &cell->integer);
}

static void others_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct experiment_row * row = parts[0];
    (void) export;
    cell->real = row->conditions.others_cpu_share;
    cell->null = cell->real < 0;
}

static void copied_into(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct ggs_weight_places * places = &((const struct experiment_row *) parts[0])->places;
    cell->null                              = places->n == 0;
    if (cell->null) return;
    cell->text   = ggs_export_valid(export, places->buffer[0]);
    cell->length = strlen(cell->text);
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
    {"run_name", GGS_CELL_TEXT, GGS_FACT("name"), "record --name, else the name of its directory"},
    {"run_group", GGS_CELL_TEXT, GGS_FACT("group"), "record --group"},
    {"notes", GGS_CELL_TEXT, ROW_(notes), "ggscope note, a line each"},
    {"memory_limit_bytes", GGS_CELL_INTEGER, GGS_FACT("machine.memory_limit"), "--memory; null without a limit"},
    {"memory_peak_bytes", GGS_CELL_INTEGER, GGS_CALL_OR_NONE(peak_of),
     "the most that the program had resident; with a limit also the page cache that it filled"},
    {"cold", GGS_CELL_BOOLEAN, GGS_MEMBER(0, struct experiment_row, conditions.cold),
     "the model was dropped from the page cache before the start"},
    {"read_bytes", GGS_CELL_INTEGER, GGS_FACT("machine.read_bytes"), "that the program caused to be read from disks"},
    {"weights_mapped_bytes", GGS_CELL_INTEGER, GGS_MEMBER(0, struct experiment_row, places.mapped),
     "weights that ops read from the mapped file"},
    {"weights_copied_bytes", GGS_CELL_INTEGER, GGS_MEMBER(0, struct experiment_row, places.copied),
     "weights that the engine copied at load: repacked, without mmap, or to a device"},
    {"weights_copied_into", GGS_CELL_TEXT, GGS_CALL_OR_NONE(copied_into), "type of the buffer with most of these"},
    {"weights_locked", GGS_CELL_BOOLEAN, GGS_MEMBER(0, struct experiment_row, locked), "mlock was called at load"},
    {"file_system", GGS_CELL_TEXT, GGS_FACT("conditions.storage.file_system"), "that holds the model"},
    {"mount_options", GGS_CELL_TEXT, GGS_FACT("conditions.storage.mount_options"), "of that"},
    {"disk_name", GGS_CELL_TEXT, GGS_FACT("conditions.storage.disk"), "that holds the model; null if it has none"},
    {"disk_model", GGS_CELL_TEXT, GGS_FACT("conditions.storage.disk_model"), "of that"},
    {"disk_rotational", GGS_CELL_BOOLEAN, GGS_FACT("conditions.storage.rotational"), "of that"},
    {"disk_scheduler", GGS_CELL_TEXT, GGS_FACT("conditions.storage.scheduler"), "of that"},
    {"readahead_bytes", GGS_CELL_INTEGER, GGS_FACT("conditions.storage.readahead_bytes"), "of that"},
    {"disk_sequential_bytes_per_s", GGS_CELL_INTEGER, GGS_FACT("conditions.storage.sequential_bytes_per_s"),
     "of that, as ggscope stream has measured it; null: not measured"},
    {"disk_random_bytes_per_s", GGS_CELL_INTEGER, GGS_FACT("conditions.storage.random_bytes_per_s"),
     "the same for scattered reads"},
    {"swappiness", GGS_CELL_INTEGER, GGS_FACT("conditions.memory.swappiness"), "vm.swappiness"},
    {"swap_bytes", GGS_CELL_INTEGER, GGS_FACT("conditions.memory.swap_bytes"), "size of the swap space"},
    {"huge_pages", GGS_CELL_TEXT, GGS_FACT("conditions.memory.huge_pages"),
     "transparent ones: always, madvise or never"},
    {"memory_available_bytes", GGS_CELL_INTEGER, GGS_FACT("conditions.memory.available_bytes"),
     "MemAvailable when the program started"},
    {"numa_nodes", GGS_CELL_INTEGER, GGS_FACT("conditions.cpu.numa_nodes"), "the machine"},
    {"numa_balancing", GGS_CELL_INTEGER, GGS_FACT("conditions.memory.numa_balancing"), "kernel.numa_balancing"},
    {"cpu_flags", GGS_CELL_TEXT, GGS_FACT("conditions.cpu.flags"),
     "what the processor can do, as /proc/cpuinfo has it"},
    {"cpu_governor", GGS_CELL_TEXT, GGS_FACT("conditions.cpu.governor"), "of the first core"},
    {"cpu_quota_ns", GGS_CELL_INTEGER, GGS_FACT("conditions.cpu.quota_ns"),
     "CPU time that the control group allows in each period; null: no quota"},
    {"cpu_quota_period_ns", GGS_CELL_INTEGER, GGS_FACT("conditions.cpu.quota_period_ns"), "that period"},
    {"cpu_quota_periods", GGS_CELL_INTEGER, GGS_FACT("conditions.cpu.quota_periods"), "periods meanwhile"},
    {"cpu_throttled_periods", GGS_CELL_INTEGER, GGS_FACT("conditions.cpu.throttled_periods"),
     "of these, with the group held because its quota was used"},
    {"memory_stall_ns", GGS_CELL_INTEGER, GGS_FACT("conditions.memory.stall_ns"),
     "time in which some program of the machine waited for memory (PSI); null: not recorded"},
    {"cpu_library", GGS_CELL_TEXT, GGS_FACT("engine.cpu_library"), "that the engine chose"},
    {"others_cpu_share", GGS_CELL_REAL, GGS_CALL_OR_NONE(others_of),
     "of all cores' time, what other programs used meanwhile"},
    {"load_begin", GGS_CELL_REAL, GGS_FACT("conditions.load_begin"),
     "load average of a minute when the program started"},
    {"load_end", GGS_CELL_REAL, GGS_FACT("conditions.load_end"), "when it had ended"},
};

static void command_of(const struct ggs_metadata * facts, struct ggs_text * text) {
    struct ggs_json json;
    const char *    word;
    ggs_json_init(&json, ggs_json_to_text, text, false);
    ggs_json_array(&json, NULL);
    for (size_t i = 0; (word = ggs_metadata_command(facts, i)) != NULL; i++) ggs_json_string(&json, NULL, word);
    ggs_json_end(&json);
    ggs_json_finish(&json);
}

static int find_locks(struct ggs_trace * trace, bool * locked, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_read     read;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_READS, error);
    while (status >= 0 && !*locked && (status = ggs_cursor_next(cursor, &read, error)) > 0)
        *locked = read.kind == GGS_READ_LOCK;
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// Lines without their times. Unreadable notes count as none.
static void notes_of(const char * directory, struct ggs_text * text) {
    struct ggs_notes notes;
    if (directory == NULL || ggs_notes_read(&notes, directory, NULL) < 0) return;
    for (uint64_t i = 0; i < notes.n; i++) ggs_text_printf(text, "%s%s", i == 0 ? "" : "\n", notes.note[i].text);
    ggs_notes_release(&notes);
}

static int produce_experiment(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_export * export    = sink->export;
    struct ggs_text       command = {0}, notes = {0};
    struct experiment_row row = {.id      = export->id,
                                 .prompt  = ggs_metadata_prompt(export->facts),
                                 .warning = export->warning[0] == '\0' ? NULL : export->warning};
    command_of(export->facts, &command);
    notes_of(export->directory, &notes);
    ggs_conditions_read(&row.conditions, &export->trace);
    row.command = ggs_text_string(&command);
    row.notes   = notes.length == 0 ? NULL : ggs_export_valid(export, ggs_text_string(&notes));
    int status  = command.failed || notes.failed ? ggs_fail_memory(error) : 0;
    if (status == 0) status = ggs_weight_places_find(&row.places, &export->trace, error);
    if (status == 0) status = find_locks(&export->trace, &row.locked, error);
    if (status == 0) status = ggs_sink_put(sink, (const void *[]){&row}, error);
    ggs_text_release(&command);
    ggs_text_release(&notes);
    return status;
}

const struct ggs_flat_table ggs_table_experiment = {
    .name        = "experiment",
    .description = "One row.",
    .keys        = 1,
    GGS_FIELDS(experiment),
    .produce = produce_experiment,
};
