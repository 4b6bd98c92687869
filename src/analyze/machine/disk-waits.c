#include "analyze/machine/disk-waits.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

enum { RUNS_ONE_BY_ONE = 64, THREADS_MOST = 4096 };

// An op of the run that waited.
struct op {
    uint64_t node, wait_ns;
    int64_t  until_ns; // end of thread 0's wait; -1: it did not reach the op
};

struct state {
    struct ggs_cursor *   streamed, *op_runs;
    bool                  sums;
    ggs_disk_wait_visitor visit;
    void *                context;
    struct op *           ops; // of the run, by node
    size_t                n, capacity;
};

static int by_node(const void * a, const void * b) {
    const struct op *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int read_waits(struct state * s, uint64_t run, uint64_t * sum, struct ggs_error * error) {
    struct ggs_streamed row;
    int                 more;
    size_t              n = 0;
    *sum                  = 0;
    s->n                  = 0;
    ggs_cursor_keys(s->streamed, (int64_t) run, (int64_t) run);
    while ((more = ggs_cursor_next(s->streamed, &row, error)) > 0) {
        if (row.wait_ns == 0) continue;
        *sum += row.wait_ns;
        if (!ggs_array_push(s->ops, s->n, s->capacity, (struct op){row.node, row.wait_ns, -1}))
            return ggs_fail_memory(error);
    }
    if (s->n > 1) qsort(s->ops, s->n, sizeof(*s->ops), by_node);
    for (size_t i = 1; i < s->n; i++) { // several weights of one op
        if (s->ops[i].node == s->ops[n].node)
            s->ops[n].wait_ns += s->ops[i].wait_ns;
        else
            s->ops[++n] = s->ops[i];
    }
    if (s->n > 0) s->n = n + 1;
    return more;
}

static struct op * find(const struct state * s, uint64_t node) {
    struct op key = {.node = node};
    return bsearch(&key, s->ops, s->n, sizeof(key), by_node);
}

static void add_sum(struct state * s, const struct ggs_run * run, uint64_t sum) {
    struct ggs_disk_wait wait = {.run      = run->run,
                                 .node     = UINT64_MAX,
                                 .slot     = run->slot,
                                 .begin_ns = run->begin_ns,
                                 .end_ns   = run->end_ns,
                                 .wait_ns  = sum};
    for (; wait.thread < run->threads && wait.thread < THREADS_MOST; wait.thread++) s->visit(s->context, &wait);
}

static void add_op_run(struct state * s, const struct ggs_run * run, const struct ggs_op_run * row, int64_t until) {
    int64_t end = ggs_time_after(row->begin_ns, row->duration_ns);
    if (until > end) until = end;
    if (until <= row->begin_ns) return;
    struct ggs_disk_wait wait = {.run      = row->run,
                                 .node     = row->node,
                                 .thread   = row->thread,
                                 .slot     = run->slot,
                                 .begin_ns = row->begin_ns,
                                 .end_ns   = until,
                                 .wait_ns  = (uint64_t) (until - row->begin_ns)};
    s->visit(s->context, &wait);
}

static int add_run(struct state * s, const struct ggs_run * run, struct ggs_error * error) {
    struct ggs_op_run row;
    uint64_t          sum;
    int               more = read_waits(s, run->run, &sum, error);
    if (more < 0 || sum == 0) return more;
    if (s->sums) {
        add_sum(s, run, sum);
        return 0;
    }
    // Two passes, because rows of other threads may precede those of thread 0.
    for (int pass = 0; pass < 2; pass++) {
        ggs_cursor_range(s->op_runs, run->first_op_run, run->op_runs);
        while ((more = ggs_cursor_next(s->op_runs, &row, error)) > 0) {
            struct op * op = row.run == run->run ? find(s, row.node) : NULL;
            if (op == NULL) continue;
            if (pass == 1)
                add_op_run(s, run, &row, op->until_ns);
            else if (row.thread == 0)
                op->until_ns = ggs_time_after(row.begin_ns, op->wait_ns);
        }
        if (more < 0) return more;
    }
    return 0;
}

int ggs_disk_waits_visit(struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, ggs_disk_wait_visitor visit,
                         void * context, struct ggs_error * error) {
    struct state        s    = {.visit = visit, .context = context};
    struct ggs_cursor * runs = NULL;
    struct ggs_run      run;
    uint64_t            n = 0;
    if (ggs_reader_rows(trace->reader, GGS_TABLE_STREAMED) == 0) return 0;
    int status = ggs_cursor_open(&runs, trace->reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&s.streamed, trace->reader, GGS_TABLE_STREAMED, error);
    if (status == 0) status = ggs_cursor_open(&s.op_runs, trace->reader, GGS_TABLE_OP_RUNS, error);
    if (status == 0) ggs_cursor_times(runs, begin_ns, end_ns);
    while (status >= 0 && n <= RUNS_ONE_BY_ONE && (status = ggs_cursor_next(runs, &run, error)) > 0) n++;
    s.sums = n > RUNS_ONE_BY_ONE;
    if (status >= 0) ggs_cursor_rewind(runs);
    while (status >= 0 && (status = ggs_cursor_next(runs, &run, error)) > 0) status = add_run(&s, &run, error);
    ggs_cursor_close(runs);
    ggs_cursor_close(s.streamed);
    ggs_cursor_close(s.op_runs);
    free(s.ops);
    return status < 0 ? status : 0;
}
