#include "trace/sequences.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

// Beyond these a trace is damaged: what more there is takes part in nothing.
enum { CONTEXTS_MAX = 1 << 16, SEQUENCES_MAX = 1 << 12, CELLS_MAX = 1 << 12 };
enum { DRAFT_CONTEXTS = 256 }; // of more contexts than these none is taken for a draft's
#define POSITION_MAX (INT64_C(1) << 40)

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
    struct ggs_sequence_context * context = s->n_contexts < CONTEXTS_MAX ? calloc(1, sizeof(*context)) : NULL;
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

static struct ggs_sequence_context * target_of(struct ggs_sequences * s, const struct ggs_sequence_context * context) {
    uint64_t index = context->target == 0 ? 0 : ggs_map_get(&s->numbers, ggs_map_key_number(context->target - 1));
    return index == 0 ? NULL : s->contexts[index - 1];
}

static struct ggs_sequence * find_sequence(struct ggs_sequence_context * context, int64_t number) {
    uint64_t index = ggs_map_get(&context->numbers, ggs_map_key_number((uint64_t) number));
    return index == 0 ? NULL : &context->sequences[index - 1];
}

// NULL when out of memory, or if there are too many.
static struct ggs_sequence * get_sequence(struct ggs_sequence_context * context, int64_t number) {
    struct ggs_sequence * found = find_sequence(context, number);
    if (found != NULL) return found;
    if (context->n_sequences >= SEQUENCES_MAX) return NULL;
    if (!ggs_array_reserve(context->sequences, context->capacity, context->n_sequences + 1)) return NULL;
    uint64_t * index = ggs_map_put(&context->numbers, ggs_map_key_number((uint64_t) number));
    if (index == NULL) return NULL;
    struct ggs_sequence * sequence = &context->sequences[context->n_sequences++];
    memset(sequence, 0, sizeof(*sequence));
    sequence->number = number;
    for (unsigned i = 0; i < GGS_RECENT_TOKENS; i++) sequence->recent[i].position = -1;
    *index = context->n_sequences;
    return sequence;
}

// ---- cells ----

static int64_t last_of(const struct ggs_sequence * q) {
    return q->n_cells == 0 ? -1 : q->cells[q->n_cells - 1].end - 1;
}

uint64_t ggs_sequence_cells(const struct ggs_sequence * q) {
    uint64_t sum = 0;
    for (size_t i = 0; i < q->n_cells; i++) sum += (uint64_t) (q->cells[i].end - q->cells[i].begin);
    return sum;
}

static bool put_cells(struct ggs_sequence * q, size_t at, struct ggs_cells cells) {
    if (cells.begin >= cells.end) return true;
    if (q->n_cells >= CELLS_MAX) return true; // damaged: not counted
    if (!ggs_array_reserve(q->cells, q->capacity, q->n_cells + 1)) return false;
    memmove(q->cells + at + 1, q->cells + at, (q->n_cells - at) * sizeof(*q->cells));
    q->cells[at] = cells;
    q->n_cells++;
    return true;
}

// Neighbours that are one piece become one.
static void join_cells(struct ggs_sequence * q) {
    size_t n = 0;
    for (size_t i = 0; i < q->n_cells; i++) {
        struct ggs_cells * last = n == 0 ? NULL : &q->cells[n - 1];
        struct ggs_cells * next = &q->cells[i];
        if (last != NULL && last->end == next->begin && last->life == next->life &&
            last->origin - last->begin == next->origin - next->begin)
            last->end = next->end;
        else
            q->cells[n++] = *next;
    }
    q->n_cells = n;
}

static bool remove_cells(struct ggs_sequence * q, int64_t from, int64_t to) {
    for (size_t i = 0; i < q->n_cells;) {
        struct ggs_cells * c = &q->cells[i];
        if (c->end <= from || c->begin >= to) {
            i++;
        } else if (c->begin < from && c->end > to) {
            struct ggs_cells rest = {to, c->end, c->life, c->origin + (to - c->begin)};
            c->end                = from;
            return put_cells(q, i + 1, rest);
        } else if (c->begin < from) {
            c->end = from, i++;
        } else if (c->end > to) {
            c->origin += to - c->begin;
            c->begin = to, i++;
        } else {
            memmove(c, c + 1, (--q->n_cells - i) * sizeof(*c));
        }
    }
    return true;
}

