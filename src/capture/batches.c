#include "capture/batches.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "capture/capture.h"
#include "preload/hook.h"

// ---- tokens ----

// The arrays grow together. The capacity changes once all of them have grown.
static bool enlarge(struct ggs_batch * b) {
    uint32_t capacity[4] = {b->capacity, b->capacity, b->capacity, b->capacity}, n = b->n + 1;
    if (!ggs_array_reserve(b->token, capacity[0], n) || !ggs_array_reserve(b->position, capacity[1], n) ||
        !ggs_array_reserve(b->sequence, capacity[2], n) || !ggs_array_reserve(b->output, capacity[3], n))
        return false;
    b->capacity = capacity[0];
    return true;
}

bool ggs_batch_add(struct ggs_batch * b, int32_t token, int32_t sequence) {
    if (b->n == b->capacity && !enlarge(b)) return false;
    b->token[b->n]    = token;
    b->position[b->n] = 0;
    b->sequence[b->n] = sequence;
    b->output[b->n]   = 0;
    b->n++;
    return true;
}

bool ggs_batch_add_sequence(struct ggs_batch * b, uint32_t index, int32_t sequence) {
    if (!ggs_array_reserve(b->more, b->more_capacity, b->n_more + 1)) return false;
    b->more[b->n_more][0] = (int32_t) index;
    b->more[b->n_more][1] = sequence;
    b->n_more++;
    return true;
}

void ggs_batch_release(struct ggs_batch * b) {
    free(b->token);
    free(b->position);
    free(b->sequence);
    free(b->output);
    free(b->more);
}

// ---- the engine's batches ----

// A batch object of the engine and its contents. Entries are never freed, only reused. There is no
// lock, because a program may fork at any time; the engine requires that one thread at a time uses
// a batch.
struct tracked {
    _Atomic(const void *) address; // NULL if free
    struct tracked *      next;
    struct ggs_batch      batch;
    bool                  incomplete; // it holds something that no hook observed
};

static _Atomic(struct tracked *) all;

// Finds the entry of a batch, or a free one for NULL.
static struct tracked * find(const void * address) {
    struct tracked * entry = atomic_load_explicit(&all, memory_order_acquire);
    while (entry != NULL && atomic_load_explicit(&entry->address, memory_order_acquire) != address) entry = entry->next;
    return entry;
}

static void empty(struct tracked * entry) {
    entry->batch.n = entry->batch.n_more = 0;
    entry->incomplete                    = false;
}

static void track(const void * address) {
    struct tracked * entry = find(address);
    for (const void * none = NULL; entry == NULL; none = NULL) {
        struct tracked * unused = find(NULL);
        if (unused == NULL) break;
        if (atomic_compare_exchange_strong(&unused->address, &none, address)) entry = unused;
    }
    if (entry != NULL) {
        empty(entry);
        return;
    }
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL) return;
    atomic_store_explicit(&entry->address, address, memory_order_relaxed);
    entry->next = atomic_load_explicit(&all, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&all, &entry->next, entry)) {}
}

const struct ggs_batch * ggs_batch_at(const void * address) {
    const struct tracked * entry = address == NULL ? NULL : find(address);
    return entry == NULL || entry->incomplete ? NULL : &entry->batch;
}

// Records the result of an add: the token is at `index`, or was refused (negative). -2 leaves a
// part in the batch.
static void added(const void * address, int32_t index, int32_t token, int32_t sequence) {
    struct tracked * entry = find(address);
    if (entry == NULL || index == -1 || index == -3) return;
    if (index < 0 || (uint32_t) index != entry->batch.n || !ggs_batch_add(&entry->batch, token, sequence))
        entry->incomplete = true;
}

// Finds the entry of a batch with a token at `index` if the engine accepted the call.
static struct tracked * with_token(const void * address, bool done, int32_t index) {
    struct tracked * entry = done ? find(address) : NULL;
    return entry == NULL || index < 0 || (uint32_t) index >= entry->batch.n ? NULL : entry;
}

EXPORT void * llama_batch_ext_init(void * context) {
    REAL(llama_batch_ext_init);
    void * batch = real(context);
    if (batch != NULL && ggs_capture_wake(CALLER)) track(batch);
    return batch;
}

EXPORT void llama_batch_ext_free(void * batch) {
    REAL(llama_batch_ext_free);
    struct tracked * entry = batch == NULL ? NULL : find(batch);
    if (entry != NULL) atomic_store_explicit(&entry->address, NULL, memory_order_release);
    real(batch);
}

EXPORT void llama_batch_ext_clear(void * batch) {
    REAL(llama_batch_ext_clear);
    struct tracked * entry = find(batch);
    if (entry != NULL) empty(entry);
    real(batch);
}

EXPORT int32_t llama_batch_ext_add(void * batch, int32_t sequence) {
    REAL(llama_batch_ext_add);
    int32_t index = real(batch, sequence);
    added(batch, index, -1, sequence);
    return index;
}

EXPORT int32_t llama_batch_ext_add_token(void * batch, int32_t sequence, int32_t token) {
    REAL(llama_batch_ext_add_token);
    int32_t index = real(batch, sequence, token);
    added(batch, index, token, sequence);
    return index;
}

struct embedding { // passed by value, in memory
    const float * data;
    size_t        n_rows, n_embd;
};

EXPORT int32_t llama_batch_ext_add_embd(void * batch, int32_t sequence, struct embedding embedding) {
    REAL(llama_batch_ext_add_embd);
    int32_t index = real(batch, sequence, embedding);
    added(batch, index, -1, sequence);
    return index;
}

EXPORT bool llama_batch_ext_add_seq(void * batch, int32_t index, int32_t sequence) {
    REAL(llama_batch_ext_add_seq);
    bool             done  = real(batch, index, sequence);
    struct tracked * entry = with_token(batch, done, index);
    if (entry != NULL && entry->batch.sequence[index] != sequence &&
        !ggs_batch_add_sequence(&entry->batch, (uint32_t) index, sequence))
        entry->incomplete = true;
    return done;
}

EXPORT bool llama_batch_ext_set_pos(void * batch, int32_t index, const int32_t * positions) {
    REAL(llama_batch_ext_set_pos);
    bool             done  = real(batch, index, positions);
    struct tracked * entry = with_token(batch, done, index);
    if (entry != NULL) entry->batch.position[index] = positions[0]; // the one in the KV cache
    return done;
}

static void set_output(const void * batch, bool done, int32_t index, bool value) {
    struct tracked * entry = with_token(batch, done, index);
    if (entry != NULL) entry->batch.output[index] = value;
}

EXPORT bool llama_batch_ext_set_output_logits(void * batch, int32_t index, bool value) {
    REAL(llama_batch_ext_set_output_logits);
    bool done = real(batch, index, value);
    set_output(batch, done, index, value);
    return done;
}

EXPORT bool llama_batch_ext_set_output_embd(void * batch, int32_t index, bool value) {
    REAL(llama_batch_ext_set_output_embd);
    bool done = real(batch, index, value);
    set_output(batch, done, index, value);
    return done;
}
