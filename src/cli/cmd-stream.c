// ggscope stream -- PROGRAM ARGS...: runs a program that uses ggml, with weights read ahead of use where its model does not fit into memory.
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/summary.h"
#include "record/inspect/program.h"
#include "record/launch/environment.h"
#include "record/launch/streaming.h"
#include "record/recording.h"

enum { KEY_RECORD = 256, KEY_ENGINE };

static const struct argp_option stream_options[] = {
    {"record", KEY_RECORD, NULL, 0, "Record it too; then the options of ggscope record, such as -o DIR, may follow", 1},
    {0},
};

struct request {
    struct ggs_recording recording;
    bool                 record;
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct request * request = state->input;
    (void) argument;
    switch (key) {
        case ARGP_KEY_INIT:
            state->child_inputs[0] = &request->recording.streaming;
            state->child_inputs[1] = &request->recording;
            return 0;
        case KEY_RECORD:
            request->record = true;
            return 0;
        case ARGP_KEY_ARG: // the program: all that follows is its own
            request->recording.command = &state->argv[state->next - 1];
            state->next                = state->argc;
            return 0;
        case ARGP_KEY_END:
            if (request->recording.command == NULL)
                argp_error(state, "which program? ggscope stream [OPTIONS...] -- PROGRAM ARGS...");
            if (!request->record && (request->recording.output != NULL || request->recording.prove ||
                                     request->recording.memory != 0 || request->recording.io))
                argp_error(state, "the options of a recording want --record");
            if (request->recording.prove)
                argp_error(state, "--prove watches the mapping, which a streamed program does not read");
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
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

int cmd_stream(int argc, char ** argv) {
    static const struct argp_child children[] = {
        {&ggs_streaming_argp, 0, NULL, 0}, {&ggs_recording_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        stream_options,
        parse_option,
        "[--] PROGRAM [ARGS...]",
        "Run PROGRAM, which uses the shared libraries of ggml or llama.cpp with a model that does not fit into memory. Weights are read from the disk "
        "ahead of use instead of page by page when they are touched; what it computes is the same. Where the model fits, nothing is changed.",
        children,
        NULL,
        NULL,
    };
    struct request request = {.recording = {.summarise = ggs_summary_print, .streaming = {.wanted = true}}};
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request) != 0) return 2;
    request.recording.streaming.quiet = request.recording.quiet;
    if (request.record) return ggs_recording_make(&request.recording, NULL, 0);
    struct ggs_error error;
    become(&request, &error);
    fprintf(stderr, "ggscope: %s\n", error.text);
    return 1;
}