static bool insert_cells(struct ggs_sequence * q, struct ggs_cells cells) {
    size_t at = q->n_cells;
    while (at > 0 && q->cells[at - 1].begin > cells.begin) at--;
    if (!put_cells(q, at, cells)) return false;
    join_cells(q);
    return true;
}

// Takes [from, to) out and puts it back with other positions: delta added, or divided by it.
static bool move_cells(struct ggs_sequence * q, int64_t from, int64_t to, int64_t delta, bool divide) {
    struct ggs_sequence taken = {0};
    bool                good  = true;
    q->life                   = 0; // what is computed at these positions from now on are other cells
    for (size_t i = 0; good && i < q->n_cells; i++) {
        struct ggs_cells c = q->cells[i];
        if (c.begin < from) c.origin += from - c.begin, c.begin = from;
        if (c.end > to) c.end = to;
        if (c.begin < c.end) good = put_cells(&taken, taken.n_cells, c);
    }
    if (good) good = remove_cells(q, from, to);
    for (size_t i = 0; good && i < taken.n_cells; i++) {
        struct ggs_cells c      = taken.cells[i];
        int64_t          length = c.end - c.begin;
        c.begin                 = divide ? c.begin / delta : c.begin + delta;
        if (c.begin < 0) length += c.begin, c.origin -= c.begin, c.begin = 0; // the engine drops what is moved below 0
        c.end = c.begin + length; // divided: as many cells, positions shared
        if (length > 0) good = insert_cells(q, c);
    }
    free(taken.cells);
    return good;
}

static int by_cell(const void * a, const void * b) {
    const struct ggs_cells *x = a, *y = b;
    if (x->life != y->life) return x->life < y->life ? -1 : 1;
    return x->origin < y->origin ? -1 : x->origin > y->origin;
}

bool ggs_sequences_cells(const struct ggs_sequence_context * context, uint64_t * cells) {
    size_t n = 0, k = 0;
    *cells = 0;
    for (size_t i = 0; context->apart && i < context->n_sequences; i++)
        *cells += ggs_sequence_cells(&context->sequences[i]);
    if (context->apart) return true;
    for (size_t i = 0; i < context->n_sequences; i++) n += context->sequences[i].n_cells;
    struct ggs_cells * all = calloc(n + 1, sizeof(*all));
    if (all == NULL) return false;
    for (size_t i = 0; i < context->n_sequences; i++) {
        const struct ggs_sequence * q = &context->sequences[i];
        if (q->n_cells > 0) memcpy(all + k, q->cells, q->n_cells * sizeof(*all));
        k += q->n_cells;
    }
    qsort(all, n, sizeof(*all), by_cell);
    int64_t end = 0; // of what is counted of this life
    for (size_t i = 0; i < n; i++) {
        int64_t begin = all[i].origin, stop = begin + (all[i].end - all[i].begin);
        if (i == 0 || all[i].life != all[i - 1].life || begin > end) end = begin;
        if (stop > end) *cells += (uint64_t) (stop - end), end = stop;
    }
    free(all);
    return true;
}

int64_t ggs_sequences_last(struct ggs_sequences * s, uint64_t number, int64_t sequence) {
    struct ggs_sequence_context * context = ggs_sequences_context(s, number);
    struct ggs_sequence *         q       = context == NULL ? NULL : find_sequence(context, sequence);
    return q == NULL ? -1 : last_of(q);
}

// ---- changes of the memory ----

static void settle(struct ggs_sequences * s, struct ggs_sequence * q, int64_t kept) {
    if (q->verify.tokens == 0) return;
    if (s->settle != NULL) s->settle(s->owner, &q->verify, kept);
    q->verify.tokens = 0;
}

