#include "analyze/ops/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/machine/stalls.h"
#include "analyze/walk/times.h"
#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"

// The part of [from, to) within the window.
static uint64_t inside(const struct ggs_aggregate * window, int64_t from, int64_t to) {
    return ggs_time_between(from > window->begin_ns ? from : window->begin_ns,
                            to < window->end_ns ? to : window->end_ns);
}

static bool touches(const struct ggs_aggregate * window, const struct ggs_op_seen * op) {
    return op->begin_ns < window->end_ns && (op->end_ns > window->begin_ns || op->begin_ns >= window->begin_ns);
}

static void add_op_run(struct ggs_aggregate * window, struct ggs_aggregate_op * sum, struct ggs_aggregate_lane * lane,
                       const struct ggs_op_run * row) {
    // The times of waits inside an op are unknown: they count at its end.
    int64_t  computed = ggs_time_after(row->begin_ns, ggs_op_run_busy(row));
    int64_t  done     = ggs_time_after(computed, ggs_op_run_wait(row));
    uint64_t busy = inside(window, row->begin_ns, computed), wait = inside(window, computed, done);
    sum->op_runs++;
    sum->busy_ns += busy, sum->wait_ns += wait;
    sum->unwaited |= (row->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
    if (lane == NULL) return;
    lane->unwaited |= (row->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
    lane->busy_ns += (double) busy;
    lane->wait_ns += (double) wait;
}

static int add_tensor(struct ggs_aggregate * window, const char * name, uint64_t bytes, struct ggs_error * error) {
    uint32_t                    number = ggs_names_number(window->names, name, strlen(name));
    struct ggs_aggregate_tensor none   = {0};
    if (number == UINT32_MAX) return ggs_fail_memory(error);
    // The number of a name equals that of its row, because both are made together.
    if (number == window->n_by_tensor &&
        !ggs_array_push(window->by_tensor, window->n_by_tensor, window->by_tensor_capacity, none))
        return ggs_fail_memory(error);
    struct ggs_aggregate_tensor * row = &window->by_tensor[number];
    row->name                         = ggs_names_text(window->names, number);
    row->reads++;
    row->bytes += bytes;
    return 0;
}

static int add_bytes(struct ggs_aggregate * window, struct ggs_aggregate_op * sum, struct ggs_walk * walk,
                     struct ggs_error * error) {
    const struct ggs_access_list * list;
    int                            status = ggs_walk_accesses(walk, &list, error);
    if (status < 0) return status;
    struct ggs_access_bytes bytes = ggs_access_sum(list);
    sum->bytes_read += bytes.read, sum->bytes_written += bytes.written, sum->bytes_disk += bytes.disk;
    for (unsigned i = 0; status == 0 && i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        if (access->write) continue;
        status = add_tensor(window, ggs_reader_string(walk->trace->reader, access->tensor->name), access->bytes, error);
    }
    return status;
}

static void meet_step(struct ggs_aggregate * window, int64_t step) {
    if (step < 0) return;
    if (window->first_token < 0 || step < window->first_token) window->first_token = step;
    if (step > window->last_token) window->last_token = step;
}

static int add_op(struct ggs_aggregate * window, struct ggs_walk * walk, const struct ggs_overview * overview,
                  struct ggs_error * error) {
    const struct ggs_op_seen * op = &walk->op;
    if (op->op >= walk->trace->n_ops || !touches(window, op)) return 0;
    struct ggs_aggregate_op * sum = &window->by_op[op->op];
    sum->op                       = op->name;
    sum->ops++;
    sum->wall_ns += inside(window, op->begin_ns, op->end_ns);
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        int lane = ggs_overview_lane(overview, walk->run.slot, op->op_runs[i].thread);
        add_op_run(window, sum, lane < 0 ? NULL : &window->by_lane[lane], &op->op_runs[i]);
    }
    meet_step(window, walk->run.step);
    return add_bytes(window, sum, walk, error);
}

// Returns the row of a backend, behind those of ops; NULL if out of memory.
static struct ggs_aggregate_op * backend_row(struct ggs_aggregate * window, const char * backend, uint64_t n_ops) {
    uint64_t i = n_ops;
    while (i < window->n_by_op && window->by_op[i].backend != backend) i++;
    struct ggs_aggregate_op fresh = {.op = "", .backend = backend, .unwaited = true};
    if (i == window->n_by_op && !ggs_array_push(window->by_op, window->n_by_op, window->by_op_capacity, fresh))
        return NULL;
    return &window->by_op[i];
}

// Adds a graph run that is seen as a whole: its time, and the bytes of its nodes.
static int add_whole(struct ggs_aggregate * window, struct ggs_walk * walk, struct ggs_error * error) {
    const struct ggs_run * run = &walk->run;
    if (run->begin_ns >= window->end_ns || (run->end_ns <= window->begin_ns && run->begin_ns < window->begin_ns))
        return 0;
    const char *              backend = ggs_reader_string(walk->trace->reader, run->backend);
    struct ggs_aggregate_op * sum     = backend_row(window, backend, walk->trace->n_ops);
    int                       status  = sum == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) sum->wall_ns += inside(window, run->begin_ns, run->end_ns);
    while (status == 0 && ggs_walk_op(walk)) {
        sum->ops++, sum->untimed++;
        status = add_bytes(window, sum, walk, error);
    }
    meet_step(window, run->step);
    return status;
}

