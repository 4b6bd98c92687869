// ggscope report DIR -o FILE.html: writes an experiment as one page to share.
#include <argp.h>
#include <stdio.h>

#include "base/error.h"
#include "base/system/file.h"
#include "base/system/progress.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "serve/report.h"

static const uint64_t MOST_BYTES = 64ull << 20;

struct arguments {
    struct ggs_input          input;
    const char *              output;
    bool                      quiet;
    struct ggs_report_options options;
};

#define AT(member) offsetof(struct arguments, member)

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (arguments->output == NULL) argp_error(state, "missing option: name the page with -o FILE.html");
}

static void show(void * context, uint64_t done, uint64_t total) {
    struct ggs_progress * progress = context;
    progress->total                = total;
    ggs_progress_update(progress, done < total ? done : total);
}

static int write_report(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments *       arguments = input;
    const char *             path      = arguments->input.paths[0];
    struct ggs_experiments * experiments;
    struct ggs_output        output;
    struct ggs_progress      progress;
    // The page contains the trace, so all of it is verified.
    int status = ggs_reader_verify(traces[0].reader, NULL, NULL, error);
    if (status != 0) return status;
    status = ggs_experiments_new(&experiments, &path, 1, NULL, error);
    if (status != 0) return status;
    status = ggs_output_open(&output, arguments->output, error);
    if (status == 0) {
        if (!arguments->quiet) arguments->options.progress = show;
        arguments->options.progress_context = &progress;
        ggs_progress_start(&progress, "report", 0);
        status = ggs_report_write(output.file, experiments, &arguments->options, error);
        ggs_progress_finish(&progress);
        if (status == 0)
            status = ggs_output_commit(&output, error);
        else
            ggs_output_discard(&output);
    }
    ggs_experiments_free(experiments);
    return status;
}

int cmd_report(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("output", 'o', "FILE", "Write the page to FILE", 1, AT(output), ggs_set_text, NULL),
        GGS_OPTION("max-size", 0, "SIZE", "Refuse to write more than SIZE (64M)", 1, AT(options.most_bytes),
                   ggs_set_size, "a size such as 100M"),
        GGS_SWITCH("quiet", 'q', "No progress bar", 1, AT(quiet)),
        {0}};
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .check = check, .run = write_report,
        .text =
            "Write an experiment as one self-contained page, to share or to keep: it opens from a file, without a server. It holds the whole recording, with its prompt, its command line and its paths."};
    struct arguments arguments = {.options = {.most_bytes = MOST_BYTES}};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
