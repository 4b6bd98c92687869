// Decodes: what a program asks the engine to compute, token by token.
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/batches.h"
#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/existing.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "capture/outputs.h"
#include "capture/window.h"
#include "preload/ggml-abi.h"
#include "preload/hook.h"
#include "trace/spool.h"

// Returns the number of the decode, or 0 if it could not be written.
static uint64_t emit_decode(const void * context, const struct ggs_batch * b, uint32_t has, bool encode) {
    struct ggs_journal_decode head     = {.context = (uint64_t) context,
                                          .tokens  = b->n,
                                          .encode  = encode,
                                          .has     = has | GGS_DECODE_READS_RECORDED,
                                          .more    = b->n_more};
    uint64_t                  numbers  = b->n * sizeof(int32_t);
    struct ggs_piece          pieces[] = {{&head, sizeof(head)},  {b->token, numbers}, {b->position, numbers},
                                          {b->sequence, numbers}, {b->output, b->n},   {b->more, b->n_more * sizeof(*b->more)}};
    unsigned                  n        = sizeof(pieces) / sizeof(pieces[0]);
    return ggs_journal_append_next(GGS_JOURNAL_DECODE, pieces, n, &head.decode, GGS_COUNT_DECODES) == 0 ? head.decode
                                                                                                        : 0;
}

// True if the decode is the outermost on this thread, and the process records.
static bool enter(const void * caller, uint32_t n_tokens) {
    if (ggs_in.decode != 0 || !ggs_capture_wake(caller)) return false;
    if (n_tokens == 1) ggs_device_generating();
    return true;
}

// `kept`: if it failed, how many of its tokens are in the memory nevertheless, from the first on.
static void leave(int status, uint64_t kept) {
    if (ggs_in.decode != 0 && ggs_capture_recording())
        ggs_journal_numbers(GGS_JOURNAL_DECODE_END, ggs_in.decode, (uint64_t) (int64_t) status, kept, 0, NULL);
    ggs_in.decode = 0;
    ggs_window_leave();
}

// ---- batches that the program fills itself ----

// The same in releases without memory objects, where 0 means the first token or none.
static int32_t older_last_position(void * context, int32_t sequence, const void * caller) {
    static const char * const names[] = {"llama_kv_self_seq_pos_max", "llama_kv_cache_seq_pos_max"};
    int32_t (*last)(void *, int32_t)  = NULL;
    for (size_t i = 0; last == NULL && i < sizeof(names) / sizeof(names[0]); i++)
        last = (int32_t(*)(void *, int32_t)) ggs_resolve_name(names[i], caller);
    int32_t found = last == NULL ? 0 : last(context, sequence);
    return found > 0 ? found : -2;
}

// The last position of a sequence in a context. -2 if unknown.
static int32_t last_position(void * context, int32_t sequence, const void * caller) {
    // Called for each recorded token: bound like hooks, so they are resolved once.
    static struct ggs_hook get_memory_of = GGS_HOOK(get_memory_of, "llama_get_memory");
    static struct ggs_hook last_of       = GGS_HOOK(last_of, "llama_memory_seq_pos_max");
    void * (*get_memory)(void *)         = (void * (*) (void *) ) ggs_resolve(&get_memory_of, caller);
    int32_t (*last)(void *, int32_t)     = (int32_t(*)(void *, int32_t)) ggs_resolve(&last_of, caller);
    if (get_memory == NULL || last == NULL) return older_last_position(context, sequence, caller);
    void * memory = get_memory(context);
    return memory == NULL ? -2 : last(memory, sequence);
}

// True if a decode failed after it had computed. One that was refused may have a batch that no
// function of the engine accepts.
static bool failed_midway(int status, bool encode) {
    return status != 0 && !encode && ggs_in.decode != 0 && ggs_in.ran == ggs_in.decode;
}

// If a decode fails midway, the engine removes the cells of its current part and keeps those of
// earlier ones.
static uint64_t count_kept(void * context, const struct ggs_batch * batch, const void * caller) {
    uint64_t kept = 0;
    int32_t  last = -2;
    for (; kept < batch->n; kept++) {
        if (kept == 0 || batch->sequence[kept] != batch->sequence[kept - 1])
            last = last_position(context, batch->sequence[kept], caller);
        if (batch->position[kept] > last) break;
    }
    return kept;
}

enum { MORE_SEQUENCES_MAX = 1 << 20 };

