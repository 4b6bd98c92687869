// ggscope-engine: the only program of ggscope that runs llama.cpp.
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/file.h"
#include "engine/load.h"
#include "engine/replay/replay.h"
#include "engine/run/run.h"
#include "engine/synth/synth.h"

enum { EXIT_USAGE = 2 };

static int version_main(int argc, char ** argv);

struct command {
    const char * name;
    const char * help;
    int (*main)(int argc, char ** argv); // argv[0] is "ggscope-engine NAME"
};

static const struct command commands[] = {
    {"run", "generate text with a GGUF model", ggs_run_main},
    {"replay", "compute an op that ggscope extract wrote, on every backend", ggs_replay_main},
    {"synth", "write a synthetic GGUF model", ggs_synth_main},
    {"version", "show the versions of this program and of the engine", version_main},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE * file) {
    fputs("Usage: ggscope-engine VERB [OPTION...]\n"
          "Run stock llama.cpp libraries, and make models to run.\n\n",
          file);
    for (size_t i = 0; i < COMMANDS; i++) fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\nggscope-engine VERB --help lists the options of a verb.\n", file);
}

// ---- version ----

static error_t parse_version_option(int key, char * argument, struct argp_state * state) {
    const char ** directory = state->input;
    if (key == 'e') {
        *directory = argument;
        return 0;
    }
    if (key == ARGP_KEY_ARG) argp_error(state, "unexpected argument '%s'", argument);
    return ARGP_ERR_UNKNOWN;
}

static int version_main(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"engine", 'e', "DIR", 0, "Use the llama.cpp libraries in DIR (else GGSCOPE_ENGINE)", 0}, {0}};
    static const struct argp argp      = {.options = options,
                                          .parser  = parse_version_option,
                                          .doc     = "Shows the versions of this program and of the engine."};
    const char *             directory = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &directory);

    printf("ggscope-engine %s\n", GGSCOPE_VERSION);
    fflush(stdout);
    static struct ggs_engine engine;
    struct ggs_error         error;
    if (ggs_engine_open(&engine, directory, false, &error) < 0) {
        fprintf(stderr, "ggscope-engine: %s\n", error.text);
        return EXIT_FAILURE;
    }
    printf("llama.cpp %s, ggml %s, commit %s\n%s\n", engine.version, engine.ggml_version, engine.commit,
           engine.paths.directory);
    printf("computes with %s:%s\n",
           engine.cpu_library[0] != '\0' ? engine.cpu_library : "a CPU backend inside another library",
           engine.cpu_features);
    return EXIT_SUCCESS;
}

// ---- dispatch ----

// Checks that all output was written, including libc's help. A verb that failed to write has
// already reported it.
static void finish_stdout(void) {
    if (ggs_file_flush(stdout) == 0) return;
    fprintf(stderr, "ggscope-engine: cannot write to standard output: %s\n", strerror(errno));
    _exit(EXIT_FAILURE);
}

int main(int argc, char ** argv) {
    atexit(finish_stdout);
    // A closed pipe (`| head`) ends the program quietly, even if the parent ignores the signal.
    signal(SIGPIPE, SIG_DFL);
    argp_err_exit_status = EXIT_USAGE;
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    static char help[] = "--help"; // argp has no -h and no word for it
    if (argc == 3 && strcmp(argv[1], "help") == 0)
        argv[1] = argv[2], argv[2] = help;
    else if (argc == 3 && strcmp(argv[2], "-h") == 0)
        argv[2] = help;
    const char * name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(name, "--version") == 0) name = "version";
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) != 0) continue;
        char shown[64];
        snprintf(shown, sizeof(shown), "ggscope-engine %s", name);
        argv[1] = shown;
        return commands[i].main(argc - 1, argv + 1);
    }
    fprintf(stderr, "ggscope-engine: there is no verb '%s'; ggscope-engine --help lists all verbs\n", name);
    return EXIT_USAGE;
}
