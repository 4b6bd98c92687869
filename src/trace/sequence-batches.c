#include <string.h>

#include "base/array.h"
#include "trace/sequences-private.h"

enum { DRAFT_CONTEXTS = 256 }; // drafts are not searched in more contexts
enum { DRAFTS_MOST = 128 };    // more tokens with outputs are a text that is scored

static struct ggs_sequence_context * target_of(struct ggs_sequences * s, const struct ggs_sequence_context * context) {
    uint64_t index = context->target == 0 ? 0 : ggs_map_get(&s->numbers, ggs_map_key_number(context->target - 1));
    return index == 0 ? NULL : s->contexts[index - 1];
}

// ---- drafts ----

static uint64_t hash_of(const struct ggs_sequence_batch * batch) {
    uint64_t h = 14695981039346656037u;
    for (uint64_t i = 0; i < batch->n; i++) {
        h = (h ^ (uint64_t) batch->token[i]) * 1099511628211u;
        h = (h ^ (uint64_t) batch->position[i]) * 1099511628211u;
        h = (h ^ (uint64_t) batch->sequence[i]) * 1099511628211u;
    }
    return h | 1; // 0 means no batch
}

static bool repeats(const struct ggs_sequence_context * target, uint64_t hash) {
    for (unsigned i = 0; i < GGS_RECENT_BATCHES; i++)
        if (target->recent[i] == hash) return true;
    return false;
}

// True if the token was fed after the batch of that number.
static bool fed(const struct ggs_sequence * q, int64_t position, int64_t token, uint64_t after) {
    const struct ggs_recent * recent = &q->recent[(uint64_t) position % GGS_RECENT_TOKENS];
    return recent->position == position && recent->token == token && recent->mark > after;
}

// If another context fed all but the last of these tokens since this one's newest batch, it made
// the drafts.
static void find_draft(struct ggs_sequences * s, struct ggs_sequence_context * context, const struct ggs_sequence * q,
                       const struct ggs_sequence_batch * batch) {
    for (size_t c = 0; s->n_contexts <= DRAFT_CONTEXTS && c < s->n_contexts; c++) {
        struct ggs_sequence_context * other = s->contexts[c];
        if (other->newest <= context->newest) continue; // nothing new
        for (size_t k = 0; other != context && other->found == 0 && k < other->n_sequences; k++) {
            bool same = true;
            for (uint64_t i = 0; same && i < batch->n; i++)
                if (batch->sequence[i] == q->number && batch->position[i] != q->last)
                    same = fed(&other->sequences[k], batch->position[i], batch->token[i], context->newest);
            if (same) other->found = context->number + 1;
        }
    }
}

// ---- batches ----

// Adds up the batch for each of its sequences. False when out of memory.
static bool gather(struct ggs_sequences * s, struct ggs_sequence_context * context,
                   const struct ggs_sequence_batch * batch) {
    uint64_t mark = ++s->marks;
    for (uint64_t i = 0; i < batch->n; i++) {
        struct ggs_sequence * q = ggs_sequence_get(context, batch->sequence[i]);
        if (q == NULL) {
            if (context->n_sequences >= GGS_SEQUENCES_MAX) continue;
            return false;
        }
        int64_t position = batch->position[i] < 0                  ? 0
                           : batch->position[i] > GGS_POSITION_MAX ? GGS_POSITION_MAX
                                                                   : batch->position[i];
        if (q->mark != mark) {
            q->mark   = mark;
            q->tokens = q->outputs = q->reads = 0;
            q->first                          = position;
        }
        q->last_read = !batch->reads_known ? GGS_READ_NOT_KNOWN : batch->read == NULL ? GGS_READ_NEVER : batch->read[i];
        q->reads += q->reads == q->tokens && q->last_read == GGS_READ_BY_PROGRAM;
        q->tokens++;
        q->outputs += batch->output[i] != 0;
        q->last        = position;
        q->last_output = batch->output[i] != 0;
    }
    return true;
}

// Positions show what remains of a VERIFY batch, and changes that were not recorded. True if there
// were any.
static bool catch_up(struct ggs_sequences * s, struct ggs_sequence * q) {
    int64_t last = ggs_cells_last(q);
    bool    back = q->first <= last;
    if (q->verify.branches >= 0) ggs_sequence_settle(s, q, -1);
    if (q->verify.tokens > 0) {
        int64_t kept = q->first - q->verify.first;
        bool    fits = kept >= 1 && kept <= (int64_t) q->verify.tokens;
        ggs_sequence_settle(s, q, fits ? kept : -1);
        if (fits && back) ggs_cells_remove(q, q->first, INT64_MAX);
        if (fits) return back;
    }
    if (back) {
        ggs_cells_remove(q, q->first, INT64_MAX);
        q->cut = true;
    }
    return back;
}

