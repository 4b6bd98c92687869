#include "base/options/spelling.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

struct spelling {
    const char * from;
    const char * to;      // NULL: omitted, because it is the default
    const char * instead; // not NULL: refused with this text
};

#define RECORD  "record llama.cpp's own program: ggscope record -- llama-cli ..."
#define SAMPLER "the runner samples by --temp and --seed alone; for more, " RECORD

static const struct spelling spellings[] = {
    {"-ngl", "--gpu-layers", NULL},
    {"--n-gpu-layers", "--gpu-layers", NULL},
    {"-dev", "--device", NULL},
    {"-sm", "--split-mode", NULL},
    {"-mg", "--main-gpu", NULL},
    {"-ot", "--override-tensor", NULL},
    {"-c", "--ctx", NULL},
    {"--ctx-size", "--ctx", NULL},
    {"-b", "--batch", NULL},
    {"--batch-size", "--batch", NULL},
    {"-ub", "--ubatch", NULL},
    {"--ubatch-size", "--ubatch", NULL},
    {"-s", "--seed", NULL},
    {"--predict", "--tokens", NULL},
    {"--n-predict", "--tokens", NULL},
    {"--temperature", "--temp", NULL},
    {"-v", "--verbose", NULL},
    {"--log-verbose", "--verbose", NULL},
    {"-nr", "--no-repack", NULL},
    {"-no-cnv", NULL, NULL},
    {"--no-conversation", NULL, NULL},
    {"-st", NULL, NULL},
    {"--single-turn", NULL, NULL},
    {"--simple-io", NULL, NULL},
    {"--no-display-prompt", NULL, NULL},
    {"--no-warmup", NULL, NULL},
    {"--no-escape", NULL, NULL},
    {"--mmap", NULL, NULL},
    {"-e", NULL, "the prompt is taken as it is; let the shell make line ends: -p $'one\\ntwo'"},
    {"--escape", NULL, "the prompt is taken as it is; let the shell make line ends: -p $'one\\ntwo'"},
    {"-cnv", NULL, "the runner continues a prompt and has no conversation; " RECORD},
    {"--conversation", NULL, "the runner continues a prompt and has no conversation; " RECORD},
    {"-i", NULL, "the runner is not interactive; " RECORD},
    {"--interactive", NULL, "the runner is not interactive; " RECORD},
    {"-sys", NULL, "the runner has no chat template: put it into -p; or " RECORD},
    {"--system-prompt", NULL, "the runner has no chat template: put it into -p; or " RECORD},
    {"-tb", NULL, "the runner computes prompt and answer with the threads of -t"},
    {"--threads-batch", NULL, "the runner computes prompt and answer with the threads of -t"},
    {"-hf", NULL, "nothing is downloaded here; name a file with -m"},
    {"-hfr", NULL, "nothing is downloaded here; name a file with -m"},
    {"-mu", NULL, "nothing is downloaded here; name a file with -m"},
    {"-fa", "--flash-attn", NULL},
    {"-ctk", NULL, "the runner's KV cache has the engine's default types; " RECORD},
    {"-ctv", NULL, "the runner's KV cache has the engine's default types; " RECORD},
    {"--cache-type-k", NULL, "the runner's KV cache has the engine's default types; " RECORD},
    {"--cache-type-v", NULL, "the runner's KV cache has the engine's default types; " RECORD},
    {"--mlock", NULL, "the runner locks no memory; " RECORD},
    {"--numa", NULL, "the runner leaves placement to the kernel; " RECORD},
    {"-md", NULL, "the runner has no draft model; " RECORD},
    {"--model-draft", NULL, "the runner has no draft model; " RECORD},
    {"--lora", NULL, "the runner takes no adapters; " RECORD},
    {"-np", NULL, "the runner computes one sequence; " RECORD},
    {"--parallel", NULL, "the runner computes one sequence; " RECORD},
    {"--grammar", NULL, SAMPLER},
    {"--top-k", NULL, SAMPLER},
    {"--top-p", NULL, SAMPLER},
    {"--min-p", NULL, SAMPLER},
    {"--samplers", NULL, SAMPLER},
    {"--repeat-penalty", NULL, SAMPLER},
    {"--presence-penalty", NULL, SAMPLER},
    {"--frequency-penalty", NULL, SAMPLER},
};

static bool takes_any_text(const char * word) {
    static const char * const options[] = {"-p", "--prompt", "-f", "--file", "-m", "--model", "-o", "--output"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(word, options[i]) == 0) return true;
    }
    return false;
}

static const struct spelling * find(const char * word) {
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        if (strcmp(word, spellings[i].from) == 0) return &spellings[i];
    }
    return NULL;
}

int ggs_spell_options(int * argc, char ** argv, struct ggs_error * error) {
    int to = 1, i = 1;
    for (; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        const struct spelling * spelling = find(argv[i]);
        if (spelling != NULL && spelling->instead != NULL)
            return ggs_fail(error, GGS_USAGE, "%s: %s", argv[i], spelling->instead);
        if (spelling != NULL && spelling->to == NULL) continue;
        bool text  = takes_any_text(argv[i]);
        argv[to++] = spelling == NULL ? argv[i] : (char *) spelling->to;
        if (text && i + 1 < *argc) argv[to++] = argv[++i];
    }
    while (i < *argc) argv[to++] = argv[i++];
    argv[ *argc = to] = NULL;
    return 0;
}
