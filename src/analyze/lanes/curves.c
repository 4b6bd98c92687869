#include "analyze/lanes/curves.h"

#include <stdlib.h>

#include "analyze/lanes/devices.h"
#include "analyze/machine/disk-waits.h"
#include "analyze/walk/byte-uses.h"
#include "analyze/walk/time-bins.h"
#include "analyze/walk/walk.h"
#include "base/error.h"

enum { RUNS_ONE_BY_ONE = 64 };

// Adds an amount to a curve, spread evenly between two times.
static void spread(const struct ggs_curves * curves, double * curve, int64_t from_ns, int64_t to_ns, double amount) {
    const struct ggs_timeline_window * window = &curves->window;
    struct ggs_time_bins               bins = {window->begin_ns, window->end_ns, window->pixels, curve, sizeof(*curve)};
    ggs_time_bins_add(&bins, from_ns, to_ns, amount);
}

// ---- reads by run ----

struct run_bytes {
    const struct ggs_overview * overview;
    uint64_t *                  bytes;
};

static int ignore_access(void * context, uint64_t run, uint64_t node, uint64_t op, const struct ggs_access_list * list,
                         uint64_t times, struct ggs_error * error) {
    (void) context, (void) run, (void) node, (void) op, (void) list, (void) times, (void) error;
    return 0;
}

static int keep_bytes(void * context, const struct ggs_run * run, uint64_t disk, struct ggs_error * error) {
    const struct run_bytes *        all   = context;
    const struct ggs_overview_run * found = ggs_overview_find(all->overview, run->run);
    (void) error;
    if (found != NULL) all->bytes[found - all->overview->run] = disk;
    return 0;
}

int ggs_curves_run_bytes(uint64_t ** out, struct ggs_trace * trace, const struct ggs_overview * overview,
                         struct ggs_error * error) {
    struct run_bytes        all     = {overview, calloc(overview->runs + 1, sizeof(uint64_t))};
    struct ggs_uses_visitor visitor = {.context = &all, .access = ignore_access, .run = keep_bytes};
    *out                            = NULL;
    if (all.bytes == NULL) return ggs_fail_memory(error);
    int status = ggs_uses_visit(trace, INT64_MIN, INT64_MAX, &visitor, error);
    if (status < 0)
        free(all.bytes);
    else
        *out = all.bytes;
    return status;
}

static int add_runs(struct ggs_curves * curves, const struct ggs_curves_source * source, struct ggs_cursor * cursor,
                    struct ggs_error * error) {
    const struct ggs_overview * overview = source->overview;
    const uint64_t *            bytes;
    struct ggs_run              run;
    int                         more, status = source->run_bytes(source->context, &bytes, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &run, error)) > 0) {
        const struct ggs_overview_run * found = ggs_overview_find(overview, run.run);
        if (found == NULL) continue;
        spread(curves, curves->bytes_disk, run.begin_ns, run.end_ns, (double) bytes[found - overview->run]);
    }
    return more;
}

// ---- reads by op ----

static int add_ops(struct ggs_curves * curves, struct ggs_trace * trace, uint64_t first, uint64_t last,
                   struct ggs_error * error) {
    struct ggs_walk *              walk;
    const struct ggs_access_list * list;
    int                            status = ggs_walk_open_runs(&walk, trace, first, last, error);
    if (status < 0) return status;
    walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        while (status >= 0 && ggs_walk_op(walk)) {
            uint64_t disk = 0;
            status        = ggs_walk_accesses(walk, &list, error);
            for (unsigned i = 0; status >= 0 && i < list->n; i++) {
                const struct ggs_access * access = &list->access[i];
                if (!access->write && access->tensor->source == GGS_SOURCE_DISK) disk += access->bytes;
            }
            spread(curves, curves->bytes_disk, walk->op.begin_ns, walk->op.end_ns, (double) disk);
        }
    }
    ggs_walk_close(walk);
    return status;
}

