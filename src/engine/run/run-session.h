// A loaded model with a context, a thread pool and a sampler.
//
//     struct ggs_session session = {0};
//     ggs_session_load(&session, &engine, &options, &interrupted, error)      the model
//     ggs_session_tokenize(&session, text, length, &tokens, &count, error)    its vocabulary
//     ggs_session_start(&session, &options, count, error)                     the context
//     ggs_session_decode(&session, tokens, count, logits, error)              session.batch at most
//     ggs_session_sample(&session)                                            the next token
//     ggs_session_close(&session)                                             also after failure
//
// Not thread-safe; the engine owns the pool's threads.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "llama.h"

struct ggs_engine;
struct ggs_error;
struct ggs_run_options;

struct ggs_session {
    struct ggs_engine *           engine;
    const char *                  path; // of the model
    struct llama_model *          model;
    const struct llama_vocab *    vocab;
    struct llama_context *        context;
    struct llama_sampler *        sampler;
    struct ggml_threadpool *      pool;
    uint32_t                      batch;    // maximum number of tokens per decode
    uint64_t                      position; // tokens decoded so far
    int8_t *                      wanted;   // `batch` flags: tokens whose logits are requested
    const volatile sig_atomic_t * interrupted;
};

// Loading stops with GGS_ABSENT and an empty sentence when *interrupted is set.
int ggs_session_load(struct ggs_session * session, struct ggs_engine * engine, const struct ggs_run_options * options,
                     const volatile sig_atomic_t * interrupted, struct ggs_error * error);

// Adds the special tokens that the model requires. The caller frees *tokens.
int ggs_session_tokenize(const struct ggs_session * session, const char * text, size_t length, llama_token ** tokens,
                         uint32_t * count, struct ggs_error * error);

// Makes a context for `prompt` tokens and those to be generated.
int ggs_session_start(struct ggs_session * session, const struct ggs_run_options * options, uint32_t prompt,
                      struct ggs_error * error);

// The tokens whose logits can be read afterwards: none (a prompt continues in the next call), the
// last one, all.
enum ggs_logits { GGS_LOGITS_NONE, GGS_LOGITS_LAST, GGS_LOGITS_ALL };
int ggs_session_decode(struct ggs_session * session, llama_token * tokens, uint32_t count, enum ggs_logits logits,
                       struct ggs_error * error);

llama_token ggs_session_sample(struct ggs_session * session);

void ggs_session_close(struct ggs_session * session);
