// ggscope report DIR -o FILE.html: an experiment as one page to share.
#include <argp.h>
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/verb.h"
#include "serve/report.h"

enum { KEY_MOST = 256 };

static const uint64_t MOST_BYTES = 64ull << 20;

struct arguments {
    const char *              directory;
    const char *              output;
    bool                      quiet;
    struct ggs_report_options options;
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    switch (key) {
        case 'o':
            arguments->output = argument;
            return 0;
        case 'q':
            arguments->quiet = true;
            return 0;
        case KEY_MOST:
            if (!ggs_parse_bytes(argument, &arguments->options.most_bytes))
                argp_error(state, "--max-size takes a size such as 100M, not '%s'", argument);
            return 0;
        case ARGP_KEY_END:
            if (arguments->directory != NULL && arguments->output == NULL)
                argp_error(state, "where to? Give the page's name with -o FILE.html");
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
        default:
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
    }
}

static void show(void * context, uint64_t done, uint64_t total) {
    struct ggs_progress * progress = context;
    progress->total                = total;
    ggs_progress_update(progress, done < total ? done : total);
}

static int write_report(struct arguments * arguments, struct ggs_error * error) {
    struct ggs_shelf *  shelf;
    struct ggs_output   output;
    struct ggs_progress progress;
    int                 status = ggs_verb_seal(arguments->directory, error);
    if (status != 0) return status;
    status = ggs_shelf_new(&shelf, &arguments->directory, 1, NULL, error);
    if (status != 0) return status;
    status = ggs_output_open(&output, arguments->output, error);
    if (status == 0) {
        if (!arguments->quiet) arguments->options.progress = show;
        arguments->options.progress_context = &progress;
        ggs_progress_start(&progress, "report", 0);
        status = ggs_report_write(output.file, shelf, &arguments->options, error);
        ggs_progress_finish(&progress);
        if (status == 0)
            status = ggs_output_commit(&output, error);
        else
            ggs_output_discard(&output);
    }
    ggs_shelf_free(shelf);
    return status;
}

int cmd_report(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "The page's name", 1},
        {"max-size", KEY_MOST, "SIZE", 0, "Refuse to write more than this; 64M where not given", 1},
        {"quiet", 'q', NULL, 0, "No progress bar", 1},
        {0}};
    static const struct argp argp = {
        options,
        parse_option,
        "DIR",
        "Write an experiment as one self-contained page, to share or to keep: it opens from a file, without a server. It holds the whole recording, with its prompt, its command line and its paths.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {.options = {.most_bytes = MOST_BYTES}};
    struct ggs_error error     = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;
    if (write_report(&arguments, &error) < 0) {
        ggs_verb_complain(&error);
        return 1;
    }
    return 0;
}
