// ggscope export [DIR] --format F -o OUT: writes a recording in formats of other programs.
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/system/progress.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "export/export.h"
#include "export/tables/tables.h"

enum { MOST_TABLES = 32 };

struct tables {
    const char * names[MOST_TABLES];
    unsigned     n;
};

struct arguments {
    struct ggs_input input;
    const char *     format;
    const char *     output;
    int64_t          tokens[2]; // -1: not given
    struct tables    tables;
    bool             per_thread, gzip, quiet, list, lake, force;
};
#define AT(member) offsetof(struct arguments, member)

static bool set_table(void * member, const char * text) {
    struct tables * tables = member;
    if (tables->n == MOST_TABLES) return false;
    tables->names[tables->n++] = text;
    return true;
}

static struct ggs_word format_words(unsigned i) {
    const struct ggs_export_format * format = ggs_export_format(i);
    return format == NULL ? (struct ggs_word){NULL, NULL} : (struct ggs_word){format->name, format->summary};
}

static struct ggs_word table_words(unsigned i) {
    const struct ggs_flat_table * table = ggs_flat_table_at(i);
    return table == NULL ? (struct ggs_word){NULL, NULL} : (struct ggs_word){table->name, NULL};
}

static const struct ggs_option options[] = {
    GGS_OPTION_OF("format", 'f', "FORMAT", "What to write", 1, AT(format), ggs_set_text, format_words),
    GGS_OPTION("output", 'o', "OUT", "Write to OUT, a file or directory depending on the format; - is standard output",
               1, AT(output), ggs_set_text, NULL),
    GGS_OPTION("token", 0, "A..B", "Only these token steps, or one of them", 2, AT(tokens), ggs_set_tokens,
               GGS_EXPECTS_TOKENS),
    GGS_OPTIONS_SELECTION(2),
    GGS_OPTION_OF("table", 0, "NAME", "csv, sqlite, parquet: only this table; may be repeated", 2, AT(tables),
                  set_table, table_words),
    GGS_SWITCH("lake", 0, "parquet: add the experiment to the lake OUT, as OUT/experiment=ID/table=NAME/", 2, AT(lake)),
    GGS_SWITCH("force", 0, "With --lake: replace an existing experiment", 2, AT(force)),
    GGS_SWITCH("per-thread", 0, "json: an entry for each thread's share of an op", 2, AT(per_thread)),
    GGS_OPTION_DAMAGED(2),
    GGS_SWITCH("gzip", 'z', "Compress the output", 3, AT(gzip)),
    GGS_SWITCH("quiet", 'q', "Do not print what was written", 3, AT(quiet)),
    GGS_SWITCH("tables", 0, "Describe all tables and columns, and exit", 4, AT(list)),
    {0}};

static struct ggs_export_options export_options(struct arguments * a) {
    return (struct ggs_export_options){.format     = a->format,
                                       .output     = a->output,
                                       .gzip       = a->gzip,
                                       .per_thread = a->per_thread,
                                       .lake       = a->lake,
                                       .force      = a->force,
                                       .steps      = a->tokens[0] >= 0,
                                       .first_step = a->tokens[0],
                                       .last_step  = a->tokens[0] >= 0 ? a->tokens[1] : INT64_MAX,
                                       .choice     = a->input.choice,
                                       .damaged    = a->input.damaged,
                                       .tables     = a->tables.names,
                                       .n_tables   = a->tables.n};
}

static void check(const void * input, struct argp_state * state) {
    struct arguments arguments = *(const struct arguments *) input;
    struct ggs_error error     = {0};
    if (arguments.format == NULL) argp_error(state, "missing option: name the format with --format FORMAT");
    if (arguments.output == NULL)
        argp_error(state, "missing option: name the output with -o OUT, or -o - for standard output");
    struct ggs_export_options wanted = export_options(&arguments);
    if (ggs_export_refuse(&wanted, &error) < 0) argp_error(state, "%s", error.text);
}

// --help lists the formats after the options.
static char * filter_help(int key, const char * text, void * input) {
    (void) input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *) text;
    struct ggs_text                  formats = {0};
    const struct ggs_export_format * format;
    ggs_text_puts(&formats, "Formats:\n");
    for (unsigned i = 0; (format = ggs_export_format(i)) != NULL; i++)
        ggs_text_printf(&formats, "  %-9s  %s\n", format->name, format->summary);
    return formats.data; // argp frees it
}

static int list_tables(void) {
    struct ggs_text text = {0};
    ggs_tables_describe(&text);
    bool failed = text.failed;
    if (!failed) fwrite(text.data, 1, text.length, stdout); // failures are reported at the end
    ggs_text_release(&text);
    return failed ? 1 : 0;
}

static void show_progress(void * context, uint64_t done, uint64_t total) {
    struct ggs_progress * progress = context;
    if (progress->total != total) ggs_progress_start(progress, "exporting", total);
    ggs_progress_update(progress, done);
}

static void say_result(const char * output, const struct ggs_export_result * result) {
    char bytes[GGS_NUMBER_LENGTH], files[GGS_NUMBER_LENGTH], same[GGS_NUMBER_LENGTH];
    fprintf(stderr, "wrote %s: %s file%s, %s", output, ggs_format_count(files, result->files),
            result->files == 1 ? "" : "s", ggs_format_bytes(bytes, result->bytes));
    if (result->unchanged > 0) fprintf(stderr, " (%s unchanged)", ggs_format_count(same, result->unchanged));
    fputc('\n', stderr);
}

static int write_export(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments *        arguments = input;
    const char *              directory = arguments->input.paths[0];
    struct ggs_progress       progress  = {0};
    struct ggs_export_result  result    = {0};
    struct ggs_export_options wanted    = export_options(arguments);
    (void) traces;
    wanted.progress = show_progress;
    wanted.context  = &progress;
    int status      = ggs_verb_seal(directory, error);
    if (status == 0) status = ggs_export(&wanted, directory, &result, error);
    ggs_progress_finish(&progress);
    if (result.warning[0] != '\0') fprintf(stderr, "ggscope: %s\n", result.warning);
    if (status == 0 && !arguments->quiet && strcmp(wanted.output, "-") != 0) say_result(wanted.output, &result);
    return status;
}

int cmd_export(int argc, char ** argv) {
    static const struct ggs_verb verb      = {.operands = "[DIR]",
                                              .most     = 1,
                                              .options  = options,
                                              .check    = check,
                                              .run      = write_export,
                                              .help     = filter_help,
                                              .text     = "Write a recording in the format of other programs.\v"
                                                               "Formats"};
    struct arguments             arguments = {.tokens = {-1, -1}};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tables") == 0) return list_tables(); // needs no recording
    }
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