// Finds the graph runs that touch the window, by number.
static int find_runs(const struct ggs_aggregate * window, struct ggs_trace * trace, uint64_t * first, uint64_t * last,
                     struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    *first = UINT64_MAX, *last = 0;
    ggs_cursor_times(cursor, window->begin_ns, window->end_ns);
    while ((more = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (run.run < *first) *first = run.run;
        if (run.run > *last) *last = run.run;
    }
    ggs_cursor_close(cursor);
    return more;
}

static int add_ops(struct ggs_aggregate * window, struct ggs_trace * trace, const struct ggs_overview * overview,
                   struct ggs_error * error) {
    struct ggs_walk * walk;
    uint64_t          first, last;
    int               status = find_runs(window, trace, &first, &last, error);
    if (status < 0 || first > last) return status;
    status = ggs_walk_open_runs(&walk, trace, first, last, error);
    if (status < 0) return status;
    walk->with_opaque = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        if (walk->run.op_runs == 0 && walk->run.opaque > 0) status = add_whole(window, walk, error);
        while (status >= 0 && ggs_walk_op(walk)) status = add_op(window, walk, overview, error);
    }
    ggs_walk_close(walk);
    return status;
}

static int add_stalls(struct ggs_aggregate * window, struct ggs_trace * trace, const struct ggs_overview * overview,
                      struct ggs_error * error) {
    struct ggs_stall_walk walk;
    int                   more, status = ggs_stall_walk_open(&walk, trace, window->begin_ns, window->end_ns, error);
    if (status < 0) return status;
    while ((more = ggs_stall_walk_next(&walk, error)) > 0) {
        int lane = ggs_overview_lane(overview, walk.slot, walk.thread);
        if (lane >= 0)
            window->by_lane[lane].stalled_ns += (double) inside(
                window, walk.fault.begin_ns, ggs_time_after(walk.fault.begin_ns, walk.fault.duration_ns));
    }
    ggs_stall_walk_close(&walk);
    return more;
}

static int add_machine(struct ggs_aggregate * window, struct ggs_trace * trace, const struct ggs_overview * overview,
                       struct ggs_error * error) {
    int     status       = 0;
    int64_t begin        = window->begin_ns < 0 ? 0 : window->begin_ns;
    window->has_faults   = ggs_reader_rows(trace->reader, GGS_TABLE_FAULTS) > 0;
    window->has_requests = ggs_reader_rows(trace->reader, GGS_TABLE_BLOCK_REQUESTS) > 0;
    if (window->end_ns <= begin) return 0;
    if (window->has_faults) status = ggs_fault_timeline(trace, begin, window->end_ns, &window->faults, 1, error);
    if (status == 0 && window->has_faults) status = add_stalls(window, trace, overview, error);
    if (status == 0 && window->has_requests)
        status = ggs_request_timeline(trace, begin, window->end_ns, &window->requests, 1, error);
    return status;
}

