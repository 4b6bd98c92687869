#include "analyze/lanes/devices.h"

#include <stdlib.h>

#include "analyze/walk/time-bins.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"
#include "base/search.h"

// ---- transfers ----

static bool add_moved(struct ggs_device_list * list, uint64_t device, bool in, const struct ggs_transfer * t) {
    struct ggs_device_moved * moved = in ? &list->device[device - 1].in : &list->device[device - 1].out;
    moved->count++;
    moved->bytes += t->bytes;
    if (t->async != 0) return true;
    moved->timed++;
    moved->timed_bytes += t->bytes;
    moved->ns += t->duration_ns;
    struct ggs_device_transfer row = {
        .begin_ns = t->begin_ns, .end_ns = ggs_time_after(t->begin_ns, t->duration_ns), .device = device - 1, .in = in};
    return ggs_array_push(list->transfers, list->n_transfers, list->capacity, row);
}

static int by_begin(const void * a, const void * b) {
    const struct ggs_device_transfer *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int read_transfers(struct ggs_device_list * list, const struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_transfer t;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TRANSFERS, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &t, error)) > 0) {
        uint64_t from = ggs_trace_buffer_device(trace, t.from_buffer), to = ggs_trace_buffer_device(trace, t.to_buffer);
        if (from == to) continue; // within one memory
        if ((to != 0 && !add_moved(list, to, true, &t)) || (from != 0 && !add_moved(list, from, false, &t))) {
            status = ggs_fail_memory(error);
            break;
        }
    }
    ggs_cursor_close(cursor);
    if (list->n_transfers > 1) qsort(list->transfers, list->n_transfers, sizeof(*list->transfers), by_begin);
    for (uint64_t i = 0; i < list->n_transfers; i++) {
        struct ggs_device_transfer * row     = &list->transfers[i];
        bool                         covered = i > 0 && row[-1].reach_ns > row->end_ns;
        row->reach_ns                        = covered ? row[-1].reach_ns : row->end_ns;
    }
    return status < 0 ? status : 0;
}

int ggs_device_transfers(const struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, uint64_t n, double * to,
                         double * from, struct ggs_error * error) {
    struct ggs_time_bins in = {begin_ns, end_ns, n, to, sizeof(*to)}, out = {begin_ns, end_ns, n, from, sizeof(*from)};
    struct ggs_cursor *  cursor;
    struct ggs_transfer  t;
    int                  status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TRANSFERS, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &t, error)) > 0) {
        uint64_t a = ggs_trace_buffer_device(trace, t.from_buffer), b = ggs_trace_buffer_device(trace, t.to_buffer);
        int64_t  end = t.async != 0 ? t.begin_ns : ggs_time_after(t.begin_ns, t.duration_ns);
        if (a == b) continue; // within one memory
        if (b != 0) ggs_time_bins_add(&in, t.begin_ns, end, (double) t.bytes);
        if (a != 0) ggs_time_bins_add(&out, t.begin_ns, end, (double) t.bytes);
    }
    ggs_cursor_close(cursor);
    return status;
}

// Returns the first transfer that may still be active at that time. `reach_ns` ascends.
static uint64_t first_alive(const struct ggs_device_list * list, int64_t ns) {
    return ggs_search(list->n_transfers, at, list->transfers[at].reach_ns <= ns);
}

static void add_overlaps(struct ggs_device_list * list, uint64_t device, int64_t begin, int64_t end) {
    for (uint64_t i = first_alive(list, begin); i < list->n_transfers && list->transfers[i].begin_ns < end; i++) {
        struct ggs_device_transfer * t = &list->transfers[i];
        if (t->device != device || t->end_ns <= begin) continue;
        t->overlap_ns += ggs_time_between(t->begin_ns > begin ? t->begin_ns : begin, t->end_ns < end ? t->end_ns : end);
    }
}

// ---- utilisation ----

// Adds `share` of the time from begin to end.
static void add_bins(const struct ggs_device_list * list, struct ggs_device_totals * device, int64_t begin, int64_t end,
                     double share) {
    uint64_t span = ggs_time_between(list->begin_ns, list->end_ns), width = span / GGS_DEVICE_BINS + 1;
    if (begin < list->begin_ns || end > list->end_ns) return; // a damaged trace
    uint64_t from = (uint64_t) (begin - list->begin_ns), to = (uint64_t) (end - list->begin_ns);
    for (uint64_t bin = from / width; bin < GGS_DEVICE_BINS && from < to; bin++) {
        uint64_t border = (bin + 1) * width < to ? (bin + 1) * width : to;
        device->bins[bin] += (uint64_t) (share * (double) (border - from));
        from = border;
    }
}

