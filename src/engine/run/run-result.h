// The result of a run, for run --json. Independent of the engine's types, so that src/contract can
// describe it.
#pragma once

#include "base/object.h"

struct ggs_run_result {
    const char *     text;
    size_t           text_length;
    uint32_t         prompt_tokens, generated;
    const char *     stopped; // "length", "end" or "interrupt"
    uint64_t         load_ns, prompt_ns, generate_ns, generate_cpu_ns;
    const uint64_t * token_ns; // of each token except the first, in order
    uint32_t         n_token_ns;
    int64_t          median_ns;         // of one token; -1 if there was only one
    double           tokens_per_second; // NaN if there was only one
    uint32_t         threads;
    const char *     llama_version, *ggml_version, *ggml_commit, *directory;
    const char *     model;
    const int32_t *  ids;
    const char *     logits_hash; // NULL: not requested
};
extern const struct ggs_object ggs_run_result_object;