struct part_rules {
    bool           begins;
    enum ggs_phase phase;
};

static struct part_rules rules_of_draft(struct ggs_sequence_context * target, const struct ggs_sequence * q,
                                        bool repeated) {
    const struct ggs_sequence * other = ggs_sequence_find(target, q->number);
    struct part_rules           rules = {q->request == 0 && !q->forked, GGS_PHASE_PROMPT};
    if (repeated) {
        bool same    = other != NULL && other->newest == q->first && other->phase != GGS_PHASE_WARMUP;
        rules.phase  = same ? other->phase : GGS_PHASE_PROMPT;
        bool goes_on = same && other->before && q->before; // both were under way
        if (same) rules.begins = q->request == 0 || (other->began && !goes_on);
        return rules;
    }
    if (rules.begins || target->phase == GGS_PHASE_PROMPT) {
        bool goes_on = q->tokens == 1 && q->output && !q->cut && !rules.begins;
        if (goes_on) return (struct part_rules){false, GGS_PHASE_GENERATE};
        if (!q->cut && !q->output && q->request != 0) return rules; // the prompt continues
        rules.begins = true;
        return rules;
    }
    rules.phase = q->tokens == 1 ? GGS_PHASE_GENERATE : GGS_PHASE_VERIFY;
    return rules;
}

// True if the newest output of the sequence was sampled from, as far as is known.
static bool is_sampled(const struct ggs_sequence_context * context, const struct ggs_sequence * q) {
    return q->output && (q->read != GGS_READ_NEVER || context->never_read);
}

// True if a request begins behind cells that were not recorded.
static bool begins_behind(const struct ggs_sequence * q, const struct ggs_sequence_batch * batch, bool samplers) {
    // Rejected drafts were removed, and others follow.
    bool drafts = !batch->embeddings && q->tokens > 1 && q->outputs == q->tokens;
    return q->end >= 0 ? q->end == q->first && (q->fresh ? !q->passed : !samplers && !drafts) : q->fresh;
}

static struct part_rules rules_of(const struct ggs_sequence_context * context, const struct ggs_sequence * q,
                                  const struct ggs_sequence_batch * batch, bool gaps) {
    struct part_rules prompt = {true, GGS_PHASE_PROMPT};
    if (context->no_memory) return prompt;
    if (context->never_read && q->tokens == 1 && q->last_output && !batch->embeddings &&
        (q->request == 0 || q->first == 0))
        return (struct part_rules){true, GGS_PHASE_GENERATE};
    if (q->encoded) return (struct part_rules){false, GGS_PHASE_PROMPT};
    if (q->first == 0) return prompt;
    int64_t last    = ggs_cells_last(q);
    bool    follows = q->first == last + 1 && !q->cut, all = q->outputs == q->tokens;
    bool    behind  = gaps && !q->forked && q->first > last + 1;
    bool    another = q->fresh || (!context->samplers && (q->cut || q->end >= 0));
    if (behind ? begins_behind(q, batch, context->samplers) : q->fresh) return prompt;
    if (behind && q->tokens == 1 && q->last_output)
        return (struct part_rules){q->request == 0 || another, GGS_PHASE_GENERATE};
    if (behind && all && q->tokens > 1 && q->tokens <= DRAFTS_MOST && !batch->embeddings)
        return (struct part_rules){q->request == 0 || another, GGS_PHASE_VERIFY};
    if (behind && another) return prompt;
    if (follows && is_sampled(context, q) && (q->request != 0 || q->forked)) {
        if (q->tokens == 1) return (struct part_rules){q->request == 0, GGS_PHASE_GENERATE};
        if (all && !(q->scored && !q->generates)) return (struct part_rules){q->request == 0, GGS_PHASE_VERIFY};
        if (q->read == GGS_READ_BY_PROGRAM && !q->scored) return prompt;
    }
    if (batch->verify && follows && all && q->tokens > 1 && q->request != 0)
        return (struct part_rules){false, GGS_PHASE_VERIFY};
    if (q->request == 0 || q->cut || q->generates || q->first <= last) return prompt;
    return (struct part_rules){false, GGS_PHASE_PROMPT}; // it continues
}

