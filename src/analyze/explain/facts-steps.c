// Facts from token steps, their tokens and requests.
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/facts.h"
#include "analyze/machine/off-cpu.h"
#include "analyze/requests/requests.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"
#include "base/quantiles.h"

// ---- steps ----

struct step {
    uint64_t phase, ns, run_ns;
};

struct steps {
    struct step *        step; // by number
    uint64_t             n, capacity;
    struct ggs_quantiles whole[2], outside[2], before[2], device;
    uint64_t             first_device_ns;
    uint64_t             sum_ns, union_ns; // of all steps; of the time in which there is one
    int64_t              covered_ns;       // end of that, so far
    // Times in which other programs had the CPU of a thread, and the thread that decodes.
    struct ggs_off_cpu_spans taken;
    uint64_t                 process, os_thread; // process: + 1, 0 for none yet
};

struct ggs_phase_facts * ggs_explain_facts_phase(struct ggs_explain_facts * facts, uint64_t phase) {
    if (phase == GGS_PHASE_PROMPT) return &facts->prompt;
    bool generates = phase == GGS_PHASE_GENERATE || phase == GGS_PHASE_MIXED || phase == GGS_PHASE_VERIFY;
    return generates || (facts->graphs && phase == GGS_PHASE_GRAPH) ? &facts->generate : NULL;
}

int ggs_explain_facts_tokens(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     row;
    uint64_t            tokens = 0, graphs = 0;
    int                 more, status       = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &row, error)) > 0) {
        graphs += row.phase == GGS_PHASE_GRAPH;
        tokens += row.phase != GGS_PHASE_GRAPH;
    }
    ggs_cursor_close(cursor);
    facts->graphs = graphs > 0 && tokens == 0;
    return more;
}

// True if the context drafts for another: its steps are not tokens.
static bool is_draft(struct ggs_trace * trace, uint64_t context) {
    struct ggs_context row;
    return context < ggs_reader_rows(trace->reader, GGS_TABLE_CONTEXTS) &&
           ggs_reader_row(trace->reader, GGS_TABLE_CONTEXTS, context, &row, NULL) == 0 && row.target != 0;
}

static int read_taken(struct steps * steps, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_off_cpu_spans * taken  = &steps->taken;
    int                        status = ggs_off_cpu_spans_read(taken, trace, 0, INT64_MAX, error);
    uint64_t                   n      = 0;
    for (uint64_t i = 0; i < taken->n; i++)
        if (taken->span[i].kind == GGS_OFF_CPU_PREEMPTED && taken->span[i].other != GGS_OTHER_OWN)
            taken->span[n++] = taken->span[i];
    taken->n = n;
    return status;
}

// The time from the end of the last step to this one, less what other programs took of it.
static uint64_t time_before(struct steps * steps, struct ggs_trace * trace, const struct ggs_step * row,
                            int64_t end_ns) {
    struct ggs_run run;
    uint64_t       gap = ggs_time_between(end_ns, row->begin_ns);
    if (steps->taken.n == 0 || row->first_run == 0) return gap;
    if (steps->process != row->process + 1) {
        if (ggs_reader_row(trace->reader, GGS_TABLE_RUNS, row->first_run - 1, &run, NULL) != 0) return gap;
        steps->process   = row->process + 1;
        steps->os_thread = run.os_thread;
    }
    uint64_t taken = ggs_off_cpu_spans_within(&steps->taken, row->process, steps->os_thread, end_ns, row->begin_ns);
    return gap > taken ? gap - taken : 0;
}

static bool add_step(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct steps * steps,
                     const struct ggs_step * row, int64_t * end_ns) {
    struct ggs_phase_facts * phase = ggs_explain_facts_phase(facts, row->phase);
    if (row->step < 0 || row->step > 1 << 28) return true;
    uint64_t at = (uint64_t) row->step, ns = ggs_time_between(row->begin_ns, row->end_ns);
    if (!ggs_array_reserve(steps->step, steps->capacity, at + 1)) return false;
    for (; steps->n <= at; steps->n++) steps->step[steps->n] = (struct step){0};
    if (phase == NULL || is_draft(trace, row->context)) return true;
    steps->step[at] = (struct step){.phase = row->phase, .ns = ns};
    phase->steps++;
    phase->tokens += row->tokens;
    phase->runs += row->runs;
    phase->decodes += row->decodes;
    phase->ns += ns;
    int64_t from = row->begin_ns > steps->covered_ns ? row->begin_ns : steps->covered_ns;
    steps->sum_ns += ns;
    steps->union_ns += row->end_ns > from ? ggs_time_between(from, row->end_ns) : 0;
    if (row->end_ns > steps->covered_ns) steps->covered_ns = row->end_ns;
    unsigned which = phase == &facts->generate;
    bool     fine  = ggs_quantiles_add(&steps->whole[which], ns, 1);
    if (*end_ns >= 0) fine &= ggs_quantiles_add(&steps->before[which], time_before(steps, trace, row, *end_ns), 1);
    *end_ns = row->end_ns;
    return fine;
}

