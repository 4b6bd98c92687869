#include "trace/seal/survey.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { PROBE_TOKENS = 2, WARM_DECODES = 1 << 16, WARM_LIVES = 8 };

// A context since its memory was last cleared, or since it was made. A single decode with at most
// one output that is not read, followed by clearing the memory and more decodes, is a warm-up if
// only warm-ups came before it. Unless it is the context's first decode it must be as short as a
// probe: servers try out a context's abilities, and programs that score text clear the memory
// between pieces. A program with many such decodes and no others does not warm up. A benchmark
// warms up with a whole prompt, in pieces, and one token more: the first decodes of a context of
// which nothing is ever read. It clears the memory when it has made the context, and ahead of each
// repetition: without a warm-up, twice ahead of the first decode; with one, no later decode is a
// warm-up.
struct ggs_life {
    uint64_t context, memory;
    uint64_t newest;  // decode
    uint64_t decodes; // llama_decode calls since the clearing
    uint64_t tokens, outputs;
    uint64_t fed_back;      // decodes of one token after others
    uint64_t tokens_newest; // of the newest decode
    bool     cleared;
    bool     taken; // outputs or embeddings were read
    bool     first; // only warm-ups came before
    bool     over;  // something else was computed
    // Since the context was made:
    uint64_t *            warm; // decodes that count as warm-ups, then those since the clearing that may
    uint64_t              n_warm, n_maybe, warm_capacity, warm_lives;
    uint64_t              from_long, n_long; // of these, a benchmark's
    uint64_t              empty;             // clearings ahead of its first decode
    uint64_t              first_decode;
    bool                  read;  // outputs are read, or prompts go on after a single token
    bool                  used;  // outputs or embeddings are
    struct ggs_seal_batch batch; // of the newest decode
};

// An open decode. Its tokens count at its end, if it succeeds; those of one that computed and
// failed if they are in the memory.
struct ggs_pending {
    struct ggs_journal_decode decode;
    struct ggs_seal_batch     batch;
    bool                      ran;
};

void ggs_survey_release(struct ggs_survey * survey) {
    for (size_t i = 0; i < survey->n_lives; i++) {
        ggs_seal_batch_release(&survey->lives[i].batch);
        free(survey->lives[i].warm);
    }
    for (size_t i = 0; i < survey->n_pending; i++) ggs_seal_batch_release(&survey->pending[i].batch);
    free(survey->lives);
    free(survey->pending);
    free(survey->drafts);
    ggs_map_release(&survey->warmups);
    ggs_map_release(&survey->embeddings);
    ggs_map_release(&survey->verifies);
    ggs_map_release(&survey->failed);
    ggs_map_release(&survey->readers);
    ggs_sequences_release(&survey->sequences);
    *survey = (struct ggs_survey){0};
}

static struct ggs_life * find_life(const struct ggs_survey * survey, uint64_t context) {
    for (size_t i = survey->n_lives; i-- > 0;)
        if (survey->lives[i].context == context) return &survey->lives[i];
    return NULL;
}

static struct ggs_life * add_life(struct ggs_survey * survey, uint64_t context, uint64_t memory) {
    struct ggs_life life = {.context = context, .memory = memory, .first = true};
    if (!ggs_array_push(survey->lives, survey->n_lives, survey->lives_capacity, life)) return NULL;
    return &survey->lives[survey->n_lives - 1];
}

static bool mark(struct ggs_map * map, uint64_t decode, bool on) {
    uint64_t * value = ggs_map_put(map, ggs_map_key_number(decode));
    if (value != NULL) *value = on;
    return value != NULL;
}

static bool may_warm_up(const struct ggs_life * life) {
    if (life->over || life->decodes == 0 || life->taken) return false;
    if (life->empty > 0 && life->empty + life->warm_lives > 1) return false;
    if (life->decodes > 1) return life->first && !life->used && life->fed_back <= 1 && life->outputs <= life->decodes;
    return life->outputs <= 1 && (life->first || life->tokens <= PROBE_TOKENS);
}

bool ggs_survey_is_warm(const struct ggs_survey * survey, uint64_t context) {
    const struct ggs_life * life = find_life(survey, context);
    return life != NULL && may_warm_up(life);
}

static bool end_life(struct ggs_survey * survey, struct ggs_life * life) {
    bool warm = may_warm_up(life);
    if (warm && life->warm_lives++ >= WARM_LIVES) {
        for (uint64_t i = 0; i < life->n_warm; i++)
            if (!mark(&survey->warmups, life->warm[i], false)) return false;
        warm = false;
    }
    if (warm && life->decodes > 1) life->from_long = life->n_warm, life->n_long = life->n_maybe;
    for (; warm && life->n_maybe > 0; life->n_maybe--)
        if (!mark(&survey->warmups, life->warm[life->n_warm++], true)) return false;
    life->n_maybe        = 0;
    struct ggs_life next = *life;
    memset(&next, 0, offsetof(struct ggs_life, warm));
    next.context = life->context, next.memory = life->memory, next.newest = life->newest;
    next.over = life->over || (life->decodes > 0 && !warm);
    *life     = next;
    return true;
}

