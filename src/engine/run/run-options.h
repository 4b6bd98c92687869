// The command line of `ggscope-engine run`.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

struct ggs_run_options {
    const char * model;
    const char * prompt;      // NULL if prompt_file is set
    const char * prompt_file; // "-" is stdin
    const char * teacher;     // a recording whose text is the prompt; NULL: none
    const char * engine;      // a directory, or NULL
    uint32_t     tokens;      // to generate
    uint32_t     threads;
    uint32_t     context;    // 0: what prompt and tokens need
    uint32_t     batch;      // 0: the engine's default
    uint32_t     ubatch;     // likewise
    uint32_t     gpu_layers; // number of layers on devices
    uint32_t     main_gpu;
    const char * device;          // names separated by ","; "none"; NULL: the engine's choice if gpu_layers is not 0
    const char * rpc;             // "HOST:PORT,...", or NULL
    const char * flash_attn;      // NULL: the engine's choice
    const char * split_mode;      // NULL: the engine's choice
    const char * override_tensor; // "PATTERN=BUFFER,...", NULL for none
    uint32_t     seed;
    float        temperature; // 0: greedy
    bool         no_mmap;
    bool         no_repack;
    bool         json;
    bool         logits_hash;
    bool         ignore_eos;
    bool         eval_callback;
    bool         verbose;
};

// Fills `options`. For an invalid command line (unknown option, missing -m) argp prints and exits
// with argp_err_exit_status. Values out of range return GGS_USAGE with a sentence.
int ggs_run_options_parse(struct ggs_run_options * options, int argc, char ** argv, struct ggs_error * error);
