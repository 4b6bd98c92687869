// ggscope stream -- PROGRAM ARGS...: runs a program that uses ggml, with weights read ahead of use
// if its model does not fit into memory.
#include "cli/stream/cmd-stream.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/verb.h"
#include "record/inspect/program.h"
#include "record/launch/child-environment.h"
#include "record/launch/streaming.h"
#include "record/memory/limit.h"
#include "record/recording.h"

struct request {
    struct ggs_input     input;
    struct ggs_recording recording;
    bool                 record, dry_run;
};
#define AT(member) offsetof(struct request, member)

static const struct ggs_option options[] = {
    GGS_SWITCH("record", 0, "Also record the program, with the options of ggscope record such as -o DIR", 1,
               AT(record)),
    GGS_SWITCH("dry-run", 0,
               "Run nothing: predict what is streamed, from the program's model, a GGUF file or a recording", 1,
               AT(dry_run)),
    GGS_SWITCH("verbose", 0, "Print speed, waits and reads every 10 s", 1, AT(recording.streaming.verbose)),
    {0},
};

// Returns the recording option that was given, NULL: none.
static const char * option_of_recording(const struct ggs_recording * r) {
    const struct {
        const char * name;
        bool         is;
    } given[] = {{"-o", r->output != NULL},
                 {"--prove", r->prove},
                 {"--io", r->io},
                 {"--residency", r->residency},
                 {"--faults", r->faults},
                 {"--cold", r->cold},
                 {"--paused", r->paused},
                 {"--for", r->length_ns != 0},
                 {"--steps", r->steps != 0},
                 {"--requests", r->requests != 0},
                 {"--max-size", r->max_size != 0},
                 {"--spool", r->spool != NULL},
                 {"--engine", r->engine != NULL},
                 {"--follow", r->follow}};
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        if (given[i].is) return given[i].name;
    }
    return NULL;
}

static void check(const void * arguments, struct argp_state * state) {
    const struct request *       request = arguments;
    const struct ggs_recording * r       = &request->recording;
    const char *                 name    = request->record ? NULL : option_of_recording(r);
    const char *                 misuse  = ggs_recording_misuse(r);
    if (name != NULL) argp_error(state, "%s needs --record", name);
    if (misuse != NULL) argp_error(state, "%s", misuse);
    if (r->prove) argp_error(state, "--prove watches the mapping, which a streamed program does not read");
}

// Executes the command with `prefix` in front. Returns only on failure.
static int execute(const char * path, char ** command, const char ** prefix,
                   const struct ggs_child_environment * environment, struct ggs_error * error) {
    size_t n = 0, m = 0;
    if (prefix[0] == NULL) {
        execve(path, command, environment->entries);
        return ggs_fail_errno(error, "cannot start %s", path);
    }
    while (command[n] != NULL) n++;
    while (prefix[m] != NULL) m++;
    const char ** all = malloc((n + m + 1) * sizeof(*all));
    if (all == NULL) return ggs_fail_memory(error);
    memcpy(all, prefix, m * sizeof(*all));
    memcpy(all + m, command, (n + 1) * sizeof(*all));
    all[m] = path;
    execvpe(all[0], (char * const *) all, environment->entries);
    free(all);
    return ggs_fail_errno(error, "cannot start %s", prefix[0]);
}

// The program replaces this process, with its own input, output, signals and exit status.
static int become(const struct request * request, struct ggs_error * error) {
    struct ggs_program           program;
    struct ggs_child_environment environment = {0};
    struct ggs_error             reason;
    bool                         only_warn;
    char **                      command                  = request->recording.command;
    const char *                 prefix[GGS_LIMIT_PREFIX] = {NULL};
    int                          status                   = ggs_program_find(&program, command[0], error);
    if (status != 0) return status;
    if (ggs_program_check(&program, &only_warn, &reason) != 0 && !only_warn)
        return ggs_fail(error, reason.status, "%s", reason.text);
    ggs_child_environment_copy(&environment, environ);
    status = ggs_streaming_prepare(&request->recording.streaming, &environment, error);
    if (status == 0 && request->recording.memory.bytes != 0)
        status = ggs_limit_enter(request->recording.memory.bytes, prefix, error);
    if (status == 0) status = execute(program.path, command, prefix, &environment, error);
    ggs_child_environment_release(&environment);
    return status;
}

static int stream(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    struct request * request = arguments;
    (void) traces;
    request->recording.command         = request->input.paths;
    request->recording.streaming.quiet = request->recording.quiet;
    if (request->dry_run) request->recording.model = ggs_stream_dry_run_model(request->input.paths);
    int status = ggs_recording_resolve(&request->recording, error);
    if (status != 0) return status;
    if (request->dry_run) {
        const struct ggs_recording * r = &request->recording;
        return ggs_stream_dry_run(r->command, r->memory.bytes != 0 ? r->memory.bytes : r->streaming.budget.bytes,
                                  error);
    }
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