static struct ggs_device_totals * device_of(struct ggs_device_list * list, const struct ggs_run * run) {
    return run->device == 0 || run->device > list->n ? NULL : &list->device[run->device - 1];
}

void ggs_device_list_run(struct ggs_device_list * list, const struct ggs_run * run) {
    struct ggs_device_totals * device = device_of(list, run);
    uint64_t                   ns     = ggs_time_between(run->begin_ns, run->end_ns);
    if (device == NULL || (run->flags & GGS_RUN_INTERRUPTED) != 0) return;
    bool whole = (run->flags & GGS_RUN_OPAQUE) != 0;
    device->runs++;
    device->run_ns += ns;
    device->peer_runs += ggs_run_is_elsewhere(run);
    if (run->phase == GGS_PHASE_GENERATE) ggs_spread_add(whole ? &device->whole_run : &device->timed_run, ns);
    if (whole) return;
    device->timed_runs++;
    device->timed_ns += ns;
}

void ggs_device_list_op(struct ggs_device_list * list, const struct ggs_run * run, const struct ggs_op_seen * op) {
    struct ggs_device_totals * device = device_of(list, run);
    if (device == NULL || op->opaque) return;
    // A device does not wait for threads: if its kernels are known, the time between them is not
    // busy.
    bool     cpu  = device->row.type == GGS_DEVICE_CPU;
    uint64_t busy = cpu || op->busy_ns > op->wall_ns ? op->wall_ns : op->busy_ns;
    device->ops++;
    device->op_ns += busy;
    if (op->wall_ns > 0) add_bins(list, device, op->begin_ns, op->end_ns, (double) busy / (double) op->wall_ns);
    if (list->n_transfers > 0 && !cpu) add_overlaps(list, run->device - 1, op->begin_ns, op->end_ns);
}

// ---- interface ----

// From the first graph run's start to the last one's end.
static int find_span(struct ggs_device_list * list, const struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    bool                first  = true;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (first || run.begin_ns < list->begin_ns) list->begin_ns = run.begin_ns;
        if (first || run.end_ns > list->end_ns) list->end_ns = run.end_ns;
        first = false;
    }
    ggs_cursor_close(cursor);
    return status;
}

static int count_queues(struct ggs_device_list * list, const struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_lane     lane;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LANES, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &lane, error)) > 0) {
        if (lane.kind == GGS_LANE_QUEUE && lane.device > 0 && lane.device <= list->n)
            list->device[lane.device - 1].queues++;
    }
    ggs_cursor_close(cursor);
    return status;
}

int ggs_device_list_begin(struct ggs_device_list * list, struct ggs_trace * trace, struct ggs_error * error) {
    *list        = (struct ggs_device_list){.n = trace->n_devices};
    list->device = calloc(trace->n_devices + 1, sizeof(*list->device));
    int status   = list->device == NULL ? ggs_fail_memory(error) : find_span(list, trace, error);
    for (uint64_t i = 0; status == 0 && i < list->n; i++) {
        list->device[i].row  = trace->devices[i];
        list->device[i].name = ggs_reader_string(trace->reader, trace->devices[i].name);
    }
    if (status == 0) status = count_queues(list, trace, error);
    if (status == 0 && ggs_device_list_has_other(list)) status = read_transfers(list, trace, error);
    if (status < 0) ggs_device_list_release(list);
    return status;
}

void ggs_device_list_end(struct ggs_device_list * list) {
    for (uint64_t i = 0; i < list->n_transfers; i++) {
        const struct ggs_device_transfer * t      = &list->transfers[i];
        struct ggs_device_totals *         device = &list->device[t->device];
        (t->in ? &device->in : &device->out)->overlap_ns += t->overlap_ns;
    }
}

void ggs_device_list_release(struct ggs_device_list * list) {
    for (uint64_t i = 0; list->device != NULL && i < list->n; i++) {
        ggs_spread_release(&list->device[i].timed_run);
        ggs_spread_release(&list->device[i].whole_run);
    }
    free(list->device);
    free(list->transfers);
    *list = (struct ggs_device_list){0};
}

double ggs_device_busy(const struct ggs_device_list * list, const struct ggs_device_totals * device) {
    uint64_t span = ggs_time_between(list->begin_ns, list->end_ns);
    if (span == 0 || !ggs_device_is_timed(device)) return -1;
    double share = (double) device->op_ns / (double) span;
    return share > 1 ? 1 : share; // two concurrent graph runs
}

bool ggs_device_list_has_other(const struct ggs_device_list * list) {
    for (uint64_t i = 0; i < list->n; i++) {
        if (list->device[i].row.type != GGS_DEVICE_CPU) return true;
    }
    return false;
}