// ---- decodes ----

static bool begin_decode(struct ggs_survey * survey, const struct ggs_record * record) {
    struct ggs_pending pending = {.ran = false};
    int                status  = ggs_seal_batch_read(&pending.batch, &pending.decode, record->body, record->length);
    if (status == GGS_FORMAT) return true; // pass 2 counts it
    if (status == 0 && ggs_array_push(survey->pending, survey->n_pending, survey->pending_capacity, pending))
        return true;
    if (status == 0) ggs_seal_batch_release(&pending.batch);
    return false;
}

static bool is_of_one_sequence(const struct ggs_seal_batch * batch) {
    for (uint64_t i = 1; i < batch->n; i++)
        if (batch->sequence[i] != batch->sequence[0]) return false;
    return true;
}

// Remembers a decode as long as it may belong to a warm-up.
static bool add_maybe(struct ggs_life * life, uint64_t decode) {
    if (life->n_warm + life->n_maybe >= WARM_DECODES || (life->decodes > 0 && !may_warm_up(life))) life->over = true;
    if (life->over) life->n_maybe = 0;
    if (life->over) return true;
    if (!ggs_array_reserve(life->warm, life->warm_capacity, life->n_warm + life->n_maybe + 1)) return false;
    life->warm[life->n_warm + life->n_maybe++] = decode;
    return true;
}

static bool feed(struct ggs_survey * survey, struct ggs_life * life, const struct ggs_journal_decode * decode,
                 struct ggs_seal_batch * batch) {
    struct ggs_memory_change change;
    enum ggs_phase           phase;
    if (life->cleared && !end_life(survey, life)) return false;
    ggs_seal_batch_complete(batch, &survey->sequences, decode->context);
    struct ggs_sequence_batch fed = ggs_seal_batch_fed(batch);
    if (!ggs_sequences_batch(&survey->sequences, decode->context, &fed, &phase)) return false;
    survey->decode = life->newest = decode->decode;
    if (life->first_decode == 0) life->first_decode = decode->decode;
    // A benchmark does not do that: the program has not got to reading.
    life->read |= life->decodes > 0 && life->tokens_newest == 1 && batch->n > 1 && is_of_one_sequence(batch);
    life->tokens_newest = batch->n;
    life->fed_back += life->decodes > 0 && batch->n == 1;
    life->tokens += batch->n;
    for (uint64_t i = 0; i < batch->n; i++) life->outputs += batch->output[i];
    if (!decode->encode) life->decodes++;
    if (!add_maybe(life, decode->decode)) return false;
    for (uint64_t at = 0; ggs_seal_batch_copy(batch, &at, &change);) {
        change.context = decode->context;
        if (!ggs_sequences_change(&survey->sequences, &change)) return false;
    }
    return true;
}

static struct ggs_pending * find_pending(const struct ggs_survey * survey, uint64_t decode) {
    for (size_t i = survey->n_pending; decode != 0 && i-- > 0;)
        if (survey->pending[i].decode.decode == decode) return &survey->pending[i];
    return NULL;
}

static void begin_run(struct ggs_survey * survey, uint64_t decode) {
    struct ggs_pending * found = find_pending(survey, decode);
    if (found != NULL) found->ran = true;
}

// Removes the decode, and counts its first `n` tokens.
static bool settle_decode(struct ggs_survey * survey, struct ggs_pending * found, uint64_t n) {
    struct ggs_pending pending = *found;
    struct ggs_life *  life    = find_life(survey, pending.decode.context);
    bool               fed     = n > 0;
    *found                     = survey->pending[--survey->n_pending];
    ggs_seal_batch_cut(&pending.batch, n);
    if (fed && life == NULL) life = add_life(survey, pending.decode.context, 0);
    bool good = !fed || (life != NULL && feed(survey, life, &pending.decode, &pending.batch));
    if (fed && life != NULL) {
        ggs_seal_batch_release(&life->batch);
        life->batch = pending.batch;
    } else {
        ggs_seal_batch_release(&pending.batch);
    }
    return good;
}

static bool end_decode(struct ggs_survey * survey, const struct ggs_journal_number * number) {
    struct ggs_pending * found = find_pending(survey, number->value[0]);
    if (found == NULL) return true;
    bool     failed = number->value[1] != 0;
    uint64_t kept   = !failed ? UINT64_MAX : !found->ran ? 0 : number->value[2];
    if (failed && found->ran) {
        uint64_t * value = ggs_map_put(&survey->failed, ggs_map_key_number(found->decode.decode));
        if (value == NULL) return false;
        *value = (kept < found->batch.n ? kept : found->batch.n) + 1;
    }
    return settle_decode(survey, found, kept);
}

