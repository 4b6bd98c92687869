// Tables of contexts, requests, request_steps and memory_changes.
#include <stdlib.h>

#include "analyze/requests/requests.h"
#include "base/array.h"
#include "base/error.h"
#include "export/tables/tables.h"

// ---- contexts ----

static void context_target(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct ggs_context * context = parts[0];
    (void) export;
    cell->null    = context->target == 0;
    cell->integer = (int64_t) context->target - 1;
}

#define CONTEXT(member) GGS_MEMBER(0, struct ggs_context, member)
static const struct ggs_table_field contexts[] = {
    {"context", GGS_CELL_INTEGER, CONTEXT(context), "context, from 0"},
    {"target", GGS_CELL_INTEGER, GGS_CALL_OR_NONE(context_target), "the context that it drafts tokens for"},
    {"begin_ns", GGS_CELL_INTEGER, CONTEXT(begin_ns), "when it was made, or first seen"},
    {"process", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_context, process), "processes.process"},
};

const struct ggs_flat_table ggs_table_contexts = {
    .name        = "contexts",
    .description = "One row per context of the program.",
    .keys        = 1,
    GGS_FIELDS(contexts),
    .rows    = GGS_TABLE_CONTEXTS,
    .foreign = {{"process", "processes", NULL}},
};

// ---- requests ----

#define REQUEST(member)      GGS_MEMBER(0, struct ggs_request, member)
#define REQUEST_NONE(member) GGS_MEMBER_OR_NONE(0, struct ggs_request, member)
static const struct ggs_table_field requests[] = {
    {"request", GGS_CELL_INTEGER, REQUEST(request), "request, from 1, in the order of begins"},
    {"context", GGS_CELL_INTEGER, REQUEST(context), "contexts.context"},
    {"sequence", GGS_CELL_INTEGER, REQUEST(sequence), "sequence in its context; servers call it a slot"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_request, kind, ggs_request_kind_name),
     "completion, prompt (nothing was asked of it), embedding, scoring, draft or warmup"},
    {"begin_ns", GGS_CELL_INTEGER, REQUEST(begin_ns), "begin of its first decode"},
    {"end_ns", GGS_CELL_INTEGER, REQUEST(end_ns), "end of its last decode"},
    {"first_output_ns", GGS_CELL_INTEGER, REQUEST_NONE(first_output_ns),
     "end of the decode that gave its first output"},
    {"duration_ns", GGS_CELL_INTEGER, REQUEST(duration_ns), "begin to end"},
    {"time_to_first_ns", GGS_CELL_INTEGER, REQUEST_NONE(time_to_first_ns), "begin to first output"},
    {"ns_per_token", GGS_CELL_INTEGER, REQUEST_NONE(ns_per_token), "of generated tokens after the first"},
    {"compute_ns", GGS_CELL_INTEGER, REQUEST(compute_ns), "time of the decodes that it took part in"},
    {"wait_ns", GGS_CELL_INTEGER, REQUEST(wait_ns), "time between these decodes"},
    {"prompt_tokens", GGS_CELL_INTEGER, REQUEST(prompt_tokens), "prompt tokens that were computed"},
    {"cached_tokens", GGS_CELL_INTEGER, REQUEST(cached_tokens), "tokens before them that were in the memory already"},
    {"generated_tokens", GGS_CELL_INTEGER, REQUEST(generated_tokens), "tokens that were sampled from its outputs"},
    {"decoded_tokens", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_request, decoded_tokens),
     "generated tokens that were fed back: mostly one less, because what the last one would yield is not wanted; null "
     "in a context that drafts"},
    {"unused_tokens", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_request, unused_tokens),
     "decoded tokens whose output the program never read; null if reading was not seen"},
    {"accepted_tokens", GGS_CELL_INTEGER, REQUEST(accepted_tokens), "drafted tokens that stayed"},
    {"rejected_tokens", GGS_CELL_INTEGER, REQUEST(rejected_tokens), "drafted tokens that were taken back"},
    {"unsettled_tokens", GGS_CELL_INTEGER, REQUEST(unsettled_tokens), "drafted tokens whose fate was not seen"},
    {"steps", GGS_CELL_INTEGER, REQUEST(steps), "token steps that it took part in"},
    {"decodes", GGS_CELL_INTEGER, REQUEST(decodes), "llama_decode calls that it took part in"},
    {"cells_peak", GGS_CELL_INTEGER, REQUEST(cells_peak), "cells of the memory that its sequence had at once"},
    {"changes_seen", GGS_CELL_BOOLEAN, REQUEST(changes_seen),
     "false: positions went back, and no function that changes sequences was seen"},
};

