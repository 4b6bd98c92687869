// What a program does to the sequences of a context: changes of its memory, states that it loads,
// samplers that it sets. Names differ by release: by memory object (llama_memory_), or by context
// (llama_kv_self_, llama_kv_cache_). Older functions may call newer ones; the outermost is
// recorded.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/existing.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "preload/hook.h"
#include "trace/spool.h"

// In an attached program a change may be the first call that is seen.
static bool records(const void * caller) {
    return ggs_in.memory_depth == 0 && ggs_capture_wake(caller);
}

static void emit_change(enum ggs_memory_change_kind kind, const void * object, int32_t sequence, int32_t other,
                        int32_t from, int32_t to, int32_t delta, const void * caller) {
    if (!records(caller)) return;
    struct ggs_journal_memory change = {.object   = (uint64_t) object,
                                        .kind     = kind,
                                        .sequence = sequence,
                                        .other    = other,
                                        .from     = from,
                                        .to       = to,
                                        .delta    = delta};
    struct ggs_piece          piece  = {&change, sizeof(change)};
    if (ggs_existing_hold(&change)) return;
    ggs_journal_append(GGS_JOURNAL_MEMORY, &piece, 1);
}

static void emit_clear(const void * object, const void * caller) {
    if (records(caller)) ggs_journal_numbers(GGS_JOURNAL_CLEAR, (uint64_t) object, 0, 0, 0, NULL);
}

// CALL(call): calls the real function, which may call others of these.
#define CALL(call)         \
    ggs_in.memory_depth++; \
    call;                  \
    ggs_in.memory_depth--

// SEQUENCES(prefix): the five functions of releases with this prefix. Removals that the engine
// refuses are not recorded.
#define SEQUENCES(prefix)                                                                                    \
    EXPORT bool prefix##_seq_rm(void * object, int32_t sequence, int32_t from, int32_t to);                  \
    EXPORT bool prefix##_seq_rm(void * object, int32_t sequence, int32_t from, int32_t to) {                 \
        REAL(prefix##_seq_rm);                                                                               \
        CALL(bool done = real(object, sequence, from, to));                                                  \
        if (done) emit_change(GGS_MEMORY_REMOVE, object, sequence, -1, from, to, 0, CALLER);                 \
        return done;                                                                                         \
    }                                                                                                        \
    EXPORT void prefix##_seq_cp(void * object, int32_t sequence, int32_t other, int32_t from, int32_t to);   \
    EXPORT void prefix##_seq_cp(void * object, int32_t sequence, int32_t other, int32_t from, int32_t to) {  \
        REAL(prefix##_seq_cp);                                                                               \
        CALL(real(object, sequence, other, from, to));                                                       \
        emit_change(GGS_MEMORY_COPY, object, sequence, other, from, to, 0, CALLER);                          \
    }                                                                                                        \
    EXPORT void prefix##_seq_keep(void * object, int32_t sequence);                                          \
    EXPORT void prefix##_seq_keep(void * object, int32_t sequence) {                                         \
        REAL(prefix##_seq_keep);                                                                             \
        CALL(real(object, sequence));                                                                        \
        emit_change(GGS_MEMORY_KEEP, object, sequence, -1, -1, -1, 0, CALLER);                               \
    }                                                                                                        \
    EXPORT void prefix##_seq_add(void * object, int32_t sequence, int32_t from, int32_t to, int32_t delta);  \
    EXPORT void prefix##_seq_add(void * object, int32_t sequence, int32_t from, int32_t to, int32_t delta) { \
        REAL(prefix##_seq_add);                                                                              \
        CALL(real(object, sequence, from, to, delta));                                                       \
        emit_change(GGS_MEMORY_ADD, object, sequence, -1, from, to, delta, CALLER);                          \
    }                                                                                                        \
    EXPORT void prefix##_seq_div(void * object, int32_t sequence, int32_t from, int32_t to, int divisor);    \
    EXPORT void prefix##_seq_div(void * object, int32_t sequence, int32_t from, int32_t to, int divisor) {   \
        REAL(prefix##_seq_div);                                                                              \
        CALL(real(object, sequence, from, to, divisor));                                                     \
        emit_change(GGS_MEMORY_DIVIDE, object, sequence, -1, from, to, divisor, CALLER);                     \
    }

SEQUENCES(llama_memory)
SEQUENCES(llama_kv_self)
SEQUENCES(llama_kv_cache)

EXPORT void llama_memory_clear(void * memory, bool data) {
    REAL(llama_memory_clear);
    CALL(real(memory, data));
    emit_clear(memory, CALLER);
}

