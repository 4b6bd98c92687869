#include "trace/sequences.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/sequences-private.h"

void ggs_sequences_release(struct ggs_sequences * s) {
    for (size_t i = 0; i < s->n_contexts; i++) {
        struct ggs_sequence_context * context = s->contexts[i];
        for (size_t k = 0; k < context->n_sequences; k++) free(context->sequences[k].cells);
        free(context->sequences);
        ggs_map_release(&context->numbers);
        free(context);
    }
    free(s->contexts);
    free(s->parts);
    ggs_map_release(&s->numbers);
    *s = (struct ggs_sequences){0};
}

// ---- contexts and sequences ----

struct ggs_sequence_context * ggs_sequences_context(struct ggs_sequences * s, uint64_t number) {
    uint64_t * index = ggs_map_put(&s->numbers, ggs_map_key_number(number));
    if (index == NULL) return NULL;
    if (*index != 0) return s->contexts[*index - 1];
    struct ggs_sequence_context * context = s->n_contexts < GGS_CONTEXTS_MAX ? calloc(1, sizeof(*context)) : NULL;
    if (context == NULL || !ggs_array_push(s->contexts, s->n_contexts, s->contexts_capacity, context)) {
        free(context);
        return NULL;
    }
    context->number = number;
    *index          = s->n_contexts;
    return context;
}

bool ggs_sequences_draft(struct ggs_sequences * s, uint64_t number, uint64_t target) {
    struct ggs_sequence_context * context = ggs_sequences_context(s, number);
    if (context == NULL) return false;
    if (number != target) context->target = target + 1;
    return true;
}

struct ggs_sequence * ggs_sequence_find(struct ggs_sequence_context * context, int64_t number) {
    uint64_t index = ggs_map_get(&context->numbers, ggs_map_key_number((uint64_t) number));
    return index == 0 ? NULL : &context->sequences[index - 1];
}

struct ggs_sequence * ggs_sequence_get(struct ggs_sequence_context * context, int64_t number) {
    struct ggs_sequence * found = ggs_sequence_find(context, number);
    if (found != NULL) return found;
    if (context->n_sequences >= GGS_SEQUENCES_MAX) return NULL;
    if (!ggs_array_reserve(context->sequences, context->capacity, context->n_sequences + 1)) return NULL;
    uint64_t * index = ggs_map_put(&context->numbers, ggs_map_key_number((uint64_t) number));
    if (index == NULL) return NULL;
    struct ggs_sequence * sequence = &context->sequences[context->n_sequences++];
    memset(sequence, 0, sizeof(*sequence));
    sequence->number = number;
    sequence->end    = -1;
    for (unsigned i = 0; i < GGS_RECENT_TOKENS; i++) sequence->recent[i].position = -1;
    *index = context->n_sequences;
    return sequence;
}

int64_t ggs_sequences_last(struct ggs_sequences * s, uint64_t number, int64_t sequence) {
    struct ggs_sequence_context * context = ggs_sequences_context(s, number);
    struct ggs_sequence *         q       = context == NULL ? NULL : ggs_sequence_find(context, sequence);
    return q == NULL ? -1 : ggs_cells_last(q);
}

// ---- changes of the memory ----

void ggs_sequence_settle(struct ggs_sequences * s, struct ggs_sequence * q, int64_t kept) {
    const struct ggs_verify * v       = &q->verify;
    struct ggs_settled        settled = {0};
    uint64_t                  own = v->branches < 0, drafted = v->tokens - own;
    if (v->tokens == 0) return;
    if (kept < 0 && own == 0) kept = 0;
    if (kept < 0 && v->reads_known && v->reads > 0) kept = (int64_t) v->reads;
    if (kept < 0) {
        settled.unsettled = drafted;
    } else if (kept == 0 && own > 0) { // rejected as a whole, and computed again
        settled.generated = -1;
    } else {
        settled.accepted  = (uint64_t) kept - own;
        settled.rejected  = drafted - settled.accepted;
        settled.generated = (int64_t) settled.accepted;
    }
    if (s->settle != NULL) s->settle(s->owner, v, &settled);
    // The newest token is the last one that stays.
    if (own > 0 && kept >= 0)
        q->read = !v->reads_known || kept == 0  ? GGS_READ_NOT_KNOWN
                  : v->reads >= (uint64_t) kept ? GGS_READ_BY_PROGRAM
                                                : GGS_READ_NEVER;
    q->verify.tokens = 0;
}