// How many tokens are sampled from the batch's outputs of the sequence, as far as is known.
static uint64_t sampled_from(const struct ggs_sequence_context * context, struct ggs_sequence * q,
                             const struct ggs_sequence_batch * batch, struct ggs_sequence_part * part, bool repeated) {
    bool read = q->last_output && q->last_read != GGS_READ_NEVER;
    if (repeated || batch->encode || part->phase == GGS_PHASE_WARMUP) return 0;
    if (context->never_read && part->phase != GGS_PHASE_PROMPT) return q->tokens;
    if (part->phase != GGS_PHASE_PROMPT || part->draft) {
        uint64_t owed = q->owed || (part->begins && q->forked && part->phase != GGS_PHASE_PROMPT);
        q->owed       = false;
        return owed + (part->phase == GGS_PHASE_VERIFY ? q->outputs > 0 : read);
    }
    if (batch->embeddings || q->outputs > 1) {
        part->embedding = batch->embeddings;
        part->scored = q->scored = q->outputs > 1;
        q->owed                  = !q->sampled && read;
        return 0;
    }
    if (q->owed || q->sampled || !read || context->never_read) return 0;
    q->sampled = true;
    return 1;
}

// ---- branches ----

// Finds the sequence whose request this part belongs to, because its tokens follow one of that
// sequence in the same batch; NULL if there is none.
static struct ggs_sequence * branches_off(struct ggs_sequence_context * context, const struct ggs_sequence * q,
                                          const struct ggs_sequence_batch * batch) {
    enum { LOOK = 4096 };
    int64_t last = ggs_cells_last(q);
    if (last < 0 || q->first <= last + 1 || q->request != 0 || batch->encode) return NULL;
    for (uint64_t i = 0; i < batch->n && i < LOOK; i++) {
        if (batch->position[i] != q->first - 1 || batch->sequence[i] == q->number) continue;
        struct ggs_sequence * other = ggs_sequence_find(context, batch->sequence[i]);
        if (other != NULL && other->verify.tokens > 0 && other->verify.branches >= 0 && other->mark == q->mark)
            other = ggs_sequence_find(context, other->verify.branches);
        if (other != NULL && other != q && other->request != 0 && other->mark == q->mark && ggs_cells_shared(q, other))
            return other;
    }
    return NULL;
}

static void keep_recent(struct ggs_sequence * q, const struct ggs_sequence_batch * batch, uint64_t i) {
    if (batch->position[i] < 0) return;
    q->recent[(uint64_t) batch->position[i] % GGS_RECENT_TOKENS] =
        (struct ggs_recent){batch->position[i], batch->token[i], q->mark};
}

static struct ggs_verify verify_of(const struct ggs_sequence_context * context, const struct ggs_sequence * q,
                                   const struct ggs_sequence_batch * batch, uint64_t request, int64_t branches) {
    return (struct ggs_verify){.request     = request,
                               .context     = context->number,
                               .sequence    = q->number,
                               .step        = batch->step,
                               .decode      = batch->decode,
                               .first       = q->first,
                               .tokens      = q->tokens,
                               .left        = q->tokens,
                               .reads       = q->reads,
                               .reads_known = batch->reads_known,
                               .branches    = branches};
}

static bool add_cells(struct ggs_sequences * s, struct ggs_sequence * q) {
    if (q->last < q->first) return true;
    if (q->n_cells == 0 || q->life == 0) q->life = ++s->lives;
    struct ggs_cells cells = {q->first, q->last + 1, q->life, q->first};
    return ggs_cells_remove(q, q->first, q->last + 1) && ggs_cells_insert(q, cells);
}

// `seen`: the request begins here, if it begins behind cells that were not recorded.
static bool begin_request(struct ggs_sequences * s, struct ggs_sequence * q, struct ggs_sequence_part * part,
                          const struct ggs_sequence_batch * batch, bool seen) {
    bool    forked = q->forked, output = q->output;
    bool    behind     = s->gaps && !batch->encode && q->first > ggs_cells_last(q) + 1;
    uint8_t read       = q->read;
    part->sample       = forked && output && !part->draft && part->phase != GGS_PHASE_PROMPT;
    part->begun_before = q->before = behind && !seen;
    ggs_sequence_end(s, q);
    q->forked  = forked;
    q->output  = output;
    q->read    = read;
    q->sampled = q->scored = false;
    q->request             = ++s->requests;
    part->begins           = true;
    part->again            = q->requests++ > 0;
    // What is cached lies in cells that were not recorded.
    int64_t last = ggs_cells_last(q);
    if (behind && !part->begun_before &&
        !ggs_cells_insert(q, (struct ggs_cells){last + 1, q->first, ++s->lives, last + 1}))
        return false;
    part->cached = q->first > 0 && !batch->encode ? (uint64_t) q->first : 0;
    return true;
}

