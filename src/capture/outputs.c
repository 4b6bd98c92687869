// Outputs of a decode that a program reads: logits, tokens that the engine sampled, embeddings.
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "capture/outputs.h"
#include "preload/hook.h"
#include "trace/spool.h"

static _Atomic uint64_t decodes; // all decodes, recorded or not

void ggs_outputs_decode(bool recorded) {
    atomic_fetch_add_explicit(&decodes, 1, memory_order_relaxed);
    ggs_in.embeddings_of = NULL;
    ggs_in.unrecorded    = !recorded;
}

// ---- logits ----

enum { ALL = INT32_MIN };

// Records each read once per decode.
static void emit_read(const void * context, int32_t index) {
    static _Thread_local struct {
        const void * context;
        uint64_t     decodes;
        int32_t      index;
    } newest;
    if (!ggs_capture_recording() || ggs_in.unrecorded) return;
    uint64_t now = atomic_load_explicit(&decodes, memory_order_relaxed);
    if (newest.context == context && newest.decodes == now && newest.index == index) return;
    newest.context = context, newest.decodes = now, newest.index = index;
    struct ggs_journal_output_read read  = {.context = (uint64_t) context, .index = index};
    struct ggs_piece               piece = {&read, sizeof(read)};
    ggs_journal_append(GGS_JOURNAL_OUTPUT_READ, &piece, 1);
}

EXPORT float * llama_get_logits(void * context) {
    REAL(llama_get_logits);
    float * found = real(context);
    if (found != NULL) emit_read(context, ALL);
    return found;
}

EXPORT float * llama_get_logits_ith(void * context, int32_t i) {
    REAL(llama_get_logits_ith);
    float * found = real(context, i);
    if (found != NULL) emit_read(context, i);
    return found;
}

// Returns -1 if the engine did not sample.
EXPORT int32_t llama_get_sampled_token_ith(void * context, int32_t i) {
    REAL(llama_get_sampled_token_ith);
    int32_t token = real(context, i);
    if (token >= 0) emit_read(context, i);
    return token;
}

// In some builds it calls the functions above without the dynamic linker.
EXPORT int32_t llama_sampler_sample(void * sampler, void * context, int32_t i) {
    REAL(llama_sampler_sample);
    int32_t token = real(sampler, context, i);
    emit_read(context, i);
    return token;
}

// ---- embeddings ----

// Recorded once per decode.
static void emit_embeddings(const void * context) {
    if (ggs_in.embeddings_of == context || !ggs_capture_recording()) return;
    ggs_in.embeddings_of = context;
    ggs_journal_numbers(GGS_JOURNAL_EMBEDDINGS, (uint64_t) context, 0, 0, 0, NULL);
}

EXPORT float * llama_get_embeddings(void * context) {
    REAL(llama_get_embeddings);
    float * found = real(context);
    if (found != NULL) emit_embeddings(context);
    return found;
}

EXPORT float * llama_get_embeddings_ith(void * context, int32_t i) {
    REAL(llama_get_embeddings_ith);
    float * found = real(context, i);
    if (found != NULL) emit_embeddings(context);
    return found;
}

EXPORT float * llama_get_embeddings_seq(void * context, int32_t sequence) {
    REAL(llama_get_embeddings_seq);
    float * found = real(context, sequence);
    if (found != NULL) emit_embeddings(context);
    return found;
}
