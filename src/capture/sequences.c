// What a program does to the sequences in a context's memory, and whether it takes embeddings from it. Releases differ in names: by
// memory object (llama_memory_), or by context (llama_kv_self_, llama_kv_cache_). The older ones may call the newer: the outermost is told.
#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/graph-run.h"
#include "capture/hooks/hook.h"
#include "capture/journal.h"
#include "trace/spool.h"

static void tell(enum ggs_memory_change_kind kind, const void * object, int32_t sequence, int32_t other, int32_t from,
                 int32_t to, int32_t delta) {
    if (ggs_in.memory_depth > 0 || !ggs_capture_recording()) return;
    struct ggs_journal_memory change = {.object   = (uint64_t) object,
                                        .kind     = kind,
                                        .sequence = sequence,
                                        .other    = other,
                                        .from     = from,
                                        .to       = to,
                                        .delta    = delta};
    struct ggs_piece          piece  = {&change, sizeof(change)};
    ggs_journal_append(GGS_JOURNAL_MEMORY, &piece, 1);
}

static void tell_clear(const void * object) {
    if (ggs_in.memory_depth == 0 && ggs_capture_recording())
        ggs_journal_numbers(GGS_JOURNAL_CLEAR, (uint64_t) object, 0, 0, 0, NULL);
}

// CALL(call): the real function, which may call others of these.
#define CALL(call)         \
    ggs_in.memory_depth++; \
    call;                  \
    ggs_in.memory_depth--

// SEQUENCES(prefix): the five functions of a release that names them so. A removal that the engine refuses is none.
#define SEQUENCES(prefix)                                                                                    \
    EXPORT bool prefix##_seq_rm(void * object, int32_t sequence, int32_t from, int32_t to);                  \
    EXPORT bool prefix##_seq_rm(void * object, int32_t sequence, int32_t from, int32_t to) {                 \
        REAL(prefix##_seq_rm);                                                                               \
        CALL(bool done = real(object, sequence, from, to));                                                  \
        if (done) tell(GGS_MEMORY_REMOVE, object, sequence, -1, from, to, 0);                                \
        return done;                                                                                         \
    }                                                                                                        \
    EXPORT void prefix##_seq_cp(void * object, int32_t sequence, int32_t other, int32_t from, int32_t to);   \
    EXPORT void prefix##_seq_cp(void * object, int32_t sequence, int32_t other, int32_t from, int32_t to) {  \
        REAL(prefix##_seq_cp);                                                                               \
        CALL(real(object, sequence, other, from, to));                                                       \
        tell(GGS_MEMORY_COPY, object, sequence, other, from, to, 0);                                         \
    }                                                                                                        \
    EXPORT void prefix##_seq_keep(void * object, int32_t sequence);                                          \
    EXPORT void prefix##_seq_keep(void * object, int32_t sequence) {                                         \
        REAL(prefix##_seq_keep);                                                                             \
        CALL(real(object, sequence));                                                                        \
        tell(GGS_MEMORY_KEEP, object, sequence, -1, -1, -1, 0);                                              \
    }                                                                                                        \
    EXPORT void prefix##_seq_add(void * object, int32_t sequence, int32_t from, int32_t to, int32_t delta);  \
    EXPORT void prefix##_seq_add(void * object, int32_t sequence, int32_t from, int32_t to, int32_t delta) { \
        REAL(prefix##_seq_add);                                                                              \
        CALL(real(object, sequence, from, to, delta));                                                       \
        tell(GGS_MEMORY_ADD, object, sequence, -1, from, to, delta);                                         \
    }                                                                                                        \
    EXPORT void prefix##_seq_div(void * object, int32_t sequence, int32_t from, int32_t to, int divisor);    \
    EXPORT void prefix##_seq_div(void * object, int32_t sequence, int32_t from, int32_t to, int divisor) {   \
        REAL(prefix##_seq_div);                                                                              \
        CALL(real(object, sequence, from, to, divisor));                                                     \
        tell(GGS_MEMORY_DIVIDE, object, sequence, -1, from, to, divisor);                                    \
    }

SEQUENCES(llama_memory)
SEQUENCES(llama_kv_self)
SEQUENCES(llama_kv_cache)

EXPORT void llama_memory_clear(void * memory, bool data) {
    REAL(llama_memory_clear);
    CALL(real(memory, data));
    tell_clear(memory);
}

EXPORT void llama_kv_self_clear(void * context) {
    REAL(llama_kv_self_clear);
    CALL(real(context));
    tell_clear(context);
}

EXPORT void llama_kv_cache_clear(void * context) {
    REAL(llama_kv_cache_clear);
    CALL(real(context));
    tell_clear(context);
}

// ---- embeddings ----

// Told once after a decode, however many are taken.
static void tell_embeddings(const void * context) {
    if (ggs_in.embeddings_of == context || !ggs_capture_recording()) return;
    ggs_in.embeddings_of = context;
    ggs_journal_numbers(GGS_JOURNAL_EMBEDDINGS, (uint64_t) context, 0, 0, 0, NULL);
}

EXPORT float * llama_get_embeddings(void * context) {
    REAL(llama_get_embeddings);
    float * found = real(context);
    if (found != NULL) tell_embeddings(context);
    return found;
}

EXPORT float * llama_get_embeddings_ith(void * context, int32_t i) {
    REAL(llama_get_embeddings_ith);
    float * found = real(context, i);
    if (found != NULL) tell_embeddings(context);
    return found;
}

EXPORT float * llama_get_embeddings_seq(void * context, int32_t sequence) {
    REAL(llama_get_embeddings_seq);
    float * found = real(context, sequence);
    if (found != NULL) tell_embeddings(context);
    return found;
}
