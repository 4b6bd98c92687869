// Merges the tokens of a trace and the changes of its memory in order of time, by context.
#include <stdlib.h>
#include <string.h>

#include "analyze/requests/cell-numbers.h"
#include "analyze/requests/requests.h"
#include "base/array.h"
#include "base/error.h"

struct call {
    uint64_t decode;
    int64_t  begin_ns, end_ns, step;
    uint64_t tokens;
    bool     encode, embeddings, verify;
};

struct walk {
    struct ggs_trace *                 trace;
    const struct ggs_request_visitor * visitor;
    struct ggs_sequences               sequences;
    struct call *                      calls; // by decode
    uint64_t                           n_calls, calls_capacity;
    struct ggs_memory_change *         changes; // by context, then in order
    uint64_t                           n_changes, changes_capacity;
    struct place {
        uint64_t next, end; // of `changes`
    } * places;
    struct ggs_map place_of; // context -> index + 1
    uint64_t       n_places, places_capacity;
    // of a step
    struct ggs_token * tokens;
    uint64_t           tokens_capacity;
    int64_t *          token, *position, *sequence;
    uint8_t *          output, *read;
    uint64_t           arrays_capacity;
};

static void release(struct walk * walk) {
    ggs_sequences_release(&walk->sequences);
    ggs_map_release(&walk->place_of);
    free(walk->calls);
    free(walk->changes);
    free(walk->places);
    free(walk->tokens);
    free(walk->token);
    free(walk->position);
    free(walk->sequence);
    free(walk->output);
    free(walk->read);
}

// ---- reading ----

static int by_decode(const void * a, const void * b) {
    const struct call *x = a, *y = b;
    return x->decode < y->decode ? -1 : x->decode > y->decode;
}

