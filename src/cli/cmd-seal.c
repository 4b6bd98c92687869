// ggscope seal DIR: makes the trace of an experiment that has none yet.
#include <argp.h>
#include <stdio.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"
#include "record/sealing.h"

struct arguments {
    const char * directory;
    bool         quiet;
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    switch (key) {
        case 'q':
            arguments->quiet = true;
            return 0;
        default:
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
    }
}

static void tell(const char * directory, const struct ggs_seal_result * result) {
    char bytes[GGS_NUMBER_LENGTH], runs[GGS_NUMBER_LENGTH], op_runs[GGS_NUMBER_LENGTH];
    if (result->already) {
        fprintf(stderr, "ggscope: %s is sealed already\n", directory);
        return;
    }
    fprintf(stderr, "ggscope: sealed %s/trace.ggs: %s, %s graph runs, %s op runs%s\n", directory,
            ggs_format_bytes(bytes, result->bytes), ggs_format_count(runs, result->runs),
            ggs_format_count(op_runs, result->op_runs), result->ended ? "" : "; the program was interrupted");
}

int cmd_seal(int argc, char ** argv) {
    static const struct argp_option options[] = {{"quiet", 'q', NULL, 0, "Say nothing where all is well", 1}, {0}};
    static const struct argp        argp      = {
                    options,
                    parse_option,
                    "DIR",
                    "Make the trace of an experiment that has none yet: the program was started with LD_PRELOAD and without ggscope, or "
                                "ggscope was killed before it could do so. An experiment that is sealed already stays as it is.",
                    NULL,
                    NULL,
                    NULL,
    };
    struct arguments arguments = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;

    struct ggs_error       error;
    struct ggs_seal_result result;
    if (ggs_seal_recover(arguments.directory, arguments.quiet, &result, &error) < 0) {
        fprintf(stderr, "ggscope: %s\n", error.text);
        return 1;
    }
    ggs_seal_followed(arguments.directory, arguments.quiet);
    if (!arguments.quiet) tell(arguments.directory, &result);
    return 0;
}
