// ggscope join A B... -o C: joins several recordings into one experiment.
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "record/spool/joining.h"
#include "trace/schema.h"

struct arguments {
    struct ggs_input input;
    const char *     output;
    bool             force;
};
#define AT(member) offsetof(struct arguments, member)

// The uncertainty of a recording's times.
static const char * error_text(char * text, const struct ggs_join_source * source) {
    if (source->clock == GGS_CLOCK_OWN) return "-";
    if (source->line.error_ns < 0) return "not known";
    return source->line.error_ns == 0 ? "exact" : ggs_format_nanoseconds(text, (uint64_t) source->line.error_ns);
}

static int print_sources(const struct ggs_joined * joined, const char * output) {
    char               a[GGS_NUMBER_LENGTH], name[128];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "recording|host|>graph runs|>matched|clock|>may be off");
    for (uint32_t i = 0; i < joined->n; i++) {
        const struct ggs_join_source * source = &joined->sources[i];
        ggs_table_cell(table, "%s", ggs_verb_fit(name, sizeof(name), source->path, 32));
        ggs_table_cell(table, "%s", source->host);
        ggs_table_cell(table, "%s", ggs_format_count(a, source->runs));
        ggs_table_cell(table, "%s", ggs_format_count(a, source->matched));
        ggs_table_cell(table, "%s", ggs_clock_source_name(source->clock));
        ggs_table_cell(table, "%s", error_text(a, source));
    }
    int status = ggs_table_end(table, stdout, 0);
    for (uint64_t i = 0; i < joined->join.n_links; i++) {
        const struct ggs_join_link * link   = &joined->join.links[i];
        struct ggs_reader *          reader = joined->sources[link->client].reader;
        if (link->matched == link->runs) continue;
        printf("%s: %" PRIu64 " of %" PRIu64 " graph runs%s\n",
               ggs_verb_fit(name, sizeof(name), ggs_reader_string(reader, link->backend), 48),
               link->runs - link->matched, link->runs,
               link->server == UINT32_MAX ? ": no recording has them" : " are in no recording");
    }
    printf("joined into %s\n", output);
    return status;
}

static int join(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    struct ggs_joining       joining   = {.inputs = arguments->input.paths,
                                          .n      = arguments->input.n,
                                          .output = arguments->output,
                                          .force  = arguments->force};
    struct ggs_joined        joined;
    (void) traces;
    int status = ggs_joined_make(&joined, &joining, error);
    if (status == 0 && !arguments->input.quiet) status = print_sources(&joined, arguments->output);
    ggs_joined_release(&joined);
    return status;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (arguments->output == NULL) argp_error(state, "missing option: name the joined experiment with -o DIR");
}

int cmd_join(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("output", 'o', "DIR", "Write the joined experiment to DIR", 1, AT(output), ggs_set_path,
                   "a directory"),
        GGS_SWITCH("force", 'f', "Replace an existing experiment", 1, AT(force)),
        GGS_SWITCH("quiet", 'q', "Print nothing on success", 2, AT(input.quiet)),
        {0},
    };
    static const struct ggs_verb verb = {
        .operands = "[HOST=]DIR... -o DIR",
        .least    = 1,
        .most     = UINT_MAX,
        .options  = options,
        .check    = check,
        .run      = join,
        .text     = "Merge several recordings into one experiment: those of a client and its rpc-servers, on one "
                    "machine or several, or those of record --follow. Clocks are aligned, and graph runs of the "
                    "client are matched with those of the servers. HOST names a machine; without it machines are "
                    "numbered."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