static int read_calls(struct walk * walk, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_decode   row;
    int                 status = ggs_cursor_open(&cursor, walk->trace->reader, GGS_TABLE_DECODES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct call call = {.decode     = row.decode,
                            .begin_ns   = row.begin_ns,
                            .end_ns     = row.end_ns,
                            .step       = row.step,
                            .tokens     = row.tokens,
                            .encode     = row.encode != 0,
                            .embeddings = row.embeddings != 0,
                            .verify     = row.verify != 0};
        if (!ggs_array_push(walk->calls, walk->n_calls, walk->calls_capacity, call)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    if (status == 0 && walk->n_calls > 0) qsort(walk->calls, walk->n_calls, sizeof(*walk->calls), by_decode);
    return status;
}

static const struct call * find_call(const struct walk * walk, uint64_t decode) {
    struct call key = {.decode = decode};
    return decode == 0 || walk->n_calls == 0
               ? NULL
               : bsearch(&key, walk->calls, walk->n_calls, sizeof(*walk->calls), by_decode);
}

static int by_context(const void * a, const void * b) {
    const struct ggs_memory_change *x = a, *y = b;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step; // `step` is the row number here
}

static int read_changes(struct walk * walk, struct ggs_error * error) {
    struct ggs_cursor *      cursor;
    struct ggs_memory_change row;
    int                      status = ggs_cursor_open(&cursor, walk->trace->reader, GGS_TABLE_MEMORY_CHANGES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        row.step = (int64_t) walk->n_changes;
        if (!ggs_array_push(walk->changes, walk->n_changes, walk->changes_capacity, row))
            status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    if (status < 0) return status;
    if (walk->n_changes > 0) qsort(walk->changes, walk->n_changes, sizeof(*walk->changes), by_context);
    for (uint64_t i = 0; i < walk->n_changes; i++) {
        if (i == 0 || walk->changes[i].context != walk->changes[i - 1].context) {
            uint64_t * index = ggs_map_put(&walk->place_of, ggs_map_key_number(walk->changes[i].context));
            if (index == NULL ||
                !ggs_array_push(walk->places, walk->n_places, walk->places_capacity, (struct place){i, i}))
                return ggs_fail_memory(error);
            *index = walk->n_places;
        }
        walk->places[walk->n_places - 1].end = i + 1;
    }
    return 0;
}

// If sequences were copied, it matters whether both share the cells.
static int read_streams(struct walk * walk, struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < walk->n_places; i++) {
        uint64_t at = i == 0 ? 0 : walk->places[i - 1].end, streams = 0;
        while (at < walk->places[i].end && walk->changes[at].kind != GGS_MEMORY_COPY) at++;
        if (at == walk->places[i].end) continue;
        status = ggs_cell_streams(walk->trace, walk->changes[at].context, &streams, error);
        struct ggs_sequence_context * context = ggs_sequences_context(&walk->sequences, walk->changes[at].context);
        if (context != NULL) context->apart = streams > 1;
    }
    return status;
}

// Reads whether recording was paused.
static int read_windows(struct walk * walk, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_window   row;
    int                 status = ggs_cursor_open(&cursor, walk->trace->reader, GGS_TABLE_WINDOWS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0)
        walk->sequences.gaps |= row.kind == GGS_WINDOW_RECORDED && (row.begin_ns > 0 || row.end_ns >= 0);
    ggs_cursor_close(cursor);
    return status;
}

// Reads from the trace which contexts draft. True if any does.
static int read_contexts(struct walk * walk, bool * drafts, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_context  row;
    int                 status = ggs_cursor_open(&cursor, walk->trace->reader, GGS_TABLE_CONTEXTS, error);
    *drafts                    = false;
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_sequence_context * context = ggs_sequences_context(&walk->sequences, row.context);
        if (context == NULL) continue;
        context->no_memory   = row.model != 0 && row.memory == 0;
        context->reads_known = row.read != GGS_READ_NOT_KNOWN;
        context->never_read  = row.read == GGS_READ_NEVER;
        if (row.target == 0) continue;
        *drafts = true;
        ggs_sequences_draft(&walk->sequences, row.context, row.target - 1);
    }
    ggs_cursor_close(cursor);
    if (status == 0) status = read_windows(walk, error);
    return status < 0 ? status : read_streams(walk, error);
}

// ---- walking ----

static struct ggs_request_step step_of(const struct walk * walk, const struct ggs_sequence_part * part) {
    return (struct ggs_request_step){.request   = part->request,
                                     .context   = part->context,
                                     .sequence  = part->sequence,
                                     .phase     = part->phase,
                                     .position  = part->first,
                                     .tokens    = part->tokens,
                                     .outputs   = part->outputs,
                                     .generated = part->generated,
                                     .cells     = part->cells,
                                     .part      = part,
                                     .sequences = &walk->sequences};
}

// Reports the request that a change shows, in the decode that computed what it was sampled from.
static int report_sample(struct walk * walk, struct ggs_error * error) {
    const struct ggs_sequence_part * part = &walk->sequences.sample;
    const struct call *              call = part->request == 0 ? NULL : find_call(walk, part->computed);
    struct ggs_request_step          seen = step_of(walk, part);
    if (part->request == 0 || walk->visitor == NULL) return 0;
    seen.step         = call != NULL ? call->step : -1;
    seen.decode       = part->computed;
    seen.batch_tokens = call != NULL ? call->tokens : 0;
    seen.begin_ns     = call != NULL ? call->begin_ns : 0;
    seen.end_ns       = call != NULL && call->end_ns > call->begin_ns ? call->end_ns : seen.begin_ns;
    return walk->visitor->step(walk->visitor->owner, &seen, error);
}

// Applies changes of the context before the decode; if its call was not seen, before the time.
static int change_until(struct walk * walk, uint64_t context, uint64_t decode, int64_t ns, struct ggs_error * error) {
    uint64_t index  = ggs_map_get(&walk->place_of, ggs_map_key_number(context));
    int      status = 0;
    if (index == 0) return 0;
    struct place * place = &walk->places[index - 1];
    for (; status == 0 && place->next < place->end; place->next++) {
        const struct ggs_memory_change * change = &walk->changes[place->next];
        if (decode != 0 ? change->decode >= decode : change->begin_ns > ns) break;
        if (!ggs_sequences_change(&walk->sequences, change)) return ggs_fail_memory(error);
        if (walk->visitor != NULL && walk->visitor->change != NULL)
            status = walk->visitor->change(walk->visitor->owner, change, &walk->sequences, error);
        if (status == 0) status = report_sample(walk, error);
    }
    return status;
}

static int feed(struct walk * walk, const struct ggs_step * step, const struct ggs_token * tokens, uint64_t n,
                bool last, struct ggs_error * error) {
    const struct call *                 call    = find_call(walk, tokens[0].decode);
    const struct ggs_sequence_context * context = ggs_sequences_context(&walk->sequences, step->context);
    for (uint64_t i = 0; i < n; i++) {
        walk->token[i]    = tokens[i].token;
        walk->position[i] = tokens[i].position;
        walk->sequence[i] = tokens[i].sequence;
        walk->output[i]   = tokens[i].output != 0;
        walk->read[i]     = tokens[i].read <= GGS_READ_BY_PROGRAM ? (uint8_t) tokens[i].read : GGS_READ_NOT_KNOWN;
    }
    struct ggs_sequence_batch batch = {.decode      = tokens[0].decode,
                                       .step        = step->step,
                                       .encode      = call != NULL && call->encode,
                                       .embeddings  = call != NULL && call->embeddings,
                                       .verify      = call != NULL && call->verify,
                                       .reads_known = context != NULL && context->reads_known,
                                       .warmup      = step->phase == GGS_PHASE_WARMUP,
                                       .n           = n,
                                       .token       = walk->token,
                                       .position    = walk->position,
                                       .sequence    = walk->sequence,
                                       .output      = walk->output,
                                       .read        = walk->read};
    enum ggs_phase            phase;
    int                       status = change_until(walk, step->context, batch.decode, step->begin_ns, error);
    if (status == 0 && !ggs_sequences_batch(&walk->sequences, step->context, &batch, &phase))
        status = ggs_fail_memory(error);
    for (size_t i = 0; walk->visitor != NULL && status == 0 && i < walk->sequences.n_parts; i++) {
        struct ggs_request_step seen = step_of(walk, &walk->sequences.parts[i]);
        seen.step                    = step->step;
        seen.decode                  = batch.decode;
        seen.batch_tokens            = n;
        seen.begin_ns                = call != NULL ? call->begin_ns : step->begin_ns;
        seen.end_ns                  = call != NULL ? call->end_ns : step->end_ns;
        seen.batch                   = &batch;
        // Results of a device arrive after the call.
        if (last && step->end_ns > seen.end_ns) seen.end_ns = step->end_ns;
        if (seen.end_ns < seen.begin_ns) seen.end_ns = seen.begin_ns;
        status = walk->visitor->step(walk->visitor->owner, &seen, error);
    }
    return status;
}

static bool reserve(struct walk * walk, uint64_t n) {
    uint64_t c = walk->arrays_capacity, capacity[] = {c, c, c, c, c};
    bool good = ggs_array_reserve(walk->token, capacity[0], n) && ggs_array_reserve(walk->position, capacity[1], n) &&
                ggs_array_reserve(walk->sequence, capacity[2], n) && ggs_array_reserve(walk->output, capacity[3], n) &&
                ggs_array_reserve(walk->read, capacity[4], n);
    if (good) walk->arrays_capacity = n;
    for (unsigned i = 0; good && i < sizeof(capacity) / sizeof(capacity[0]); i++)
        if (capacity[i] < walk->arrays_capacity) walk->arrays_capacity = capacity[i];
    return good;
}

static int walk_steps(struct walk * walk, struct ggs_error * error) {
    struct ggs_cursor *steps = NULL, *tokens = NULL;
    struct ggs_step    step;
    int                status = ggs_cursor_open(&steps, walk->trace->reader, GGS_TABLE_STEPS, error);
    if (status == 0) status = ggs_cursor_open(&tokens, walk->trace->reader, GGS_TABLE_TOKENS, error);
    while (status >= 0 && (status = ggs_cursor_next(steps, &step, error)) > 0) {
        uint64_t         n = 0;
        struct ggs_token token;
        while (n < step.tokens && (status = ggs_cursor_next(tokens, &token, error)) > 0)
            if (!ggs_array_push(walk->tokens, n, walk->tokens_capacity, token)) status = ggs_fail_memory(error);
        if (status < 0 || (n > 0 && !reserve(walk, n))) {
            if (status >= 0) status = ggs_fail_memory(error);
            break;
        }
        status = 0;
        for (uint64_t from = 0, to; status == 0 && from < n; from = to) {
            for (to = from + 1; to < n && walk->tokens[to].decode == walk->tokens[from].decode;) to++;
            status = feed(walk, &step, walk->tokens + from, to - from, to == n, error);
        }
        if (status < 0) break;
    }
    ggs_cursor_close(tokens);
    ggs_cursor_close(steps);
    for (size_t i = 0; status == 0 && i < walk->sequences.n_contexts; i++)
        status = change_until(walk, walk->sequences.contexts[i]->number, UINT64_MAX, INT64_MAX, error);
    return status;
}

// If the trace does not state which contexts draft, a first walk finds them.
static int find_drafts(struct walk * walk, struct ggs_error * error) {
    struct ggs_sequences               found   = {0};
    const struct ggs_request_visitor * visitor = walk->visitor;
    bool                               ignored;
    walk->visitor = NULL;
    int status    = walk_steps(walk, error);
    walk->visitor = visitor;
    found         = walk->sequences;
    memset(&walk->sequences, 0, sizeof(walk->sequences));
    for (uint64_t i = 0; i < walk->n_places; i++) walk->places[i].next = i == 0 ? 0 : walk->places[i - 1].end;
    if (status == 0) status = read_contexts(walk, &ignored, error);
    for (size_t i = 0; status == 0 && i < found.n_contexts; i++)
        if (found.contexts[i]->found != 0 &&
            !ggs_sequences_draft(&walk->sequences, found.contexts[i]->number, found.contexts[i]->found - 1))
            status = ggs_fail_memory(error);
    ggs_sequences_release(&found);
    return status;
}

int ggs_requests_walk(struct ggs_trace * trace, const struct ggs_request_visitor * visitor, struct ggs_error * error) {
    struct walk walk = {.trace = trace, .visitor = visitor};
    bool        drafts;
    int         status = read_calls(&walk, error);
    if (status == 0) status = read_changes(&walk, error);
    if (status == 0) status = read_contexts(&walk, &drafts, error);
    if (status == 0 && !drafts && ggs_reader_rows(trace->reader, GGS_TABLE_CONTEXTS) > 1)
        status = find_drafts(&walk, error);
    walk.sequences.settle = visitor->settle;
    walk.sequences.owner  = visitor->owner;
    if (status == 0) status = walk_steps(&walk, error);
    if (status == 0) ggs_sequences_finish(&walk.sequences);
    if (status == 0 && visitor->end != NULL) status = visitor->end(visitor->owner, &walk.sequences, error);
    release(&walk);
    return status;
}
