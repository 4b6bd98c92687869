// A loaded model, and on it a context with a thread pool and a sampler.
//
//     struct ggs_session session = {0};
//     ggs_session_load(&session, &engine, &options, &interrupted, error)      the model
//     ggs_session_tokenize(&session, text, length, &tokens, &count, error)    its vocabulary
//     ggs_session_start(&session, &options, count, error)                     the context
//     ggs_session_decode(&session, tokens, count, logits, error)              at most session.batch tokens at once
//     ggs_session_sample(&session)                                            the next token
//     ggs_session_close(&session)                                             at any time, also after a failure
//
// Not thread-safe; the pool's threads are the engine's own.
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
    uint32_t                      batch;    // the most tokens of one decode
    uint64_t                      position; // tokens decoded so far
    int8_t *                      wanted;   // `batch` flags: whose logits are asked for
    const volatile sig_atomic_t * interrupted;
};

// Loading stops with GGS_ABSENT and an empty sentence once *interrupted is set.
int ggs_session_load(struct ggs_session * session, struct ggs_engine * engine, const struct ggs_run_options * options,
                     const volatile sig_atomic_t * interrupted, struct ggs_error * error);

// With the special tokens that the model wants around a text. *tokens is the caller's to free.
int ggs_session_tokenize(const struct ggs_session * session, const char * text, size_t length, llama_token ** tokens,
                         uint32_t * count, struct ggs_error * error);

// A context that holds `prompt` tokens and those to be generated.
int ggs_session_start(struct ggs_session * session, const struct ggs_run_options * options, uint32_t prompt,
                      struct ggs_error * error);

// Whose logits can be read afterwards: of no token (a prompt goes on in the next call), of the last
// one, of every one.
enum ggs_logits { GGS_LOGITS_NONE, GGS_LOGITS_LAST, GGS_LOGITS_ALL };
int ggs_session_decode(struct ggs_session * session, llama_token * tokens, uint32_t count, enum ggs_logits logits,
                       struct ggs_error * error);

llama_token ggs_session_sample(struct ggs_session * session);

void ggs_session_close(struct ggs_session * session);