static void end_request(struct ggs_sequences * s, struct ggs_sequence * q) {
    settle(s, q, -1);
    q->request = 0;
    q->output = q->generates = q->cut = q->encoded = q->owed = q->forked = false;
}

static void empty(struct ggs_sequences * s, struct ggs_sequence * q) {
    q->n_cells = 0;
    end_request(s, q);
}

static bool remove_part(struct ggs_sequences * s, struct ggs_sequence * q, int64_t from, int64_t to) {
    int64_t last = last_of(q);
    if (q->verify.tokens > 0 && to > last && from > q->verify.first - 1) {
        int64_t kept = from - q->verify.first;
        if (kept > (int64_t) q->verify.tokens) kept = (int64_t) q->verify.tokens;
        settle(s, q, kept);
        return remove_cells(q, from, to);
    }
    if (last < 0) return true;
    if (!remove_cells(q, from, to)) return false;
    if (q->n_cells == 0)
        empty(s, q);
    else if (last_of(q) < last)
        q->cut = true;
    return true;
}

static bool copy(struct ggs_sequences * s, struct ggs_sequence_context * context, int64_t from_number,
                 int64_t to_number, int64_t from, int64_t to) {
    struct ggs_sequence * target = get_sequence(context, to_number);
    struct ggs_sequence * source = find_sequence(context, from_number);
    if (source == NULL || target == NULL || source == target) return true;
    bool had     = target->n_cells > 0;
    source->life = target->life = 0; // either may compute anew what the other one keeps
    for (size_t i = 0; i < source->n_cells; i++) {
        struct ggs_cells c = source->cells[i];
        if (c.begin < from) c.origin += from - c.begin, c.begin = from;
        if (c.end > to) c.end = to;
        if (c.begin >= c.end) continue;
        if (!remove_cells(target, c.begin, c.end) || !insert_cells(target, c)) return false;
    }
    if (target->n_cells == 0) return true;
    // What follows belongs to another text than what the sequence had before.
    if (!had || last_of(target) == last_of(source)) {
        end_request(s, target);
        target->forked = true;
        target->output = source->output && last_of(target) == last_of(source);
    }
    return true;
}

// Cells of a sequence at positions [from, to).
static uint64_t cells_between(const struct ggs_sequence * q, int64_t from, int64_t to) {
    uint64_t sum = 0;
    for (size_t i = 0; q != NULL && i < q->n_cells; i++) {
        int64_t begin = q->cells[i].begin > from ? q->cells[i].begin : from;
        int64_t end   = q->cells[i].end < to ? q->cells[i].end : to;
        if (begin < end) sum += (uint64_t) (end - begin);
    }
    return sum;
}

// How many cells a change is about, those of each sequence by themselves.
static uint64_t cells_of_change(struct ggs_sequence_context * context, const struct ggs_memory_change * change,
                                int64_t from, int64_t to) {
    bool     whole = change->kind == GGS_MEMORY_CLEAR || change->kind == GGS_MEMORY_KEEP;
    uint64_t sum   = 0;
    if (change->kind == GGS_MEMORY_COPY && change->sequence == change->other) return 0;
    for (size_t i = 0; i < context->n_sequences; i++) {
        const struct ggs_sequence * q    = &context->sequences[i];
        bool                        mine = change->kind == GGS_MEMORY_CLEAR  ? true
                                           : change->kind == GGS_MEMORY_KEEP ? q->number != change->sequence
                                           : change->kind == GGS_MEMORY_COPY ? q->number == change->sequence
                                                                             : change->sequence < 0 || q->number == change->sequence;
        if (mine) sum += whole ? ggs_sequence_cells(q) : cells_between(q, from, to);
    }
    return sum;
}