static int by_time(const void * a, const void * b) {
    const struct ggs_aggregate_op *x = a, *y = b;
    if (x->wall_ns != y->wall_ns) return x->wall_ns > y->wall_ns ? -1 : 1;
    return strcmp(x->backend != NULL ? x->backend : x->op, y->backend != NULL ? y->backend : y->op);
}

static int by_bytes(const void * a, const void * b) {
    const struct ggs_aggregate_tensor *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void sum_up(struct ggs_aggregate * window) {
    struct ggs_aggregate_op * all  = &window->all;
    uint64_t                  rows = window->n_by_op;
    window->n_by_op                = 0;
    for (uint64_t i = 0; i < rows; i++) {
        const struct ggs_aggregate_op * op = &window->by_op[i];
        if (op->ops == 0) continue;
        all->ops += op->ops, all->op_runs += op->op_runs, all->untimed += op->untimed;
        all->unwaited |= op->unwaited;
        all->wall_ns += op->wall_ns, all->busy_ns += op->busy_ns, all->wait_ns += op->wait_ns;
        all->bytes_read += op->bytes_read, all->bytes_written += op->bytes_written, all->bytes_disk += op->bytes_disk;
        window->by_op[window->n_by_op++] = *op;
    }
    if (window->n_by_op > 1) qsort(window->by_op, window->n_by_op, sizeof(*window->by_op), by_time);
    if (window->n_by_tensor > 1) qsort(window->by_tensor, window->n_by_tensor, sizeof(*window->by_tensor), by_bytes);
}

static struct ggs_aggregate_lane lane_of(const struct ggs_trace * trace, const struct ggs_overview * overview,
                                         uint64_t i) {
    const struct ggs_overview_lane * lane   = &overview->lanes[i];
    bool                             device = ggs_overview_lane_device(trace, lane) != NULL;
    return (struct ggs_aggregate_lane){.lane = i, .whole = lane->slot < 0, .device = device, .unwaited = device};
}

int ggs_aggregate_compute(struct ggs_aggregate * window, struct ggs_trace * trace, const struct ggs_overview * overview,
                          int64_t begin_ns, int64_t end_ns, struct ggs_error * error) {
    *window         = (struct ggs_aggregate){.begin_ns    = begin_ns,
                                             .end_ns      = end_ns,
                                             .first_token = -1,
                                             .last_token  = -1,
                                             .n_by_lane   = overview->n_lanes,
                                             .names       = ggs_names_new()};
    window->by_op   = calloc(trace->n_ops + 1, sizeof(*window->by_op));
    window->n_by_op = trace->n_ops, window->by_op_capacity = trace->n_ops + 1;
    window->by_lane = calloc(overview->n_lanes + 1, sizeof(*window->by_lane));
    int status = window->names == NULL || window->by_op == NULL || window->by_lane == NULL ? ggs_fail_memory(error) : 0;
    for (uint64_t i = 0; status == 0 && i < overview->n_lanes; i++) window->by_lane[i] = lane_of(trace, overview, i);
    if (status == 0) status = add_ops(window, trace, overview, error);
    if (status == 0) status = add_machine(window, trace, overview, error);
    if (status < 0)
        ggs_aggregate_release(window);
    else
        sum_up(window);
    return status;
}

void ggs_aggregate_release(struct ggs_aggregate * window) {
    free(window->by_op);
    free(window->by_tensor);
    free(window->by_lane);
    ggs_names_free(window->names);
    *window = (struct ggs_aggregate){0};
}
