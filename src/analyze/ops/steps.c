#include "analyze/ops/steps.h"

#include "analyze/walk/times.h"

static void add(struct ggs_steps * sum, const struct ggs_step * step) {
    uint64_t ns = ggs_time_between(step->begin_ns, step->end_ns);
    sum->steps++;
    if (step->phase == GGS_PHASE_GRAPH) {
        sum->graph_steps++;
        sum->graph_ns += ns;
    } else if (step->phase == GGS_PHASE_PROMPT) {
        sum->prompt_tokens += step->tokens;
        sum->prompt_ns += ns;
        sum->generated_tokens++;
        return;
    } else {
        sum->generate_steps++;
        sum->generate_ns += ns;
        sum->generated_tokens += step->tokens;
    }
    if (sum->slowest_step >= 0 && ns <= sum->slowest_ns) return;
    sum->slowest_step = step->step;
    sum->slowest_ns   = ns;
}

int ggs_steps_sum(struct ggs_steps * steps, struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                  struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     step;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    *steps                     = (struct ggs_steps){.slowest_step = -1};
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.phase == GGS_PHASE_WARMUP)
            steps->warmup_steps++;
        else if (step.step >= first_step && step.step <= last_step)
            add(steps, &step);
    }
    ggs_cursor_close(cursor);
    return status;
}
