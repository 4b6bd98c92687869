// ggscope stream -- PROGRAM ARGS...: runs a program that uses ggml, with weights read ahead of use if its model does not fit into memory.
#include <argp.h>
#include <limits.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/scaffold/summary.h"
#include "cli/scaffold/verb.h"
#include "record/inspect/program.h"
#include "record/launch/environment.h"
#include "record/launch/streaming.h"
#include "record/recording.h"

struct request {
    struct ggs_input     input;
    struct ggs_recording recording;
    bool                 record;
};
#define AT(member) offsetof(struct request, member)

static const struct ggs_option options[] = {
    {"record", 0, NULL, "Record it too; then the options of ggscope record, such as -o DIR, may follow", 1, AT(record),
     NULL, NULL},
    {0},
};

static void check(const void * arguments, struct argp_state * state) {
    const struct request *       request = arguments;
    const struct ggs_recording * r       = &request->recording;
    if (!request->record && (r->output != NULL || r->prove || r->memory != 0 || r->io))
        argp_error(state, "the options of a recording want --record");
    if (r->prove) argp_error(state, "--prove watches the mapping, which a streamed program does not read");
}

// The program takes our place: its input, output, signals and exit status are its own.
static int become(const struct request * request, struct ggs_error * error) {
    struct ggs_program     program;
    struct ggs_environment environment = {0};
    struct ggs_error       reason;
    bool                   only_warn;
    char **                command = request->recording.command;
    int                    status  = ggs_program_find(&program, command[0], error);
    if (status != 0) return status;
    if (ggs_program_check(&program, &only_warn, &reason) != 0 && !only_warn)
        return ggs_fail(error, reason.status, "%s", reason.text);
    ggs_environment_copy(&environment, environ);
    status = ggs_streaming_prepare(&request->recording.streaming, &environment, error);
    if (status == 0) {
        execve(program.path, command, environment.entries);
        status = ggs_fail_errno(error, "cannot start %s", program.path);
    }
    ggs_environment_release(&environment);
    return status;
}

static int stream(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    struct request * request = arguments;
    (void) traces;
    request->recording.command         = request->input.paths;
    request->recording.streaming.quiet = request->recording.quiet;
    return request->record ? ggs_recording_make(&request->recording, NULL, 0) : become(request, error);
}

int cmd_stream(int argc, char ** argv) {
    static const struct ggs_verb verb = {
        .operands = "[--] PROGRAM [ARGS...]",
        .program  = true,
        .least    = 1,
        .most     = UINT_MAX,
        .options  = options,
        .more     = {{"Streaming:", ggs_streaming_options, AT(recording.streaming)},
                     {"Recording:", ggs_recording_options, AT(recording)},
                     {"The machine:", ggs_machine_options, AT(recording)}},
        .check    = check,
        .run      = stream,
        .text =
            "Run PROGRAM, which uses the shared libraries of ggml or llama.cpp with a model that does not fit into memory. Weights are read from the disk "
            "ahead of use instead of page by page when they are touched; what it computes is the same. If the model fits, nothing is changed."};
    struct request request = {.recording = {.summarise = ggs_summary_print, .streaming = {.wanted = true}}};
    return ggs_verb_run(&verb, argc, argv, &request);
}
