// ggscope record -- PROGRAM ARGS...: records a program that uses ggml.
#include <argp.h>
#include <limits.h>

#include "cli/commands.h"
#include "cli/exports.h"
#include "cli/summary.h"
#include "record/recording.h"

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct ggs_recording * recording = state->input;
    (void) argument;
    switch (key) {
        case ARGP_KEY_INIT:
            state->child_inputs[0] = recording;
            return 0;
        case ARGP_KEY_ARG: // the program: all that follows is its own
            recording->command = &state->argv[state->next - 1];
            state->next        = state->argc;
            return 0;
        case ARGP_KEY_END:
            if (recording->command == NULL)
                argp_error(state,
                           "missing argument: the program to record: ggscope record [OPTIONS...] -- PROGRAM ARGS...");
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

int cmd_record(int argc, char ** argv) {
    static const struct argp_child children[] = {{&ggs_recording_argp, 0, NULL, 0}, {0}};
    static const struct argp       argp       = {
                    NULL,
                    parse_option,
                    "[--] PROGRAM [ARGS...]",
                    "Run PROGRAM, which uses the shared libraries of ggml or llama.cpp, and record every operation it computes. Its input, "
                                "output, signals and exit status are what they are without ggscope.",
                    children,
                    NULL,
                    NULL,
    };
    struct ggs_recording recording = {.summarise = ggs_summary_print};
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &recording) != 0) return 2;
    char directory[PATH_MAX] = "";
    int  result              = ggs_recording_make(&recording, directory, sizeof(directory));
    ggs_exports_environment(directory);
    return result;
}