static int read_steps(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct steps * steps,
                      struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     row;
    int64_t             end_ns = -1;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &row, error)) > 0)
        if (!add_step(facts, trace, steps, &row, &end_ns)) more = -1, status = ggs_fail_memory(error);
    ggs_cursor_close(cursor);
    facts->at_once = steps->union_ns > 0 ? (double) steps->sum_ns / (double) steps->union_ns : 0;
    return status < 0 ? status : more;
}

static int read_runs(struct ggs_trace * trace, struct steps * steps, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      row;
    bool                fine = true;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &row, error)) > 0) {
        uint64_t ns = ggs_time_between(row.begin_ns, row.end_ns);
        if (ggs_trace_is_device(trace, row.device)) {
            if (steps->first_device_ns == 0) steps->first_device_ns = ns;
            if (row.phase != GGS_PHASE_PROMPT) fine &= ggs_quantiles_add(&steps->device, ns, 1);
        }
        if (row.step >= 0 && (uint64_t) row.step < steps->n) steps->step[row.step].run_ns += ns;
    }
    ggs_cursor_close(cursor);
    return more < 0 ? more : fine ? 0 : ggs_fail_memory(error);
}

static void set_medians(struct ggs_phase_facts * phase, struct steps * steps, unsigned which) {
    phase->step_ns    = ggs_quantiles_at(&steps->whole[which], 50);
    phase->outside_ns = ggs_quantiles_at(&steps->outside[which], 50);
    phase->before_ns  = ggs_quantiles_at(&steps->before[which], 50);
    ggs_quantiles_release(&steps->whole[which]);
    ggs_quantiles_release(&steps->outside[which]);
    ggs_quantiles_release(&steps->before[which]);
}

// ---- shifts ----

// A shift is computed with the decode after it: its step takes longer than others.
static int read_shifts(struct ggs_explain_facts * facts, struct ggs_trace * trace, const struct steps * steps,
                       uint64_t usual_ns, struct ggs_error * error) {
    struct ggs_cursor *      cursor;
    struct ggs_memory_change row;
    int64_t                  last = -1;
    int                      more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_MEMORY_CHANGES, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &row, error)) > 0) {
        uint64_t after = (uint64_t) row.step + 1;
        if (row.kind != GGS_MEMORY_ADD || row.delta == 0 || row.step < 0 || row.step == last) continue;
        last = row.step;
        facts->shifts++;
        if (after < steps->n && steps->step[after].phase == GGS_PHASE_GENERATE && steps->step[after].ns > usual_ns)
            facts->shift_ns += steps->step[after].ns - usual_ns;
    }
    ggs_cursor_close(cursor);
    return more;
}

// ---- tokens ----

enum { SEQUENCES = 64, POSITIONS = 1 << 20 };

// The tokens of a sequence by position, and the prompt that is being fed.
struct sequence {
    int64_t * token;
    uint64_t  capacity, n;
    uint64_t  same, fed, first; // of the prompt: known tokens, all tokens, first difference
    int64_t   next;             // position after its last token
};

struct texts {
    struct sequence            sequence[SEQUENCES];
    struct ggs_explain_facts * facts;
};

enum { AGAIN_LEAST = 32 };

// Ends a prompt: counts it if most of it was known.
static void settle(struct ggs_explain_facts * facts, struct sequence * s) {
    if (s->same > AGAIN_LEAST && 2 * s->same > s->fed) {
        if (facts->requests_again++ == 0) facts->first_difference = s->first;
        facts->prompt_again += s->same;
        facts->prompt_of += s->fed;
    }
    s->same = s->fed = 0;
    s->first         = UINT64_MAX;
}

static bool add_token(struct texts * texts, const struct ggs_token * row, uint64_t phase) {
    if (row->sequence < 0 || row->sequence >= SEQUENCES || row->position < 0 || row->position >= POSITIONS) return true;
    struct sequence * s         = &texts->sequence[row->sequence];
    uint64_t          at        = (uint64_t) row->position;
    bool              is_prompt = phase == GGS_PHASE_PROMPT;
    if (!is_prompt || row->position < s->next) settle(texts->facts, s);
    if (!ggs_array_reserve(s->token, s->capacity, at + 1)) return false;
    for (; s->n <= at; s->n++) s->token[s->n] = -1;
    if (is_prompt) {
        bool same = s->token[at] == row->token && row->token >= 0;
        s->fed++;
        s->same += same;
        if (!same && s->first == UINT64_MAX) s->first = at;
    }
    s->token[at] = row->token;
    s->next      = row->position + 1;
    return true;
}