static int produce_requests(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_requests list;
    int                 status = ggs_requests_list(&list, &sink->export->trace, false, error);
    if (status < 0) return status;
    for (uint64_t i = 0; status == 0 && i < list.n; i++)
        status = ggs_sink_put(sink, (const void *[]){&list.request[i]}, error);
    ggs_requests_release(&list);
    return status;
}

const struct ggs_flat_table ggs_table_requests = {
    .name = "requests",
    .description =
        "One row per request: what one sequence computes from its first prompt token to its last generated one.",
    .keys = 1,
    GGS_FIELDS(requests),
    .produce = produce_requests,
    .foreign = {{"context", "contexts", NULL}},
};

// ---- request_steps ----

struct step_row {
    struct ggs_request_step step;
    int64_t                 accepted, rejected; // -1: not drafted, or not known
};

#define STEP(member) GGS_MEMBER(0, struct step_row, step.member)
static const struct ggs_table_field request_steps[] = {
    {"request", GGS_CELL_INTEGER, STEP(request), "requests.request"},
    {"token", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct step_row, step.step), "token step: tokens.token"},
    {"decode", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct step_row, step.decode), "number of the llama_decode call"},
    {"phase", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct step_row, step.phase, ggs_word_phase),
     "of this request: PROMPT, GENERATE, VERIFY or WARMUP"},
    {"sequence", GGS_CELL_INTEGER, STEP(sequence), "the request's own, or one that is a branch of it"},
    {"position", GGS_CELL_INTEGER, STEP(position), "of its first token"},
    {"tokens", GGS_CELL_INTEGER, STEP(tokens), "that it fed"},
    {"outputs", GGS_CELL_INTEGER, STEP(outputs), "that it asked for"},
    {"generated_tokens", GGS_CELL_INTEGER, STEP(generated), "tokens that were sampled from them"},
    {"accepted_tokens", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct step_row, accepted),
     "drafted tokens that stayed; null if there were none, or if that was not seen"},
    {"rejected_tokens", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct step_row, rejected),
     "drafted tokens that were taken back"},
    {"batch_tokens", GGS_CELL_INTEGER, STEP(batch_tokens), "tokens of all requests in the decode"},
    {"cells", GGS_CELL_INTEGER, STEP(cells), "of the memory that its sequence has after it"},
    {"begin_ns", GGS_CELL_INTEGER, STEP(begin_ns), "begin of the decode"},
    {"end_ns", GGS_CELL_INTEGER, STEP(end_ns), "its end"},
};

// The fate of drafts is known later: such rows wait, at most one per sequence.
struct producing {
    const struct ggs_sink * sink;
    struct step_row *       waiting;
    uint64_t                n, capacity;
    int                     status;
    struct ggs_error        error;
};

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct producing * p   = owner;
    struct step_row    row = {*step, -1, -1};
    if (p->status < 0) {
        if (error != NULL) *error = p->error;
        return p->status;
    }
    if (!ggs_export_has_step(p->sink->export, step->step)) return 0;
    if (step->phase == GGS_PHASE_VERIFY && !step->part->draft)
        return ggs_array_push(p->waiting, p->n, p->capacity, row) ? 0 : ggs_fail_memory(error);
    return ggs_sink_put(p->sink, (const void *[]){&row}, error);
}

static void settle(void * owner, const struct ggs_verify * verify, const struct ggs_settled * settled) {
    struct producing * p = owner;
    for (uint64_t i = 0; p->status == 0 && i < p->n; i++) {
        struct step_row row = p->waiting[i];
        if (row.step.request != verify->request || row.step.decode != verify->decode ||
            row.step.sequence != verify->sequence)
            continue;
        row.step.generated += (uint64_t) settled->generated;
        if (settled->unsettled == 0 && settled->generated >= 0)
            row.accepted = (int64_t) settled->accepted, row.rejected = (int64_t) settled->rejected;
        p->waiting[i] = p->waiting[--p->n];
        p->status     = ggs_sink_put(p->sink, (const void *[]){&row}, &p->error);
        return;
    }
}

static int produce_request_steps(const struct ggs_sink * sink, struct ggs_error * error) {
    struct producing           p       = {.sink = sink};
    struct ggs_request_visitor visitor = {.step = add_step, .settle = settle, .owner = &p};
    int                        status  = ggs_requests_walk(&sink->export->trace, &visitor, error);
    if (status == 0 && p.status < 0) {
        if (error != NULL) *error = p.error;
        status = p.status;
    }
    free(p.waiting);
    return status;
}

