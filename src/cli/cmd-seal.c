// ggscope seal DIR: makes the trace of an experiment that has none.
#include <stdio.h>

#include "base/number.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "record/sealer.h"

struct arguments {
    struct ggs_input input;
    bool             quiet;
};

static void print_result(const char * directory, const struct ggs_seal_result * result) {
    char bytes[GGS_NUMBER_LENGTH], runs[GGS_NUMBER_LENGTH], op_runs[GGS_NUMBER_LENGTH];
    if (result->already) {
        fprintf(stderr, "ggscope: %s is sealed already\n", directory);
        return;
    }
    fprintf(stderr, "ggscope: sealed %s/trace.ggs: %s, %s graph runs, %s op runs%s\n", directory,
            ggs_format_bytes(bytes, result->bytes), ggs_format_count(runs, result->runs),
            ggs_format_count(op_runs, result->op_runs), result->ended ? "" : "; the program was interrupted");
}

static int seal(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    const char *             path      = arguments->input.paths[0];
    struct ggs_seal_result   result;
    (void) traces;
    int status = ggs_sealer_recover(path, arguments->quiet, &result, error);
    if (status < 0) return status;
    ggs_sealer_recover_followed(path, arguments->quiet);
    if (!arguments->quiet) print_result(path, &result);
    return 0;
}

int cmd_seal(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_SWITCH("quiet", 'q', "Print nothing on success", 1, offsetof(struct arguments, quiet)), {0}};
    static const struct ggs_verb verb = {
        .operands = "[DIR]",
        .most     = 1,
        .options  = options,
        .run      = seal,
        .text     = "Make the trace of an experiment that has none: the program was started with LD_PRELOAD alone, or "
                    "ggscope was killed. A sealed experiment is left as it is."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