bool ggs_sequences_change(struct ggs_sequences * s, const struct ggs_memory_change * change) {
    struct ggs_sequence_context * context = ggs_sequences_context(s, change->context);
    if (context == NULL) return s->n_contexts >= CONTEXTS_MAX;
    int64_t from = change->from < 0 ? 0 : change->from, to = change->to < 0 ? INT64_MAX : change->to;
    if (from > POSITION_MAX) from = POSITION_MAX;
    bool all = change->sequence < 0, good = true;
    context->changed_cells = cells_of_change(context, change, from, to);
    switch (change->kind) {
        case GGS_MEMORY_CLEAR:
            context->cleared++;
            context->cleared_cells += context->changed_cells;
            for (size_t i = 0; i < context->n_sequences; i++) empty(s, &context->sequences[i]);
            return true;
        case GGS_MEMORY_KEEP:
            context->removed++;
            context->removed_cells += context->changed_cells;
            for (size_t i = 0; i < context->n_sequences; i++)
                if (context->sequences[i].number != change->sequence) empty(s, &context->sequences[i]);
            return true;
        case GGS_MEMORY_COPY:
            context->copied++;
            context->copied_cells += context->changed_cells;
            return copy(s, context, change->sequence, change->other, from, to);
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
    for (size_t i = 0; good && i < context->n_sequences; i++) {
        struct ggs_sequence * q = &context->sequences[i];
        if (!all && q->number != change->sequence) continue;
        good = change->kind == GGS_MEMORY_REMOVE
                   ? remove_part(s, q, from, to)
                   : move_cells(q, from, to, change->delta, change->kind == GGS_MEMORY_DIVIDE);
    }
    return good;
}

// ---- drafts ----

static uint64_t hash_of(const struct ggs_sequence_batch * batch) {
    uint64_t h = 14695981039346656037u;
    for (uint64_t i = 0; i < batch->n; i++) {
        h = (h ^ (uint64_t) batch->token[i]) * 1099511628211u;
        h = (h ^ (uint64_t) batch->position[i]) * 1099511628211u;
        h = (h ^ (uint64_t) batch->sequence[i]) * 1099511628211u;
    }
    return h | 1; // 0: no batch
}

static bool repeats(const struct ggs_sequence_context * target, uint64_t hash) {
    for (unsigned i = 0; i < GGS_RECENT_BATCHES; i++)
        if (target->recent[i] == hash) return true;
    return false;
}

// Was the token fed after the batch of that number?
static bool fed(const struct ggs_sequence * q, int64_t position, int64_t token, uint64_t after) {
    const struct ggs_recent * recent = &q->recent[(uint64_t) position % GGS_RECENT_TOKENS];
    return recent->position == position && recent->token == token && recent->mark > after;
}

// Did another context feed all but the last of these tokens since this one's newest batch? Then it made the drafts.
static void find_draft(struct ggs_sequences * s, struct ggs_sequence_context * context, const struct ggs_sequence * q,
                       const struct ggs_sequence_batch * batch) {
    for (size_t c = 0; s->n_contexts <= DRAFT_CONTEXTS && c < s->n_contexts; c++) {
        struct ggs_sequence_context * other = s->contexts[c];
        if (other->newest <= context->newest) continue; // it fed nothing since
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

// Adds up what the batch has for each of its sequences. False when out of memory.
static bool gather(struct ggs_sequences * s, struct ggs_sequence_context * context,
                   const struct ggs_sequence_batch * batch) {
    uint64_t mark = ++s->marks;
    for (uint64_t i = 0; i < batch->n; i++) {
        struct ggs_sequence * q = get_sequence(context, batch->sequence[i]);
        if (q == NULL) {
            if (context->n_sequences >= SEQUENCES_MAX) continue;
            return false;
        }
        int64_t position = batch->position[i] < 0              ? 0
                           : batch->position[i] > POSITION_MAX ? POSITION_MAX
                                                               : batch->position[i];
        if (q->mark != mark) {
            q->mark   = mark;
            q->tokens = q->outputs = 0;
            q->first               = position;
        }
        q->tokens++;
        q->outputs += batch->output[i] != 0;
        q->last        = position;
        q->last_output = batch->output[i] != 0;
    }
    return true;
}

// Positions tell what a VERIFY batch left, and of changes that were not seen. True if there were such.
static bool catch_up(struct ggs_sequences * s, struct ggs_sequence * q) {
    int64_t last = last_of(q);
    bool    back = q->first <= last;
    if (q->verify.tokens > 0) {
        int64_t kept = q->first - q->verify.first;
        bool    fits = kept >= 1 && kept <= (int64_t) q->verify.tokens;
        settle(s, q, fits ? kept : -1);
        if (fits && back) remove_cells(q, q->first, INT64_MAX);
        if (fits) return back;
    }
    if (back) {
        remove_cells(q, q->first, INT64_MAX);
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
    const struct ggs_sequence * other = find_sequence(target, q->number);
    struct part_rules           rules = {q->request == 0 && !q->forked, GGS_PHASE_PROMPT};
    if (repeated) {
        bool same   = other != NULL && other->newest == q->first && other->phase != GGS_PHASE_WARMUP;
        rules.phase = same ? other->phase : GGS_PHASE_PROMPT;
        if (same) rules.begins = other->began || q->request == 0;
        return rules;
    }
    if (rules.begins || target->phase == GGS_PHASE_PROMPT) {
        bool goes_on = q->tokens == 1 && q->output && !q->cut && !rules.begins;
        if (goes_on) return (struct part_rules){false, GGS_PHASE_GENERATE};
        if (!q->cut && !q->output && q->request != 0) return rules; // the prompt goes on
        rules.begins = true;
        return rules;
    }
    rules.phase = q->tokens == 1 ? GGS_PHASE_GENERATE : GGS_PHASE_VERIFY;
    return rules;
}

static struct part_rules rules_of(const struct ggs_sequence_context * context, const struct ggs_sequence * q,
                                  bool gaps) {
    struct part_rules prompt = {true, GGS_PHASE_PROMPT};
    if (context->no_memory || (q->first == 0 && !q->encoded)) return prompt;
    if (q->encoded) return (struct part_rules){false, GGS_PHASE_PROMPT};
    bool follows = q->first == last_of(q) + 1 && !q->cut;
    if (gaps && !follows && !q->cut && !q->forked && q->tokens == 1 && q->last_output && q->first > last_of(q))
        return (struct part_rules){q->request == 0, GGS_PHASE_GENERATE};
    if (follows && q->output && (q->request != 0 || q->forked)) {
        if (q->tokens == 1) return (struct part_rules){q->request == 0, GGS_PHASE_GENERATE};
        if (q->outputs == q->tokens && !(q->scored && !q->generates))
            return (struct part_rules){q->request == 0, GGS_PHASE_VERIFY};
    }
    if (q->request == 0 || q->cut || q->generates || q->first <= last_of(q)) return prompt;
    return (struct part_rules){false, GGS_PHASE_PROMPT}; // it goes on
}

// How many tokens are sampled from what the batch gives of the sequence, as far as is known now.
static uint64_t sampled_from(struct ggs_sequence * q, const struct ggs_sequence_batch * batch,
                             struct ggs_sequence_part * part, bool repeated) {
    if (repeated || batch->encode || part->phase == GGS_PHASE_WARMUP) return 0;
    if (part->phase != GGS_PHASE_PROMPT || part->draft) {
        uint64_t owed = q->owed || (part->begins && q->forked && part->phase != GGS_PHASE_PROMPT);
        q->owed       = false;
        return owed + (q->outputs > 0);
    }
    if (batch->embeddings || q->outputs > 1) {
        part->embedding = batch->embeddings;
        part->scored = q->scored = q->outputs > 1;
        q->owed                  = !q->sampled && q->last_output;
        return 0;
    }
    if (q->owed || q->sampled || !q->last_output) return 0;
    q->sampled = true;
    return 1;
}

static void keep_recent(struct ggs_sequence * q, const struct ggs_sequence_batch * batch, uint64_t i) {
    if (batch->position[i] < 0) return;
    q->recent[(uint64_t) batch->position[i] % GGS_RECENT_TOKENS] =
        (struct ggs_recent){batch->position[i], batch->token[i], q->mark};
}

static bool settle_part(struct ggs_sequences * s, struct ggs_sequence_context * context, struct ggs_sequence * q,
                        const struct ggs_sequence_batch * batch, bool repeated) {
    struct ggs_sequence_context * target = target_of(s, context);
    struct ggs_sequence_part      part   = {.context   = context->number,
                                            .sequence  = q->number,
                                            .tokens    = q->tokens,
                                            .outputs   = q->outputs,
                                            .first     = q->first,
                                            .draft     = target != NULL,
                                            .embedding = context->no_memory};
    struct part_rules             rules  = {true, GGS_PHASE_WARMUP};
    if (!batch->encode && !context->no_memory) part.unseen = catch_up(s, q) && !repeated;
    if (batch->encode)
        rules = (struct part_rules){!q->encoded, GGS_PHASE_PROMPT};
    else if (!batch->warmup)
        rules = target != NULL ? rules_of_draft(target, q, repeated) : rules_of(context, q, s->gaps);
    if (batch->encode && batch->warmup) rules.phase = GGS_PHASE_WARMUP;
    if (rules.phase == GGS_PHASE_VERIFY && target == NULL) find_draft(s, context, q, batch);
    if (rules.begins) {
        bool forked = q->forked, output = q->output;
        end_request(s, q);
        q->forked  = forked;
        q->output  = output;
        q->sampled = q->scored = false;
        q->request             = ++s->requests;
        part.begins            = true;
        part.again             = q->requests++ > 0;
        part.cached            = q->first > 0 && !batch->encode ? (uint64_t) q->first : 0;
    }
    part.request   = q->request;
    part.phase     = rules.phase;
    part.generated = context->no_memory ? 0 : sampled_from(q, batch, &part, repeated);
    if (part.unseen) context->unseen = true;
    q->phase = rules.phase, q->began = rules.begins, q->newest = q->first;
    q->cut = q->forked = false;
    q->encoded         = batch->encode;
    q->output          = target != NULL || (q->last_output && !batch->encode);
    if (rules.phase != GGS_PHASE_PROMPT) q->generates = true;
    if (rules.phase == GGS_PHASE_VERIFY && target == NULL)
        q->verify = (struct ggs_verify){q->request,    context->number, q->number, batch->step,
                                        batch->decode, q->first,        q->tokens};
    if (!batch->encode && !context->no_memory && q->last >= q->first) {
        if (q->n_cells == 0 || q->life == 0) q->life = ++s->lives;
        struct ggs_cells cells = {q->first, q->last + 1, q->life, q->first};
        if (!remove_cells(q, q->first, q->last + 1) || !insert_cells(q, cells)) return false;
    }
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
    if (context == NULL) return s->n_contexts >= CONTEXTS_MAX;
    if (!gather(s, context, batch)) return false;
    uint64_t                      hash     = hash_of(batch);
    struct ggs_sequence_context * target   = target_of(s, context);
    bool                          repeated = target != NULL && !batch->warmup && repeats(target, hash);
    // In the order in which the sequences appear; a mark that is settled is taken away.
    for (uint64_t i = 0; i < batch->n; i++) {
        struct ggs_sequence * q = find_sequence(context, batch->sequence[i]);
        if (q == NULL) continue;
        if (q->tokens > 0) {
            if (!settle_part(s, context, q, batch, repeated)) return false;
            *phase    = both(*phase, q->phase);
            q->tokens = 0;
        }
        keep_recent(q, batch, i);
    }
    context->recent[context->batches++ % GGS_RECENT_BATCHES] = hash;
    context->phase                                           = *phase;
    context->newest                                          = s->marks;
    return true;
}

void ggs_sequences_finish(struct ggs_sequences * s) {
    for (size_t i = 0; i < s->n_contexts; i++)
        for (size_t k = 0; k < s->contexts[i]->n_sequences; k++) settle(s, &s->contexts[i]->sequences[k], -1);
}