const struct ggs_flat_table ggs_table_request_steps = {
    .name        = "request_steps",
    .description = "One row per request and decode that it took part in, and per branch of drafted tokens in it.",
    GGS_FIELDS(request_steps),
    .produce = produce_request_steps,
    .foreign = {{"request", "requests", NULL}, {"token", "tokens", NULL}},
};

// ---- memory_changes ----

static void change_delta(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct ggs_memory_change * change = parts[0];
    (void) export;
    cell->null    = change->kind != GGS_MEMORY_ADD && change->kind != GGS_MEMORY_DIVIDE;
    cell->integer = change->delta;
}

struct change_cells {
    int64_t n; // -1: not known
};

#define CHANGE_NONE(member) GGS_MEMBER_OR_NONE(0, struct ggs_memory_change, member)
static const struct ggs_table_field memory_changes[] = {
    {"memory_change", GGS_CELL_INTEGER, {.from = GGS_FROM_U64, .part = 1}, "number, from 0, in order of time"},
    {"context", GGS_CELL_INTEGER, GGS_MEMBER(0, struct ggs_memory_change, context), "contexts.context"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_memory_change, kind, ggs_word_memory_change),
     "clear: everything was dropped; remove, copy: cells of the sequence; keep: all but the sequence were dropped; add, divide: "
     "positions were moved"},
    {"sequence", GGS_CELL_INTEGER, CHANGE_NONE(sequence), "sequence; null for all of them"},
    {"other", GGS_CELL_INTEGER, CHANGE_NONE(other), "the sequence that has the copy"},
    {"from_position", GGS_CELL_INTEGER, CHANGE_NONE(from), "first position; null for the first there is"},
    {"to_position", GGS_CELL_INTEGER, CHANGE_NONE(to), "position behind the last; null for all that follow"},
    {"delta", GGS_CELL_INTEGER, GGS_CALL_OR_NONE(change_delta), "what was added to positions, or divided by"},
    {"begin_ns", GGS_CELL_INTEGER, GGS_MEMBER(0, struct ggs_memory_change, begin_ns), "when"},
    {"token", GGS_CELL_INTEGER, CHANGE_NONE(step), "the newest token step that had begun"},
    {"decode", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_memory_change, decode),
     "the newest llama_decode call that had begun"},
    {"cells", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(2, struct change_cells, n),
     "cells that were dropped, copied or moved, those of each sequence by themselves; null if parts of the run were "
     "not recorded"},
};

struct counts {
    struct change_cells * cells; // by row
    uint64_t              n;
};

static int count_cells(void * owner, const struct ggs_memory_change * change, const struct ggs_sequences * sequences,
                       struct ggs_error * error) {
    struct counts * counts = owner;
    uint64_t        index  = ggs_map_get(&sequences->numbers, ggs_map_key_number(change->context));
    (void) error;
    if (index != 0 && (uint64_t) change->step < counts->n)
        counts->cells[change->step].n = sequences->gaps ? -1 : (int64_t) sequences->contexts[index - 1]->changed_cells;
    return 0;
}

static int skip_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    (void) owner, (void) step, (void) error;
    return 0;
}

static int produce_memory_changes(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_trace *         trace   = &sink->export->trace;
    struct counts              counts  = {.n = ggs_reader_rows(trace->reader, GGS_TABLE_MEMORY_CHANGES)};
    struct ggs_request_visitor visitor = {.step = skip_step, .change = count_cells, .owner = &counts};
    struct ggs_cursor *        cursor  = NULL;
    struct ggs_memory_change   change;
    counts.cells = calloc(counts.n + 1, sizeof(*counts.cells));
    if (counts.cells == NULL) return ggs_fail_memory(error);
    int status = ggs_requests_walk(trace, &visitor, error);
    if (status == 0) status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_MEMORY_CHANGES, error);
    for (uint64_t row = 0; status >= 0 && (status = ggs_cursor_next(cursor, &change, error)) > 0; row++) {
        struct change_cells cells = row < counts.n ? counts.cells[row] : (struct change_cells){-1};
        status                    = ggs_sink_put(sink, (const void *[]){&change, &row, &cells}, error);
        if (status < 0) break;
    }
    ggs_cursor_close(cursor);
    free(counts.cells);
    return status;
}

const struct ggs_flat_table ggs_table_memory_changes = {
    .name        = "memory_changes",
    .description = "One row per call that removed, copied or moved sequences in a context's memory.",
    .keys        = 1,
    GGS_FIELDS(memory_changes),
    .produce = produce_memory_changes,
    .foreign = {{"context", "contexts", NULL}},
};
