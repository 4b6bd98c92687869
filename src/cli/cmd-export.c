// ggscope export DIR --format F -o OUT: a recording in the formats of other programs.
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/verb.h"
#include "export/export.h"
#include "export/tables/tables.h"

enum { KEY_PER_THREAD = 256, KEY_TOKEN, KEY_TABLE, KEY_TABLES, MOST_TABLES = 32 };

struct arguments {
    struct ggs_export_options options;
    const char *              directory;
    const char *              tables[MOST_TABLES];
    bool                      quiet, list;
};

static void check(const struct arguments * arguments, struct argp_state * state) {
    if (arguments->list) return;
    if (arguments->directory == NULL) argp_error(state, "which experiment? Give its directory");
    if (arguments->options.format == NULL) argp_error(state, "which format? Give it with --format; --help lists them");
    if (arguments->options.output == NULL)
        argp_error(state, "where to? Give a name with -o, or -o - for standard output");
}

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments *          arguments = state->input;
    struct ggs_export_options * options   = &arguments->options;
    switch (key) {
        case 'f':
            options->format = argument;
            return 0;
        case 'o':
            options->output = argument;
            return 0;
        case 'z':
            options->gzip = true;
            return 0;
        case 'q':
            arguments->quiet = true;
            return 0;
        case KEY_PER_THREAD:
            options->per_thread = true;
            return 0;
        case KEY_TOKEN:
            options->steps = true;
            if (!ggs_take_tokens(&options->first_step, argument))
                argp_error(state, "'%s' names no token steps; write N or A..B", argument);
            return 0;
        case KEY_TABLE:
            if (options->n_tables == MOST_TABLES) argp_error(state, "too many tables");
            arguments->tables[options->n_tables++] = argument;
            return 0;
        case KEY_TABLES:
            arguments->list = true;
            return 0;
        case ARGP_KEY_ARG:
            if (arguments->directory != NULL)
                argp_error(state, "one experiment at a time, please: '%s' is too much", argument);
            arguments->directory = argument;
            return 0;
        case ARGP_KEY_END:
            check(arguments, state);
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

// The formats stand behind the options in --help.
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
    bool ok = !text.failed && fwrite(text.data, 1, text.length, stdout) == text.length && fflush(stdout) == 0;
    ggs_text_release(&text);
    return ok ? 0 : 1;
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

int cmd_export(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"format", 'f', "FORMAT", 0, "What to write, see below", 1},
        {"output", 'o', "OUT", 0, "Where to: a file or a directory, as the format wants; - is standard output", 1},
        {"token", KEY_TOKEN, "A..B", 0, "Only these token steps; one number for one of them", 2},
        {"table", KEY_TABLE, "NAME", 0, "csv, sqlite, parquet: only this table; may be repeated", 2},
        {"per-thread", KEY_PER_THREAD, NULL, 0, "json: an entry for each thread's share of an op", 2},
        {"gzip", 'z', NULL, 0, "Compress what is written", 3},
        {"quiet", 'q', NULL, 0, "Do not say what was written", 3},
        {"tables", KEY_TABLES, NULL, 0, "Describe all tables and columns, then end", 4},
        {0}};
    static const struct argp argp      = {options,
                                          parse_option,
                                          "DIR",
                                          "Write a recording in the format of other programs.\v"
                                               "Formats",
                                          NULL,
                                          filter_help,
                                          NULL};
    struct arguments         arguments = {0};
    struct ggs_progress      progress  = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;
    if (arguments.list) return list_tables();

    struct ggs_error         error  = {0};
    struct ggs_export_result result = {0};
    arguments.options.tables        = arguments.tables;
    arguments.options.progress      = show_progress;
    arguments.options.context       = &progress;
    if (ggs_export_refuse(&arguments.options, &error) < 0) {
        ggs_verb_complain(&error);
        return 2;
    }
    int status = ggs_verb_seal(arguments.directory, &error);
    if (status == 0) status = ggs_export(&arguments.options, arguments.directory, &result, &error);
    ggs_progress_finish(&progress);
    if (result.warning[0] != '\0') fprintf(stderr, "ggscope: %s\n", result.warning);
    if (status < 0) {
        ggs_verb_complain(&error);
        return 1;
    }
    if (!arguments.quiet && strcmp(arguments.options.output, "-") != 0) say_result(arguments.options.output, &result);
    return 0;
}
