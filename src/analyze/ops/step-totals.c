#include "analyze/ops/step-totals.h"

#include "analyze/requests/requests.h"
#include "analyze/requests/selection.h"
#include "analyze/walk/times.h"

// ---- tokens ----

struct counting {
    struct ggs_step_totals *     sum;
    int64_t                      first_step, last_step;
    const struct ggs_selection * selection;
};

static int count(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    const struct counting *  counting = owner;
    struct ggs_step_totals * sum      = counting->sum;
    (void) error;
    if (!ggs_selection_wants(counting->selection, step)) return 0;
    if (step->phase == GGS_PHASE_WARMUP || step->step < counting->first_step || step->step > counting->last_step)
        return 0;
    sum->requests += step->part->begins && !step->part->draft;
    if (step->part->draft) {
        sum->drafted_tokens += step->generated;
        return 0;
    }
    if (step->phase == GGS_PHASE_PROMPT)
        sum->prompt_tokens += step->tokens;
    else
        sum->decoded_tokens += step->generated;
    sum->generated_tokens += step->generated;
    return 0;
}

static void settle(void * owner, const struct ggs_verify * verify, int64_t kept) {
    const struct counting *      counting = owner;
    struct ggs_step_totals *     sum      = counting->sum;
    const struct ggs_selection * s        = counting->selection;
    if (s != NULL && ((s->request > 0 && s->request - 1 != verify->request) ||
                      (s->sequence > 0 && (int64_t) s->sequence - 1 != verify->sequence) ||
                      (s->context > 0 && s->context - 1 != verify->context)))
        return;
    if (kept < 0 || verify->step < counting->first_step || verify->step > counting->last_step) return;
    sum->generated_tokens += (uint64_t) (kept - 1); // one was counted: 0 takes it back
    sum->decoded_tokens += (uint64_t) (kept - 1);
    if (kept == 0) return;
    sum->accepted_tokens += (uint64_t) kept - 1;
    sum->rejected_tokens += verify->tokens - (uint64_t) kept;
}

// ---- steps ----

static void add(struct ggs_step_totals * sum, const struct ggs_step * step, bool drafts) {
    uint64_t ns = ggs_time_between(step->begin_ns, step->end_ns);
    sum->steps++;
    if (drafts) {
        sum->draft_steps++;
        sum->draft_ns += ns;
        if (step->phase != GGS_PHASE_PROMPT) sum->drafting_ns += ns;
        return;
    }
    if (step->phase == GGS_PHASE_GRAPH) {
        sum->graph_steps++;
        sum->graph_ns += ns;
    } else if (step->phase == GGS_PHASE_PROMPT) {
        sum->prompt_ns += ns;
        return;
    } else {
        sum->generate_steps++;
        sum->generate_ns += ns;
    }
    if (sum->slowest_step >= 0 && ns <= sum->slowest_ns) return;
    sum->slowest_step = step->step;
    sum->slowest_ns   = ns;
}

static bool is_draft(struct ggs_trace * trace, uint64_t number) {
    struct ggs_context context;
    return number < ggs_reader_rows(trace->reader, GGS_TABLE_CONTEXTS) &&
           ggs_reader_row(trace->reader, GGS_TABLE_CONTEXTS, number, &context, NULL) == 0 && context.target != 0;
}

int ggs_step_totals_compute(struct ggs_step_totals * steps, struct ggs_trace * trace, int64_t first_step,
                            int64_t last_step, struct ggs_error * error) {
    struct counting            counting = {steps, first_step, last_step, trace->selection};
    struct ggs_request_visitor visitor  = {.see = count, .settle = settle, .owner = &counting};
    struct ggs_cursor *        cursor;
    struct ggs_step            step;
    uint64_t                   known  = UINT64_MAX; // context, and whether it drafts
    bool                       drafts = false;
    int                        status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    *steps                            = (struct ggs_step_totals){.slowest_step = -1};
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.context != known) known = step.context, drafts = is_draft(trace, known);
        if (step.phase == GGS_PHASE_WARMUP)
            steps->warmup_steps++;
        else if (step.step >= first_step && step.step <= last_step && ggs_trace_has_step(trace, step.step))
            add(steps, &step, drafts);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : ggs_requests_walk(trace, &visitor, error);
}