void ggs_sequence_end(struct ggs_sequences * s, struct ggs_sequence * q) {
    ggs_sequence_settle(s, q, -1);
    q->request      = 0;
    q->maybe.tokens = 0;
    q->output = q->generates = q->cut = q->encoded = q->owed = q->forked = false;
}

// True if a branch of the sequence's request is pending. The sequence may become a copy of it.
static bool has_branch(const struct ggs_sequence_context * context, const struct ggs_sequence * q) {
    for (size_t i = 0; context->branched && q->request != 0 && i < context->n_sequences; i++) {
        const struct ggs_verify * v = &context->sequences[i].verify;
        if (v->tokens > 0 && v->branches == q->number && v->request == q->request) return true;
    }
    return false;
}

static void empty(struct ggs_sequences * s, struct ggs_sequence_context * context, struct ggs_sequence * q) {
    q->n_cells = 0;
    if (!has_branch(context, q)) ggs_sequence_end(s, q);
}

bool ggs_sequence_is_verify(struct ggs_sequences * s, struct ggs_sequence * q) {
    q->verify       = q->maybe;
    q->maybe.tokens = 0;
    q->generates    = true;
    return s->late == NULL || s->late(s->owner, q->verify.decode);
}

// True if a removal from here on shows that the batch checked drafts: as many outputs are read as
// tokens stay. If cells cannot be removed one by one, all of them go, and accepted tokens are fed
// again.
static bool checked_drafts(const struct ggs_verify * maybe, int64_t from, int64_t last) {
    if (maybe->tokens == 0 || from < maybe->first || from > last) return false;
    uint64_t kept = (uint64_t) (from - maybe->first);
    if (kept == 0) return maybe->reads_known && maybe->reads > 0 && maybe->reads < maybe->tokens;
    return !maybe->reads_known || maybe->reads == kept;
}

static bool remove_part(struct ggs_sequences * s, struct ggs_sequence_context * context, struct ggs_sequence * q,
                        int64_t from, int64_t to) {
    int64_t last = ggs_cells_last(q);
    bool    end  = to > last;
    if (to == INT64_MAX) q->passed |= q->end >= 0 && from > q->end, q->end = from;
    if (end && checked_drafts(&q->maybe, from, last) && !ggs_sequence_is_verify(s, q)) return false;
    if (q->verify.tokens > 0 && end && (from >= q->verify.first || q->verify.branches >= 0)) {
        int64_t kept = from > q->verify.first ? from - q->verify.first : 0;
        if (kept > (int64_t) q->verify.tokens) kept = (int64_t) q->verify.tokens;
        if (q->verify.branches < 0 || kept == 0)
            ggs_sequence_settle(s, q, kept);
        else if ((uint64_t) kept < q->verify.left)
            q->verify.left = (uint64_t) kept;
        return ggs_cells_remove(q, from, to);
    }
    if (last < 0) return true;
    if (!ggs_cells_remove(q, from, to)) return false;
    bool unknown = s->gaps && from > 0; // cells in front of it may not have been recorded
    if (q->n_cells == 0 && !unknown)
        empty(s, context, q);
    else if (ggs_cells_last(q) < last)
        q->cut = true;
    return true;
}

// The sequence has become a copy of a branch of its own request: what the branch has is accepted.
static void adopt(struct ggs_sequences * s, struct ggs_sequence * q, struct ggs_sequence * branch) {
    int64_t kept = branch->verify.first - q->verify.first;
    if (kept < 1) kept = 1;
    if (kept > (int64_t) q->verify.tokens) kept = (int64_t) q->verify.tokens;
    ggs_sequence_settle(s, q, kept);
    ggs_sequence_settle(s, branch, (int64_t) branch->verify.left);
    q->output = q->generates = true;
    q->read                  = GGS_READ_NOT_KNOWN;
    q->cut                   = false;
}

