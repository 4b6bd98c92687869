#include "analyze/ops/step-totals.h"

#include "analyze/requests/requests.h"
#include "analyze/requests/selection.h"
#include "analyze/walk/times.h"
#include "base/error.h"
#include "base/quantiles.h"

// ---- tokens ----

struct counting {
    struct ggs_step_totals *     sum;
    int64_t                      first_step, last_step;
    const struct ggs_selection * selection;
};

// A step may feed a prompt in several decodes with other work between them: only the decodes count.
static void add_prompt_time(struct ggs_step_totals * sum, const struct ggs_request_step * step) {
    const struct ggs_sequences * sequences = step->sequences;
    if (step->batch == NULL || step->part != sequences->parts) return; // once per batch
    for (size_t i = 0; i < sequences->n_parts; i++)
        if (sequences->parts[i].phase != GGS_PHASE_PROMPT) return;
    sum->prompt_ns += ggs_time_between(step->begin_ns, step->end_ns);
}

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
    sum->prompt_tokens += step->part->prompt;
    add_prompt_time(sum, step);
    if (step->phase != GGS_PHASE_PROMPT) sum->decoded_tokens += step->generated;
    sum->generated_tokens += step->generated;
    return 0;
}

static void settle(void * owner, const struct ggs_verify * verify, const struct ggs_settled * settled) {
    const struct counting *      counting = owner;
    struct ggs_step_totals *     sum      = counting->sum;
    const struct ggs_selection * s        = counting->selection;
    if (s != NULL && ((s->request > 0 && s->request - 1 != verify->request) ||
                      (s->sequence > 0 && (int64_t) s->sequence - 1 != verify->sequence) ||
                      (s->context > 0 && s->context - 1 != verify->context)))
        return;
    if (verify->step < counting->first_step || verify->step > counting->last_step) return;
    sum->generated_tokens += (uint64_t) settled->generated;
    sum->decoded_tokens += (uint64_t) settled->generated;
    sum->accepted_tokens += settled->accepted;
    sum->rejected_tokens += settled->rejected;
}

// ---- steps ----

// The time between two decodes: sampling, printing, or nothing. Time before a prompt belongs to its
// sender, and time outside of recorded windows does not count.
struct gaps {
    struct ggs_trace * trace;
    uint64_t           context; // of the previous step
    int64_t            end_ns;  // its end, INT64_MIN: none
    uint64_t           windows, window;
};

static bool is_window_between(struct gaps * gaps, int64_t begin_ns, int64_t end_ns) {
    struct ggs_window row;
    bool              found = false;
    for (; gaps->window < gaps->windows; gaps->window++) {
        if (ggs_reader_row(gaps->trace->reader, GGS_TABLE_WINDOWS, gaps->window, &row, NULL) < 0) return true;
        if (row.begin_ns >= end_ns) break;
        found |= row.begin_ns > begin_ns && row.kind != GGS_WINDOW_MARK;
    }
    return found;
}

static void add_gap(struct ggs_step_totals * sum, struct gaps * gaps, const struct ggs_step * step, bool wanted) {
    bool generates = wanted && step->phase != GGS_PHASE_PROMPT && step->phase != GGS_PHASE_GRAPH;
    if (generates && gaps->context == step->context && gaps->end_ns != INT64_MIN &&
        !is_window_between(gaps, gaps->end_ns, step->begin_ns))
        sum->between_ns += ggs_time_between(gaps->end_ns, step->begin_ns);
    gaps->context = step->context, gaps->end_ns = wanted ? step->end_ns : INT64_MIN;
}

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
    } else if (step->phase == GGS_PHASE_PROMPT || step->tokens == 0) {
        return; // a decode that failed fed no token
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
    struct ggs_request_visitor visitor  = {.step = count, .settle = settle, .owner = &counting};
    struct ggs_cursor *        cursor;
    struct ggs_step            step;
    uint64_t                   known  = UINT64_MAX; // context, and whether it drafts
    bool                       drafts = false;
    struct ggs_quantiles       times  = {0};
    struct gaps                gaps   = {
                         .trace = trace, .end_ns = INT64_MIN, .windows = ggs_reader_rows(trace->reader, GGS_TABLE_WINDOWS)};
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    *steps     = (struct ggs_step_totals){.slowest_step = -1};
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.context != known) known = step.context, drafts = is_draft(trace, known);
        bool wanted = step.step >= first_step && step.step <= last_step && ggs_trace_has_step(trace, step.step);
        if (step.phase != GGS_PHASE_WARMUP && !drafts) add_gap(steps, &gaps, &step, wanted);
        if (step.phase == GGS_PHASE_WARMUP) {
            steps->warmup_steps++;
        } else if (wanted) {
            uint64_t before = steps->generate_steps;
            add(steps, &step, drafts);
            if (steps->generate_steps == before) continue;
            if (!ggs_quantiles_add(&times, ggs_time_between(step.begin_ns, step.end_ns), 1)) {
                status = ggs_fail_memory(error);
                break;
            }
        }
    }
    steps->quiet_ns = ggs_quantiles_at(&times, 10);
    ggs_quantiles_release(&times);
    ggs_cursor_close(cursor);
    return status < 0 ? status : ggs_requests_walk(trace, &visitor, error);
}
