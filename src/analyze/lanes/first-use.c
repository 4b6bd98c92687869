#include "analyze/lanes/first-use.h"

#include "analyze/walk/times.h"
#include "base/error.h"
#include "base/quantiles.h"

enum { LEAST_NS = 200000000, TIMES = 20 };

bool ggs_first_use_is_long(uint64_t ns, uint64_t usual_ns, uint64_t tokens) {
    uint64_t times = tokens > TIMES ? tokens : TIMES;
    return usual_ns > 0 && ns >= LEAST_NS && ns / times >= usual_ns;
}

// Tokens of each decode of the step; 1 if it is none.
static int tokens_of(uint64_t * tokens, struct ggs_trace * trace, int64_t step, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     row;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    *tokens = 1;
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &row, error)) > 0)
        if (row.step == step && row.decodes > 0) *tokens = row.tokens / row.decodes;
    ggs_cursor_close(cursor);
    return more;
}

int ggs_first_use_find(struct ggs_first_use * first, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_quantiles later = {0};
    struct ggs_cursor *  cursor;
    struct ggs_run       row;
    uint64_t             tokens = 1;
    int64_t              step   = -1;
    bool                 fine   = true;
    int                  more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    *first = (struct ggs_first_use){0};
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (!ggs_trace_is_device(trace, row.device)) continue;
        uint64_t ns = ggs_time_between(row.begin_ns, row.end_ns);
        if (first->run == 0) {
            *first = (struct ggs_first_use){.run = row.run, .device = row.device, .ns = ns};
            step   = row.step;
        } else if (row.phase != GGS_PHASE_PROMPT && row.device == first->device)
            fine &= ggs_quantiles_add(&later, ns, 1);
    }
    ggs_cursor_close(cursor);
    first->usual_ns = ggs_quantiles_at(&later, 50);
    ggs_quantiles_release(&later);
    if (more == 0 && first->run != 0) more = tokens_of(&tokens, trace, step, error);
    if (!ggs_first_use_is_long(first->ns, first->usual_ns, tokens)) first->run = 0;
    return more < 0 ? more : fine ? 0 : ggs_fail_memory(error);
}
