// ggscope record -- PROGRAM ARGS...: records a program that uses ggml.
#include <argp.h>
#include <limits.h>

#include "cli/commands.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/requested-exports.h"
#include "cli/scaffold/verb.h"
#include "record/recording.h"

struct arguments {
    struct ggs_input     input;
    struct ggs_recording recording;
};
#define AT(member) offsetof(struct arguments, member)

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    const char *             misuse    = ggs_recording_misuse(&arguments->recording);
    if (misuse != NULL) argp_error(state, "%s", misuse);
}

static int record(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments           = input;
    char               directory[PATH_MAX] = "";
    (void) traces, (void) error;
    arguments->recording.command = arguments->input.paths;
    int result                   = ggs_recording_make(&arguments->recording, directory, sizeof(directory));
    ggs_requested_exports_environment(directory);
    return result;
}

int cmd_record(int argc, char ** argv) {
    static const struct ggs_option none[] = {{0}};
    static const struct ggs_verb   verb   = {
            .operands = "[--] PROGRAM [ARGS...]",
            .program  = true,
            .least    = 1,
            .most     = UINT_MAX,
            .options  = none,
            .more     = {{"Recording:", ggs_recording_options, AT(recording)},
                         {"The machine:", ggs_machine_options, AT(recording)}},
            .check    = check,
            .run      = record,
            .text     = "Run PROGRAM, which uses the shared libraries of ggml or llama.cpp, and record every operation "
                            "that it computes. Its input, output, signals and exit status are the same as without ggscope."};
    struct arguments arguments = {.recording = {.summarise = ggs_summary_print}};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