static struct part_rules find_rules(struct ggs_sequences * s, struct ggs_sequence_context * context,
                                    const struct ggs_sequence * q, const struct ggs_sequence_batch * batch,
                                    struct ggs_sequence_context * target, bool repeated) {
    enum ggs_phase phase = batch->warmup ? GGS_PHASE_WARMUP : GGS_PHASE_PROMPT;
    if (batch->encode) return (struct part_rules){!q->encoded, phase};
    if (batch->warmup) return (struct part_rules){true, phase};
    return target != NULL ? rules_of_draft(target, q, repeated) : rules_of(context, q, batch, s->gaps);
}

// Updates the sequence after the batch.
static void move_on(struct ggs_sequence_context * context, struct ggs_sequence * q,
                    const struct ggs_sequence_batch * batch, struct part_rules rules, bool drafts) {
    bool verify = rules.phase == GGS_PHASE_VERIFY && !drafts;
    bool maybe  = rules.phase == GGS_PHASE_PROMPT && !rules.begins && !drafts && !q->output && q->tokens > 1 &&
                 q->outputs == q->tokens && !batch->encode && !batch->embeddings;
    if (verify) q->verify = verify_of(context, q, batch, q->request, -1);
    q->maybe.tokens = 0;
    if (maybe) q->maybe = verify_of(context, q, batch, q->request, -1);
    q->phase = rules.phase, q->began = rules.begins, q->newest = q->first;
    q->cut = q->forked = q->fresh = false;
    q->passed                     = false;
    q->end                        = -1;
    q->encoded                    = batch->encode;
    q->output                     = drafts || (q->last_output && !batch->encode);
    q->read                       = drafts ? GGS_READ_NOT_KNOWN : q->last_read;
    if (rules.phase != GGS_PHASE_PROMPT) q->generates = true;
}

static void count_tokens(const struct ggs_sequence_context * context, const struct ggs_sequence * q,
                         struct ggs_sequence_part * part, bool sampled) {
    if (part->phase == GGS_PHASE_PROMPT || part->phase == GGS_PHASE_WARMUP) part->prompt = q->tokens;
    if (part->phase == GGS_PHASE_VERIFY) *(sampled || part->draft ? &part->fed : &part->prompt) = 1;
    if (part->phase != GGS_PHASE_GENERATE) return;
    part->fed    = q->tokens;
    part->unused = q->last_output && !context->no_memory && q->last_read == GGS_READ_NEVER ? q->tokens : 0;
}

static bool settle_branch(struct ggs_sequences * s, struct ggs_sequence_context * context, struct ggs_sequence * q,
                          const struct ggs_sequence_batch * batch, const struct ggs_sequence * root) {
    struct ggs_sequence_part part = {.context  = context->number,
                                     .sequence = q->number,
                                     .request  = root->request,
                                     .phase    = GGS_PHASE_VERIFY,
                                     .tokens   = q->tokens,
                                     .outputs  = q->outputs,
                                     .first    = q->first,
                                     .branch   = true};
    q->verify                     = verify_of(context, q, batch, root->request, root->number);
    q->phase                      = GGS_PHASE_VERIFY;
    q->output = q->forked = q->cut = q->fresh = false;
    context->branched                         = true;
    if (!add_cells(s, q)) return false;
    part.cells = ggs_sequence_cells(q);
    return ggs_array_push(s->parts, s->n_parts, s->parts_capacity, part);
}

// True if the newest request of the target's sequence is not one that was under way.
static bool begins_in(struct ggs_sequence_context * target, int64_t number) {
    const struct ggs_sequence * q = ggs_sequence_find(target, number);
    return q != NULL && !q->before;
}