static bool copy(struct ggs_sequences * s, struct ggs_sequence_context * context, int64_t from_number,
                 int64_t to_number, int64_t from, int64_t to) {
    struct ggs_sequence * target = ggs_sequence_get(context, to_number);
    struct ggs_sequence * source = ggs_sequence_find(context, from_number);
    if (source == NULL || target == NULL || source == target) return true;
    bool had     = target->n_cells > 0;
    target->end  = -1;
    source->life = target->life = 0; // either may compute anew what the other one keeps
    for (size_t i = 0; i < source->n_cells; i++) {
        struct ggs_cells c = source->cells[i];
        if (c.begin < from) c.origin += from - c.begin, c.begin = from;
        if (c.end > to) c.end = to;
        if (c.begin >= c.end) continue;
        if (!ggs_cells_remove(target, c.begin, c.end) || !ggs_cells_insert(target, c)) return false;
    }
    if (target->n_cells == 0) return true;
    const struct ggs_verify * v = &source->verify;
    bool same                   = ggs_cells_last(target) == ggs_cells_last(source) && ggs_cells_shared(target, source);
    if (same && v->tokens > 0 && v->branches == target->number && v->request == target->request) {
        adopt(s, target, source);
    } else if (!had || same) { // another text follows
        ggs_sequence_end(s, target);
        target->forked = true;
        // What the source computed after these changes was not recorded.
        target->awaited  = target->fresh && !source->fresh && !source->cut && source->end < 0;
        target->fresh    = false;
        target->origin   = source->number;
        target->computed = context->decode;
        target->output   = source->output && same;
        target->read     = source->read;
    }
    return true;
}

// A state was loaded: the sequence has other cells than before.
static bool load(struct ggs_sequences * s, struct ggs_sequence_context * context, int64_t number, int64_t from,
                 int64_t to) {
    struct ggs_sequence * q = ggs_sequence_get(context, number);
    if (q == NULL) return context->n_sequences >= GGS_SEQUENCES_MAX;
    q->n_cells = 0;
    q->end     = -1;
    ggs_sequence_end(s, q);
    q->life = ++s->lives;
    return to <= from || ggs_cells_insert(q, (struct ggs_cells){from, to, q->life, from});
}

// A sample of another sequence's prompt that ends with its first token.
static void find_sample(struct ggs_sequences * s, struct ggs_sequence_context * context, struct ggs_sequence * q) {
    if (q == NULL || !q->forked || !q->awaited || !q->output || q->read == GGS_READ_NEVER) return;
    s->sample = (struct ggs_sequence_part){.context   = context->number,
                                           .sequence  = q->number,
                                           .request   = ++s->requests,
                                           .begins    = true,
                                           .again     = q->requests++ > 0,
                                           .phase     = GGS_PHASE_PROMPT,
                                           .first     = ggs_cells_last(q) + 1,
                                           .cached    = (uint64_t) ggs_cells_last(q) + 1,
                                           .generated = 1,
                                           .sample    = true,
                                           .computed  = q->computed,
                                           .cells     = ggs_sequence_cells(q)};
    q->forked = false;
}

static bool set_sampler(struct ggs_sequence_context * context, int64_t number) {
    struct ggs_sequence * q = ggs_sequence_get(context, number);
    if (q != NULL) {
        q->fresh          = true;
        q->passed         = false;
        q->end            = -1;
        context->samplers = true;
    }
    return q != NULL || context->n_sequences >= GGS_SEQUENCES_MAX;
}