static int fill_disk(struct ggs_curves * curves, const struct ggs_curves_source * source, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    uint64_t            first = 0, last = 0, n = 0;
    curves->bytes_disk = calloc(curves->window.pixels, sizeof(double));
    if (curves->bytes_disk == NULL) return ggs_fail_memory(error);
    int status = ggs_cursor_open(&cursor, source->trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    ggs_cursor_times(cursor, curves->window.begin_ns, curves->window.end_ns);
    while (n <= RUNS_ONE_BY_ONE && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (n++ == 0) first = run.run;
        last = run.run;
    }
    if (status >= 0 && n <= RUNS_ONE_BY_ONE) {
        if (n > 0) status = add_ops(curves, source->trace, first, last, error);
    } else if (status >= 0) {
        ggs_cursor_rewind(cursor);
        status = add_runs(curves, source, cursor, error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// ---- the machine ----

static bool is_recorded(const struct ggs_trace * trace, enum ggs_trace_table table) {
    return ggs_reader_rows(trace->reader, table) > 0;
}

static int fill_machine(struct ggs_curves * curves, struct ggs_trace * trace, struct ggs_error * error) {
    const struct ggs_timeline_window * window = &curves->window;
    int                                status = 0;
    if (is_recorded(trace, GGS_TABLE_FAULTS)) {
        curves->faults = calloc(window->pixels, sizeof(*curves->faults));
        if (curves->faults == NULL) return ggs_fail_memory(error);
        status = ggs_fault_timeline(trace, window->begin_ns, window->end_ns, curves->faults, window->pixels, error);
    }
    if (status == 0 && is_recorded(trace, GGS_TABLE_BLOCK_REQUESTS)) {
        curves->requests = calloc(window->pixels, sizeof(*curves->requests));
        if (curves->requests == NULL) return ggs_fail_memory(error);
        status = ggs_request_timeline(trace, window->begin_ns, window->end_ns, curves->requests, window->pixels, error);
    }
    return status;
}

static void add_disk_wait(void * context, const struct ggs_disk_wait * wait) {
    const struct ggs_curves * curves = context;
    spread(curves, curves->disk_wait_ns, wait->begin_ns, wait->end_ns, (double) wait->wait_ns);
}

static int fill_disk_waits(struct ggs_curves * curves, struct ggs_trace * trace, struct ggs_error * error) {
    if (!is_recorded(trace, GGS_TABLE_STREAMED)) return 0;
    curves->disk_wait_ns = calloc(curves->window.pixels, sizeof(double));
    if (curves->disk_wait_ns == NULL) return ggs_fail_memory(error);
    return ggs_disk_waits_visit(trace, curves->window.begin_ns, curves->window.end_ns, add_disk_wait, curves, error);
}

static int fill_transfers(struct ggs_curves * curves, const struct ggs_trace * trace, struct ggs_error * error) {
    const struct ggs_timeline_window * window = &curves->window;
    bool                               other  = false;
    for (uint64_t i = 0; i < trace->n_devices; i++) other |= trace->devices[i].type != GGS_DEVICE_CPU;
    if (!other) return 0;
    curves->bytes_to_devices   = calloc(window->pixels, sizeof(double));
    curves->bytes_from_devices = calloc(window->pixels, sizeof(double));
    if (curves->bytes_to_devices == NULL || curves->bytes_from_devices == NULL) return ggs_fail_memory(error);
    return ggs_device_transfers(trace, window->begin_ns, window->end_ns, window->pixels, curves->bytes_to_devices,
                                curves->bytes_from_devices, error);
}

int ggs_curves_compute(struct ggs_curves * curves, const struct ggs_curves_source * source,
                       struct ggs_timeline_window window, struct ggs_error * error) {
    *curves    = (struct ggs_curves){.window = window};
    int status = fill_disk(curves, source, error);
    if (status == 0) status = fill_machine(curves, source->trace, error);
    if (status == 0) status = fill_disk_waits(curves, source->trace, error);
    if (status == 0) status = fill_transfers(curves, source->trace, error);
    if (status < 0) ggs_curves_release(curves);
    return status;
}

void ggs_curves_release(struct ggs_curves * curves) {
    free(curves->bytes_disk);
    free(curves->faults);
    free(curves->requests);
    free(curves->disk_wait_ns);
    free(curves->bytes_to_devices);
    free(curves->bytes_from_devices);
    *curves = (struct ggs_curves){0};
}