static bool settle_part(struct ggs_sequences * s, struct ggs_sequence_context * context, struct ggs_sequence * q,
                        const struct ggs_sequence_batch * batch, struct ggs_sequence_context * target, bool repeated) {
    bool                     memory = !batch->encode && !context->no_memory;
    struct ggs_sequence_part part   = {.context   = context->number,
                                       .sequence  = q->number,
                                       .tokens    = q->tokens,
                                       .outputs   = q->outputs,
                                       .first     = q->first,
                                       .draft     = target != NULL,
                                       .embedding = context->no_memory};
    if (memory && q->maybe.tokens > 0 && q->maybe.reads == q->maybe.tokens && q->tokens > 1 &&
        q->outputs == q->tokens && q->first == ggs_cells_last(q) + 1 && !ggs_sequence_is_verify(s, q))
        return false;
    if (memory) part.unseen = catch_up(s, q) && !repeated;
    const struct ggs_sequence * root = branches_off(context, q, batch);
    if (root != NULL) return settle_branch(s, context, q, batch, root);
    struct part_rules rules   = find_rules(s, context, q, batch, target, repeated);
    bool              sampled = is_sampled(context, q);
    if (rules.phase == GGS_PHASE_VERIFY && !part.draft) find_draft(s, context, q, batch);
    part.phase  = rules.phase;
    part.paused = s->gaps && memory && !rules.begins && q->first > ggs_cells_last(q) + 1;
    bool seen = target == NULL ? begins_behind(q, batch, context->samplers) : repeated && begins_in(target, q->number);
    if (rules.begins && !begin_request(s, q, &part, batch, seen)) return false;
    part.request   = q->request;
    part.generated = context->no_memory ? 0 : sampled_from(context, q, batch, &part, repeated);
    count_tokens(context, q, &part, sampled || part.begun_before);
    if (part.unseen) context->unseen = true;
    move_on(context, q, batch, rules, part.draft);
    if (memory && !add_cells(s, q)) return false;
    part.cells = ggs_sequence_cells(q);
    return ggs_array_push(s->parts, s->n_parts, s->parts_capacity, part);
}

// The phase of a batch with parts of these: MIXED is prompt and anything else.
static enum ggs_phase both(enum ggs_phase a, enum ggs_phase b) {
    if (a == GGS_PHASE_NONE || a == b) return b;
    bool prompt = a == GGS_PHASE_PROMPT || b == GGS_PHASE_PROMPT || a == GGS_PHASE_MIXED;
    return prompt ? GGS_PHASE_MIXED : GGS_PHASE_VERIFY;
}

bool ggs_sequences_batch(struct ggs_sequences * s, uint64_t number, const struct ggs_sequence_batch * batch,
                         enum ggs_phase * phase) {
    struct ggs_sequence_context * context = ggs_sequences_context(s, number);
    *phase                                = GGS_PHASE_NONE;
    s->n_parts                            = 0;
    if (context == NULL) return s->n_contexts >= GGS_CONTEXTS_MAX;
    if (!gather(s, context, batch)) return false;
    uint64_t                      hash     = hash_of(batch);
    struct ggs_sequence_context * target   = target_of(s, context);
    bool                          repeated = target != NULL && !batch->warmup && repeats(target, hash);
    // In the order in which the sequences appear; settled marks are removed.
    for (uint64_t i = 0; i < batch->n; i++) {
        struct ggs_sequence * q = ggs_sequence_find(context, batch->sequence[i]);
        if (q == NULL) continue;
        if (q->tokens > 0) {
            if (!settle_part(s, context, q, batch, target, repeated)) return false;
            *phase    = both(*phase, q->phase);
            q->tokens = 0;
        }
        keep_recent(q, batch, i);
    }
    context->recent[context->batches++ % GGS_RECENT_BATCHES] = hash;
    context->phase                                           = *phase;
    context->newest                                          = s->marks;
    context->decode                                          = batch->decode;
    return true;
}

// Copies of a sequence have its output too.
static void read_newest(struct ggs_sequence_context * context, struct ggs_sequence * q) {
    q->read = GGS_READ_BY_PROGRAM;
    for (size_t i = 0; i < context->n_sequences; i++) {
        struct ggs_sequence * other = &context->sequences[i];
        if (other->forked && other->origin == q->number && other->computed == context->decode)
            other->read = GGS_READ_BY_PROGRAM;
    }
}

void ggs_sequences_read(struct ggs_sequences * s, uint64_t number, int64_t sequence, int64_t position) {
    uint64_t              index = ggs_map_get(&s->numbers, ggs_map_key_number(number));
    struct ggs_sequence * q     = index == 0 ? NULL : ggs_sequence_find(s->contexts[index - 1], sequence);
    if (q == NULL || q->mark != s->contexts[index - 1]->newest) return;
    if (position == q->last) read_newest(s->contexts[index - 1], q);
    struct ggs_verify * waiting[] = {&q->verify, &q->maybe};
    for (unsigned i = 0; i < 2; i++)
        waiting[i]->reads += waiting[i]->tokens > 0 && position - waiting[i]->first == (int64_t) waiting[i]->reads;
}

void ggs_sequences_finish(struct ggs_sequences * s) {
    for (size_t i = 0; i < s->n_contexts; i++)
        for (size_t k = 0; k < s->contexts[i]->n_sequences; k++)
            ggs_sequence_settle(s, &s->contexts[i]->sequences[k], -1);
}