static int read_tokens(struct ggs_explain_facts * facts, struct ggs_trace * trace, const struct steps * steps,
                       struct ggs_error * error) {
    struct texts *      texts = calloc(1, sizeof(*texts));
    struct ggs_cursor * cursor;
    struct ggs_token    row;
    if (texts == NULL) return ggs_fail_memory(error);
    texts->facts = facts;
    for (unsigned i = 0; i < SEQUENCES; i++) texts->sequence[i].first = UINT64_MAX;
    int more = 0, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TOKENS, error);
    while (status == 0 && (more = ggs_cursor_next(cursor, &row, error)) > 0) {
        uint64_t phase = row.step >= 0 && (uint64_t) row.step < steps->n ? steps->step[row.step].phase : 0;
        struct ggs_phase_facts * sums = ggs_explain_facts_phase(facts, phase);
        if (sums == NULL) continue;
        sums->outputs += row.output != 0;
        sums->unread += row.output != 0 && row.read == GGS_READ_NEVER;
        if (!add_token(texts, &row, phase)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    for (unsigned i = 0; i < SEQUENCES; i++) {
        settle(facts, &texts->sequence[i]);
        facts->positions += texts->sequence[i].n;
        if (texts->sequence[i].n > facts->positions_each) facts->positions_each = texts->sequence[i].n;
        free(texts->sequence[i].token);
    }
    free(texts);
    return status < 0 ? status : more;
}

// ---- interface ----

int ggs_explain_facts_steps(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    struct steps steps  = {0};
    bool         fine   = true;
    int          status = read_taken(&steps, trace, error);
    if (status >= 0) status = read_steps(facts, trace, &steps, error);
    if (status == 0) status = read_runs(trace, &steps, error);
    if (status == 0) status = read_tokens(facts, trace, &steps, error);
    for (uint64_t i = 0; status == 0 && i < steps.n; i++) {
        const struct step * step = &steps.step[i];
        if (ggs_explain_facts_phase(facts, step->phase) == NULL) continue;
        fine &= ggs_quantiles_add(&steps.outside[ggs_explain_facts_phase(facts, step->phase) == &facts->generate],
                                  step->ns > step->run_ns ? step->ns - step->run_ns : 0, 1);
    }
    if (status == 0 && !fine) status = ggs_fail_memory(error);
    set_medians(&facts->prompt, &steps, 0);
    set_medians(&facts->generate, &steps, 1);
    if (status == 0) status = read_shifts(facts, trace, &steps, facts->generate.step_ns, error);
    facts->device.first_run_ns  = steps.first_device_ns;
    facts->device.median_run_ns = ggs_quantiles_at(&steps.device, 50);
    ggs_quantiles_release(&steps.device);
    ggs_off_cpu_spans_release(&steps.taken);
    free(steps.step);
    return status;
}

// ---- requests ----

enum { AT_ONCE_NS = 3000000, AT_ONCE_PART = 8 };

// True if a request waited for the one before it: it begins within 3 ms of its end, or within an
// eighth of its duration, because a busy server answers the first client meanwhile.
static bool is_right_after(const struct ggs_request * r, const struct ggs_request * before) {
    uint64_t gap = ggs_time_between(before->end_ns, r->begin_ns);
    return r->begin_ns >= before->end_ns &&
           (gap < AT_ONCE_NS || gap < ggs_time_between(before->begin_ns, before->end_ns) / AT_ONCE_PART);
}

int ggs_explain_facts_requests(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_requests requests;
    bool                seen[SEQUENCES] = {0};
    int                 status          = ggs_requests_list(&requests, trace, false, error);

    const struct ggs_request * before = NULL;
    if (status < 0) return status;
    for (uint64_t i = 0; i < requests.n; i++) {
        const struct ggs_request * r   = &requests.request[i];
        bool                       all = r->kind == GGS_REQUEST_EMBEDDING || r->kind == GGS_REQUEST_SCORING;
        facts->outputs_needed +=
            all && !r->begun_before ? (uint64_t) r->prompt_tokens : r->kind == GGS_REQUEST_COMPLETION;
        if (r->kind != GGS_REQUEST_COMPLETION || r->sequence < 0 || r->sequence >= SEQUENCES) continue;
        facts->sequences += !seen[r->sequence];
        seen[r->sequence] = true;
        if (before != NULL && before->context == r->context && is_right_after(r, before))
            facts->back_to_back += r->cached_tokens <= r->prompt_tokens; // else one chat
        before = r;
    }
    for (uint64_t i = 0; i < requests.n_contexts; i++) {
        const struct ggs_request_context * c = &requests.context[i];
        facts->contexts_drafting += c->target >= 0;
        if (c->ns_per_drafted_token < 0) continue;
        facts->ns_per_drafted = c->ns_per_drafted_token;
        facts->ns_per_plain   = c->ns_per_plain_token;
    }
    ggs_requests_release(&requests);
    return 0;
}