EXPORT void llama_kv_self_clear(void * context) {
    REAL(llama_kv_self_clear);
    CALL(real(context));
    emit_clear(context, CALLER);
}

EXPORT void llama_kv_cache_clear(void * context) {
    REAL(llama_kv_cache_clear);
    CALL(real(context));
    emit_clear(context, CALLER);
}

// ---- samplers ----

// A server sets the sampler of a slot's sequence when a request begins and when it ends.
EXPORT bool llama_set_sampler(void * context, int32_t sequence, void * sampler) {
    REAL(llama_set_sampler);
    bool done = real(context, sequence, sampler);
    if (ggs_capture.attached && ggs_capture_wake(CALLER)) ggs_existing_context(context, CALLER);
    emit_change(GGS_MEMORY_SAMPLER, context, sequence, -1, -1, -1, 0, CALLER);
    return done;
}

// ---- states ----

struct positions {
    void * (*memory_of)(void *);
    int32_t (*first)(void *, int32_t);
    int32_t (*last)(void *, int32_t);
    uint32_t (*sequences)(const void *);
};

// Finds functions of releases with memory objects. Older releases do not say how much was loaded.
static struct positions find_positions(const void * caller) {
    return (struct positions){
        (void * (*) (void *) ) ggs_resolve_name("llama_get_memory", caller),
        (int32_t(*)(void *, int32_t)) ggs_resolve_name("llama_memory_seq_pos_min", caller),
        (int32_t(*)(void *, int32_t)) ggs_resolve_name("llama_memory_seq_pos_max", caller),
        (uint32_t(*)(const void *)) ggs_resolve_name("llama_n_seq_max", caller),
    };
}

// Records that the sequence has other cells.
static void emit_loaded(void * context, int32_t sequence, const struct positions * positions, const void * caller) {
    bool    known  = positions->memory_of != NULL && positions->first != NULL && positions->last != NULL;
    void *  memory = known ? positions->memory_of(context) : NULL;
    int32_t first  = memory == NULL ? -1 : positions->first(memory, sequence);
    int32_t last   = memory == NULL ? -1 : positions->last(memory, sequence);
    emit_change(GGS_MEMORY_LOAD, context, sequence, -1, first, last < 0 ? -1 : last + 1, 0, caller);
}

static void emit_sequence_loaded(void * context, int32_t sequence, const void * caller) {
    if (!records(caller)) return;
    struct positions positions = find_positions(caller);
    emit_loaded(context, sequence, &positions, caller);
}

static void emit_all_loaded(void * context, const void * caller) {
    if (!records(caller)) return;
    struct positions positions = find_positions(caller);
    uint32_t         n         = positions.sequences == NULL ? 1 : positions.sequences(context);
    emit_clear(context, caller);
    for (uint32_t i = 0; i < n && i < INT32_MAX; i++) emit_loaded(context, (int32_t) i, &positions, caller);
}

EXPORT size_t llama_state_seq_set_data(void * context, const uint8_t * data, size_t size, int32_t sequence) {
    REAL(llama_state_seq_set_data);
    CALL(size_t read = real(context, data, size, sequence));
    if (read > 0) emit_sequence_loaded(context, sequence, CALLER);
    return read;
}

EXPORT size_t llama_state_seq_set_data_ext(void * context, const uint8_t * data, size_t size, int32_t sequence,
                                           uint32_t flags) {
    enum { PARTIAL_ONLY = 1 }; // state that cannot be rolled back by removing cells: the cells stay
    REAL(llama_state_seq_set_data_ext);
    CALL(size_t read = real(context, data, size, sequence, flags));
    if (read > 0 && (flags & PARTIAL_ONLY) == 0) emit_sequence_loaded(context, sequence, CALLER);
    return read;
}

EXPORT size_t llama_state_seq_load_file(void * context, const char * path, int32_t sequence, int32_t * tokens,
                                        size_t capacity, size_t * count) {
    REAL(llama_state_seq_load_file);
    CALL(size_t read = real(context, path, sequence, tokens, capacity, count));
    if (read > 0) emit_sequence_loaded(context, sequence, CALLER);
    return read;
}

EXPORT size_t llama_state_set_data(void * context, const uint8_t * data, size_t size) {
    REAL(llama_state_set_data);
    CALL(size_t read = real(context, data, size));
    if (read > 0) emit_all_loaded(context, CALLER);
    return read;
}

EXPORT bool llama_state_load_file(void * context, const char * path, int32_t * tokens, size_t capacity,
                                  size_t * count) {
    REAL(llama_state_load_file);
    CALL(bool done = real(context, path, tokens, capacity, count));
    if (done) emit_all_loaded(context, CALLER);
    return done;
}
