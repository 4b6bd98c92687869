// ggscope VERB ARGS...: finds the verb and runs it.
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

static const struct ggs_command commands[] = {
    {"run", cmd_run, "generate text with a model, recorded"},
    {"record", cmd_record, "record a program that uses ggml"},
    {"stream", cmd_stream, "run a program whose model is larger than memory"},
    {"seal", cmd_seal, "make the trace of an experiment that has none yet"},
    {"serve", cmd_serve, "show experiments in the browser"},
    {"report", cmd_report, "an experiment as one page to share"},
    {"stats", cmd_stats, "what ran, how often, at which cost"},
    {"log", cmd_log, "the ops one after the other, with filters"},
    {"graph", cmd_graph, "the compute graph of a token step, layer by layer"},
    {"requests", cmd_requests, "what a server answered: slots, prompts, tokens, drafts"},
    {"experts", cmd_experts, "which experts were chosen, how often again, how early known"},
    {"paging", cmd_paging, "what less memory than the model would cost"},
    {"export", cmd_export, "the recording in the formats of other programs"},
    {"buffers", cmd_buffers, "runtime buffers: size, life, peak, transfers"},
    {"diff", cmd_diff, "what changed between two experiments"},
    {"check", cmd_check, "is an experiment whole and consistent?"},
    {"prove", cmd_prove, "did ops touch the pages that the trace says?"},
    {"gguf", cmd_gguf, "structure and memory map of a GGUF model file"},
    {"doctor", cmd_doctor, "what can be recorded here, and how to fix the rest"},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE * file) {
    fputs("Usage: ggscope VERB [OPTIONS...]\n"
          "See every tensor operation and every byte of a ggml / llama.cpp inference.\n\n",
          file);
    for (size_t i = 0; i < N_COMMANDS; i++) fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n  ggscope VERB --help    the options of a verb\n"
          "  ggscope --version      the version\n",
          file);
}

// The verb whose name is nearest, for "did you mean": the longest common prefix of at least two letters.
static const char * nearest(const char * word) {
    const char * best        = NULL;
    size_t       best_common = 1;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        size_t common = 0;
        while (word[common] != '\0' && word[common] == commands[i].name[common]) common++;
        if (common > best_common) best = commands[i].name, best_common = common;
    }
    return best;
}

int main(int argc, char ** argv) {
    // A reader that goes away (| head) ends us quietly, as it does other filters.
    signal(SIGPIPE, SIG_DFL);
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    const char * verb = argv[1];
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-?") == 0 || strcmp(verb, "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        puts("ggscope " GGSCOPE_VERSION);
        return 0;
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(verb, commands[i].name) != 0) continue;
        char program[64]; // how argp calls us in its messages
        snprintf(program, sizeof(program), "ggscope %s", verb);
        argv[1]              = program;
        argp_err_exit_status = 2;
        return commands[i].function(argc - 1, argv + 1);
    }
    const char * guess = nearest(verb);
    fprintf(stderr, "ggscope: there is no verb '%s'%s%s%s; ggscope --help lists them\n", verb,
            guess == NULL ? "" : " (did you mean '", guess == NULL ? "" : guess, guess == NULL ? "" : "'?)");
    return 2;
}