static bool read_batch(struct ggs_batch * out, const struct abi_batch * batch, int32_t first_position) {
    for (int32_t i = 0; i < batch->n_tokens; i++) {
        const int32_t * of   = batch->seq_id == NULL ? NULL : batch->seq_id[i];
        int32_t         n_of = of == NULL ? 0 : batch->n_seq_id == NULL ? 1 : batch->n_seq_id[i];
        if (!ggs_batch_add(out, batch->token == NULL ? 0 : batch->token[i], n_of > 0 ? of[0] : 0)) return false;
        out->position[i] = batch->pos != NULL ? batch->pos[i] : first_position >= 0 ? first_position + i : 0;
        out->output[i]   = batch->logits != NULL && batch->logits[i] != 0;
        for (int32_t k = 1; k < n_of && out->n_more < MORE_SEQUENCES_MAX; k++)
            if (!ggs_batch_add_sequence(out, (uint32_t) i, of[k])) return false;
    }
    return true;
}

static uint64_t emit_batch(void * context, const struct abi_batch * batch, bool encode, const void * caller) {
    struct ggs_batch b = {0};
    uint32_t         has =
        (batch->token != NULL ? GGS_DECODE_HAS_TOKENS : 0u) | (batch->pos != NULL ? GGS_DECODE_HAS_POSITIONS : 0u) |
        (batch->seq_id != NULL ? GGS_DECODE_HAS_SEQUENCES : 0u) | (batch->logits != NULL ? GGS_DECODE_HAS_OUTPUTS : 0u);
    // The engine continues from the last position if a program sets none. The journal lacks decodes
    // outside of windows.
    int32_t first = -1;
    if (batch->pos == NULL && !encode && atomic_load_explicit(&ggs_window_gaps, memory_order_relaxed))
        first = last_position(context, 0, caller) + 1;
    if (first >= 0) has |= GGS_DECODE_HAS_POSITIONS;
    uint64_t decode = read_batch(&b, batch, first) ? emit_decode(context, &b, has, encode) : 0;
    ggs_batch_release(&b);
    return decode;
}

static uint64_t count_kept_of(void * context, const struct abi_batch * batch, const void * caller) {
    struct ggs_batch b    = {0};
    uint64_t         kept = batch->pos != NULL && read_batch(&b, batch, -1) ? count_kept(context, &b, caller) : 0;
    ggs_batch_release(&b);
    return kept;
}

// What llama_decode and llama_encode have in common.
static int decode(int (*real)(void *, union abi_by_value), void * context, union abi_by_value * batch, bool encode,
                  const void * caller) {
    if (!enter(caller, (uint32_t) batch->batch.n_tokens)) return real(context, *batch);
    if (ggs_capture.attached) ggs_existing_context(context, caller);
    bool recorded = ggs_window_enter();
    ggs_outputs_decode(recorded);
    if (recorded) ggs_in.decode = emit_batch(context, &batch->batch, encode, caller);
    int      status = real(context, *batch);
    uint64_t kept   = failed_midway(status, encode) ? count_kept_of(context, &batch->batch, caller) : 0;
    leave(status, kept);
    return status;
}

EXPORT int llama_decode(void * context, union abi_by_value batch) {
    REAL(llama_decode);
    return decode(real, context, &batch, false, CALLER);
}

EXPORT int llama_encode(void * context, union abi_by_value batch) {
    REAL(llama_encode);
    return decode(real, context, &batch, true, CALLER);
}

// ---- batches of the engine ----

static uint64_t emit_tracked(const void * context, const struct ggs_batch * b, bool encode) {
    uint32_t has = GGS_DECODE_HAS_POSITIONS | GGS_DECODE_HAS_SEQUENCES | GGS_DECODE_HAS_OUTPUTS;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->token[i] >= 0) has |= GGS_DECODE_HAS_TOKENS;
    return emit_decode(context, b, has, encode);
}

EXPORT int llama_process(void * context, int type, void * batch) {
    enum { ENCODE = 0 };
    REAL(llama_process);
    const struct ggs_batch * seen = ggs_batch_at(batch);
    if (!enter(CALLER, seen == NULL ? 0 : seen->n)) return real(context, type, batch);
    if (ggs_capture.attached) ggs_existing_context(context, CALLER);
    bool recorded = ggs_window_enter();
    ggs_outputs_decode(recorded);
    if (recorded && seen != NULL) ggs_in.decode = emit_tracked(context, seen, type == ENCODE);
    int status = real(context, type, batch);
    leave(status, seen != NULL && failed_midway(status, type == ENCODE) ? count_kept(context, seen, CALLER) : 0);
    return status;
}

EXPORT void llama_set_warmup(void * context, bool on) {
    REAL(llama_set_warmup);
    real(context, on);
    if (ggs_capture_recording()) ggs_journal_numbers(GGS_JOURNAL_WARMUP, (uint64_t) context, on, 0, 0, NULL);
}
