#include "analyze/machine/streamed.h"

#include "analyze/walk/op-filter.h"
#include "analyze/walk/recent-runs.h"
#include "base/error.h"

static void add(struct ggs_streamed_totals * t, const struct ggs_streamed * row) {
    t->uses++;
    t->mapped += row->place == GGS_STREAMED_MAPPING;
    t->bytes_read += row->bytes_read;
    t->bytes_early += row->bytes_early;
    t->hits += row->hits;
    t->misses += row->misses;
    t->predicted += row->predicted;
    t->predicted_used += row->predicted_used;
    t->waits += row->wait_ns > 0;
    t->wait_ns += row->wait_ns;
}

// Returns 1 if the use belongs to a requested step and op, 0 or a failure.
static int fits(struct ggs_trace * trace, const struct ggs_run * run, const struct ggs_streamed * row,
                const struct ggs_totals_range * range, struct ggs_error * error) {
    if (run == NULL || run->step < range->first_step || run->step > range->last_step) return 0;
    if (trace->filter == NULL) return 1;
    const struct ggs_graph * graph;
    int                      status = ggs_trace_graph(trace, run->graph, &graph, error);
    return status < 0 ? status : ggs_op_filter_fits_node(trace, graph, row->node);
}

int ggs_streamed_compute(struct ggs_streamed_totals * totals, struct ggs_trace * trace,
                         const struct ggs_totals_range * range, struct ggs_error * error) {
    struct ggs_cursor *    cursor = NULL;
    struct ggs_recent_runs runs   = {0};
    struct ggs_streamed    row;
    uint64_t               newest = 0;
    *totals                       = (struct ggs_streamed_totals){0};
    int status                    = ggs_recent_runs_open(&runs, trace, error);
    if (status == 0) status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STREAMED, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        const struct ggs_run * run;
        status = ggs_recent_runs_find(&runs, row.run, &run, error);
        if (status >= 0) status = fits(trace, run, &row, range, error);
        if (status <= 0) continue;
        add(totals, &row);
        if (row.run == newest) continue;
        newest = row.run;
        totals->runs++;
        if (run->end_ns > run->begin_ns) totals->run_ns += (uint64_t) (run->end_ns - run->begin_ns);
    }
    ggs_cursor_close(cursor);
    ggs_recent_runs_close(&runs);
    return status < 0 ? status : 0;
}