// How many cells a change is about, those of each sequence by themselves.
static uint64_t cells_of_change(struct ggs_sequence_context * context, const struct ggs_memory_change * change,
                                int64_t from, int64_t to) {
    bool     whole = change->kind == GGS_MEMORY_CLEAR || change->kind == GGS_MEMORY_KEEP;
    uint64_t sum   = 0;
    if (change->kind == GGS_MEMORY_SAMPLER) return 0;
    if (change->kind == GGS_MEMORY_LOAD) return change->to > from ? (uint64_t) (change->to - from) : 0;
    if (change->kind == GGS_MEMORY_COPY && change->sequence == change->other) return 0;
    for (size_t i = 0; i < context->n_sequences; i++) {
        const struct ggs_sequence * q    = &context->sequences[i];
        bool                        mine = change->kind == GGS_MEMORY_CLEAR  ? true
                                           : change->kind == GGS_MEMORY_KEEP ? q->number != change->sequence
                                           : change->kind == GGS_MEMORY_COPY ? q->number == change->sequence
                                                                             : change->sequence < 0 || q->number == change->sequence;
        if (mine) sum += whole ? ggs_sequence_cells(q) : ggs_cells_between(q, from, to);
    }
    return sum;
}

bool ggs_sequences_change(struct ggs_sequences * s, const struct ggs_memory_change * change) {
    struct ggs_sequence_context * context = ggs_sequences_context(s, change->context);
    s->sample.request                     = 0;
    if (context == NULL) return s->n_contexts >= GGS_CONTEXTS_MAX;
    int64_t from = change->from < 0 ? 0 : change->from, to = change->to < 0 ? INT64_MAX : change->to;
    if (from > GGS_POSITION_MAX) from = GGS_POSITION_MAX;
    bool all = change->sequence < 0, good = true;
    context->changed_cells = cells_of_change(context, change, from, to);
    if (change->kind == GGS_MEMORY_SAMPLER ||
        (change->kind == GGS_MEMORY_REMOVE && !all && from == 0 && to == INT64_MAX))
        find_sample(s, context, ggs_sequence_find(context, change->sequence));
    switch (change->kind) {
        case GGS_MEMORY_CLEAR:
            context->cleared++;
            context->cleared_cells += context->changed_cells;
            for (size_t i = 0; i < context->n_sequences; i++) empty(s, context, &context->sequences[i]);
            return true;
        case GGS_MEMORY_KEEP:
            context->removed++;
            context->removed_cells += context->changed_cells;
            for (size_t i = 0; i < context->n_sequences; i++)
                if (context->sequences[i].number != change->sequence) empty(s, context, &context->sequences[i]);
            return true;
        case GGS_MEMORY_COPY:
            context->copied++;
            context->copied_cells += context->changed_cells;
            return copy(s, context, change->sequence, change->other, from, to);
        case GGS_MEMORY_SAMPLER:
            return set_sampler(context, change->sequence);
        case GGS_MEMORY_LOAD:
            return load(s, context, change->sequence, from,
                        change->to > GGS_POSITION_MAX ? GGS_POSITION_MAX : change->to);
        case GGS_MEMORY_REMOVE:
            context->removed++;
            context->removed_cells += context->changed_cells;
            break;
        case GGS_MEMORY_ADD:
        case GGS_MEMORY_DIVIDE:
            context->moved++;
            context->moved_cells += context->changed_cells;
            if (change->delta == 0 || change->delta < INT32_MIN || change->delta > INT32_MAX) return true;
            break;
        default:
            return true; // of a later version
    }
    // Cells that were not recorded are removed too.
    if (s->gaps && !all && context->n_sequences < GGS_SEQUENCES_MAX &&
        ggs_sequence_get(context, change->sequence) == NULL)
        return false;
    for (size_t i = 0; good && i < context->n_sequences; i++) {
        struct ggs_sequence * q = &context->sequences[i];
        if (!all && q->number != change->sequence) continue;
        if (change->kind != GGS_MEMORY_REMOVE) q->end = -1;
        good = change->kind == GGS_MEMORY_REMOVE
                   ? remove_part(s, context, q, from, to)
                   : ggs_cells_move(q, from, to, change->delta, change->kind == GGS_MEMORY_DIVIDE);
    }
    return good;
}