static void add_output_read(struct ggs_survey * survey, uint64_t context, int64_t index) {
    struct ggs_life * life = find_life(survey, context);
    if (life == NULL) return;
    const struct ggs_seal_batch * batch   = &life->batch;
    uint64_t                      outputs = 0, k = 0;
    life->read = life->used = life->taken = true;
    for (uint64_t i = 0; i < batch->n; i++) outputs += batch->output[i] != 0;
    for (uint64_t i = 0; i < batch->n; i++) {
        if (batch->output[i] == 0) continue;
        if (ggs_seal_output_is(index, i, k++, outputs))
            ggs_sequences_read(&survey->sequences, context, batch->sequence[i], batch->position[i]);
    }
}

// ---- contexts and their memory ----

static bool add_change(struct ggs_survey * survey, uint64_t object, struct ggs_memory_change change) {
    bool all = change.kind == GGS_MEMORY_CLEAR || (change.kind == GGS_MEMORY_REMOVE && change.sequence < 0);
    for (size_t i = survey->n_lives; object != 0 && i-- > 0;) {
        struct ggs_life * life = &survey->lives[i];
        if (life->memory != object && life->context != object) continue;
        if (all && life->decodes > 0) life->cleared = true;
        if (all && life->newest == 0) life->empty++;
        change.context = life->context;
        return ggs_sequences_change(&survey->sequences, &change);
    }
    return true;
}

static bool add_memory(struct ggs_survey * survey, const struct ggs_journal_memory * memory) {
    return add_change(survey, memory->object,
                      (struct ggs_memory_change){.kind     = memory->kind,
                                                 .sequence = memory->sequence,
                                                 .other    = memory->other,
                                                 .from     = memory->from,
                                                 .to       = memory->to,
                                                 .delta    = memory->delta});
}

// A reused address is a new context. One that existed before the recording has computed: its first
// decode here is no warm-up.
static bool add_context(struct ggs_survey * survey, uint64_t context, uint64_t memory, bool existed) {
    struct ggs_memory_change cleared = {.context = context, .kind = GGS_MEMORY_CLEAR};
    struct ggs_life *        life    = add_life(survey, context, memory);
    if (life != NULL) life->over = existed;
    return life != NULL && ggs_sequences_change(&survey->sequences, &cleared);
}

static bool add_embeddings(struct ggs_survey * survey, uint64_t context) {
    struct ggs_life * life = find_life(survey, context);
    if (life == NULL || life->newest == 0) return true;
    life->used = life->taken = true;
    return mark(&survey->embeddings, life->newest, true);
}

static bool is_verify(void * owner, uint64_t decode) {
    return mark(&((struct ggs_survey *) owner)->verifies, decode, true);
}

bool ggs_survey_add(struct ggs_survey * survey, const struct ggs_record * record) {
    const struct ggs_journal_number * number = record->body;
    survey->decode                           = 0;
    survey->sequences.late                   = is_verify;
    survey->sequences.owner                  = survey;
    switch (record->type) {
        case GGS_JOURNAL_CONTEXT:
            return add_context(survey, number->value[0], number->value[2], number->value[3] != 0);
        case GGS_JOURNAL_CLEAR:
            return add_change(survey, number->value[0], (struct ggs_memory_change){.kind = GGS_MEMORY_CLEAR});
        case GGS_JOURNAL_MEMORY:
            return add_memory(survey, record->body);
        case GGS_JOURNAL_EMBEDDINGS:
            return add_embeddings(survey, number->value[0]);
        case GGS_JOURNAL_OUTPUT_READ:
            add_output_read(survey, ((const struct ggs_journal_output_read *) record->body)->context,
                            ((const struct ggs_journal_output_read *) record->body)->index);
            return true;
        case GGS_JOURNAL_DECODE:
            return begin_decode(survey, record);
        case GGS_JOURNAL_RUN:
            begin_run(survey, ((const struct ggs_journal_run *) record->body)->decode);
            return true;
        case GGS_JOURNAL_DECODE_END:
            return end_decode(survey, number);
        default:
            return true;
    }
}

bool ggs_survey_finish(struct ggs_survey * survey) {
    bool good = true;
    // The program was killed in these.
    while (good && survey->n_pending > 0)
        good = settle_decode(survey, survey->pending, survey->pending->ran ? UINT64_MAX : 0);
    for (size_t i = 0; good && i < survey->n_lives; i++) {
        struct ggs_life * life = &survey->lives[i];
        if (life->read || life->used) good = mark(&survey->readers, life->first_decode, true);
        for (uint64_t k = 0; good && life->used && k < life->n_long; k++)
            good = mark(&survey->warmups, life->warm[life->from_long + k], false);
        // A context with nothing but a probe.
        if (good && life->cleared && life->tokens <= PROBE_TOKENS) good = end_life(survey, life);
    }
    for (size_t i = 0; good && i < survey->sequences.n_contexts; i++) {
        const struct ggs_sequence_context * context = survey->sequences.contexts[i];
        struct ggs_draft                    draft   = {context->number, context->found - 1};
        if (context->found != 0)
            good = ggs_array_push(survey->drafts, survey->n_drafts, survey->drafts_capacity, draft);
    }
    return good;
}
