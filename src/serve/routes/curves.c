// /api/x/N/curves: over time, bytes that ops read from mapped files, page faults, what the disk was asked for, and what was moved to and from devices.
//
// A wide window takes each graph run as a whole, its bytes spread evenly over its time; in a narrow one every op counts by itself.
#include <stdlib.h>

#include "analyze/lanes/devices.h"
#include "analyze/machine/disk-waits.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/requests.h"
#include "analyze/walk/time-bins.h"
#include "analyze/walk/uses.h"
#include "analyze/walk/walk.h"
#include "base/error.h"
#include "serve/routes/columns.h"
#include "serve/routes/routes.h"

enum { PIXELS_MOST = 4096, RUNS_ONE_BY_ONE = 64 };

struct curve {
    struct ggs_question *       request;
    const struct ggs_overview * overview;
    int64_t                     begin, end;
    uint64_t                    pixels;
    double *                    disk; // by pixel
    // what the machine did, NULL if it was not recorded
    struct ggs_fault_bin *   faults;
    struct ggs_request_bin * requests;
    double *                 disk_waits;
    // bytes moved to and from devices, NULL if there is only the CPU
    double *moved_to, *moved_from;
};

// Adds bytes that were read evenly between two times.
static void spread(struct curve * curve, int64_t from, int64_t to, double bytes) {
    struct ggs_time_bins bins = {curve->begin, curve->end, curve->pixels, curve->disk, sizeof(*curve->disk)};
    ggs_time_bins_add(&bins, from, to, bytes);
}

// ---- run by run ----

struct filling {
    const struct ggs_overview * overview;
    uint64_t *                  disk;
};

static int ignore_access(void * context, uint64_t run, uint64_t node, uint64_t op, const struct ggs_access_list * list,
                         uint64_t times, struct ggs_error * error) {
    (void) context, (void) run, (void) node, (void) op, (void) list, (void) times, (void) error;
    return 0;
}

static int keep_disk(void * context, const struct ggs_run * run, uint64_t disk, struct ggs_error * error) {
    const struct filling *          filling = context;
    const struct ggs_overview_run * found   = ggs_overview_find(filling->overview, run->run);
    (void) error;
    if (found != NULL) filling->disk[found - filling->overview->run] = disk;
    return 0;
}

// What each run read; worked out once for an snapshot.
static int know_disk(struct curve * curve, struct ggs_error * error) {
    struct ggs_snapshot * snapshot = curve->request->snapshot;
    pthread_mutex_lock(&snapshot->disk_lock);
    int status = 0;
    if (snapshot->disk == NULL) {
        struct filling          filling = {curve->overview, calloc(curve->overview->runs + 1, sizeof(uint64_t))};
        struct ggs_uses_visitor visitor = {.context = &filling, .access = ignore_access, .run = keep_disk};
        ggs_request_expect(curve->request, curve->overview->op_runs);
        status = filling.disk == NULL ? ggs_fail_memory(error)
                                      : ggs_uses_visit(&curve->request->trace, INT64_MIN, INT64_MAX, &visitor, error);
        if (status == 0)
            snapshot->disk = filling.disk;
        else
            free(filling.disk);
    }
    pthread_mutex_unlock(&snapshot->disk_lock);
    return status;
}

static int add_runs(struct curve * curve, struct ggs_cursor * cursor, struct ggs_error * error) {
    struct ggs_run run;
    int            more, status = know_disk(curve, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &run, error)) > 0) {
        const struct ggs_overview_run * found = ggs_overview_find(curve->overview, run.run);
        if (found == NULL) continue;
        spread(curve, run.begin_ns, run.end_ns, (double) curve->request->snapshot->disk[found - curve->overview->run]);
    }
    return more;
}

// ---- op by op ----

static int add_ops(struct curve * curve, uint64_t first, uint64_t last, struct ggs_error * error) {
    struct ggs_walk *              walk;
    const struct ggs_access_list * list;
    int                            status = ggs_walk_open_runs(&walk, &curve->request->trace, first, last, error);
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
            spread(curve, walk->op.begin_ns, walk->op.end_ns, (double) disk);
        }
    }
    ggs_walk_close(walk);
    return status;
}

// ---- the machine ----

static bool recorded(const struct curve * curve, enum ggs_trace_table table) {
    return ggs_reader_rows(curve->request->trace.reader, table) > 0;
}

static int fill_machine(struct curve * curve, struct ggs_error * error) {
    struct ggs_trace * trace  = &curve->request->trace;
    int                status = 0;
    if (recorded(curve, GGS_TABLE_FAULTS)) {
        curve->faults = calloc(curve->pixels, sizeof(*curve->faults));
        if (curve->faults == NULL) return ggs_fail_memory(error);
        status = ggs_fault_timeline(trace, curve->begin, curve->end, curve->faults, curve->pixels, error);
    }
    if (status == 0 && recorded(curve, GGS_TABLE_BLOCK_REQUESTS)) {
        curve->requests = calloc(curve->pixels, sizeof(*curve->requests));
        if (curve->requests == NULL) return ggs_fail_memory(error);
        status = ggs_request_timeline(trace, curve->begin, curve->end, curve->requests, curve->pixels, error);
    }
    return status;
}

static void add_disk_wait(void * context, const struct ggs_disk_wait * wait) {
    const struct curve * curve = context;
    struct ggs_time_bins bins  = {curve->begin, curve->end, curve->pixels, curve->disk_waits,
                                  sizeof(*curve->disk_waits)};
    ggs_time_bins_add(&bins, wait->begin_ns, wait->end_ns, (double) wait->wait_ns);
}

static int fill_disk_waits(struct curve * curve, struct ggs_error * error) {
    if (!recorded(curve, GGS_TABLE_STREAMED)) return 0;
    curve->disk_waits = calloc(curve->pixels, sizeof(*curve->disk_waits));
    if (curve->disk_waits == NULL) return ggs_fail_memory(error);
    return ggs_disk_waits_visit(&curve->request->trace, curve->begin, curve->end, add_disk_wait, curve, error);
}

static int fill_transfers(struct curve * curve, struct ggs_error * error) {
    const struct ggs_trace * trace = &curve->request->trace;
    bool                     other = false;
    for (uint64_t i = 0; i < trace->n_devices; i++) other |= trace->devices[i].type != GGS_DEVICE_CPU;
    if (!other) return 0;
    curve->moved_to   = calloc(curve->pixels, sizeof(double));
    curve->moved_from = calloc(curve->pixels, sizeof(double));
    if (curve->moved_to == NULL || curve->moved_from == NULL) return ggs_fail_memory(error);
    return ggs_device_transfers(trace, curve->begin, curve->end, curve->pixels, curve->moved_to, curve->moved_from,
                                error);
}

// Columns of the machine's curves; `scratch` has room for one of them, because a column is copied when it is added.
static void put_machine(const struct curve * curve, struct ggs_columns * columns, double * scratch) {
    for (unsigned which = 0; which < 3; which++) {
        static const char * const names[] = {"faults", "stalled_ns", "bytes_requested"};
        if (which < 2 ? curve->faults == NULL : curve->requests == NULL) continue;
        for (uint64_t i = 0; i < curve->pixels; i++) {
            const struct ggs_fault_bin * fault = which < 2 ? &curve->faults[i] : NULL;
            scratch[i]                         = which == 0   ? (double) (fault->minor + fault->major)
                                                 : which == 1 ? fault->stalled_ns
                                                              : curve->requests[i].model;
        }
        ggs_columns_add(columns, names[which], GGS_COLUMNS_F64, scratch, sizeof(*scratch), curve->pixels);
    }
}

// ---- the answer ----

static int fill(struct curve * curve, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    uint64_t            first = 0, last = 0, n = 0;
    int                 status = ggs_cursor_open(&cursor, curve->request->trace.reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    ggs_cursor_times(cursor, curve->begin, curve->end);
    while (n <= RUNS_ONE_BY_ONE && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (n++ == 0) first = run.run;
        last = run.run;
    }
    if (status >= 0 && n <= RUNS_ONE_BY_ONE) {
        if (n > 0) status = add_ops(curve, first, last, error);
    } else if (status >= 0) {
        ggs_cursor_rewind(cursor);
        status = add_runs(curve, cursor, error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int take_window(struct ggs_question * request, struct curve * curve, struct ggs_error * error) {
    const int64_t far = INT64_MAX / 4;
    curve->begin = curve->overview->begin_ns, curve->end = curve->overview->end_ns, curve->pixels = 1000;
    int status = ggs_query_i64(&request->query, "begin", -far, far, &curve->begin, error);
    if (status == 0) status = ggs_query_i64(&request->query, "end", -far, far, &curve->end, error);
    if (status == 0) status = ggs_query_u64(&request->query, "pixels", 1, PIXELS_MOST, &curve->pixels, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && curve->end <= curve->begin)
        status = ggs_fail(error, GGS_USAGE, "the window must end behind its begin");
    return status;
}

int ggs_route_curves(struct ggs_question * request, struct ggs_error * error) {
    struct curve curve  = {.request = request};
    int          status = ggs_snapshot_overview(request->snapshot, &curve.overview, error);
    if (status == 0) status = take_window(request, &curve, error);
    if (status != 0) return status;
    struct ggs_columns * columns = malloc(sizeof(*columns));
    curve.disk                   = calloc(curve.pixels, sizeof(*curve.disk));
    status                       = columns == NULL || curve.disk == NULL ? ggs_fail_memory(error) : fill(&curve, error);
    if (status == 0) status = fill_machine(&curve, error);
    if (status == 0) status = fill_disk_waits(&curve, error);
    if (status == 0) status = fill_transfers(&curve, error);
    if (status == 0) {
        ggs_columns_begin(columns, curve.pixels, curve.begin);
        ggs_json_i64(&columns->json, "begin_ns", curve.begin);
        ggs_json_i64(&columns->json, "end_ns", curve.end);
        ggs_json_double(&columns->json, "bin_ns", (double) (curve.end - curve.begin) / (double) curve.pixels);
        ggs_columns_add(columns, "bytes_disk", GGS_COLUMNS_F64, curve.disk, sizeof(*curve.disk), curve.pixels);
        put_machine(&curve, columns, curve.disk);
        if (curve.disk_waits != NULL)
            ggs_columns_add(columns, "disk_wait_ns", GGS_COLUMNS_F64, curve.disk_waits, sizeof(double), curve.pixels);
        if (curve.moved_to != NULL) {
            ggs_columns_add(columns, "bytes_to_devices", GGS_COLUMNS_F64, curve.moved_to, sizeof(double), curve.pixels);
            ggs_columns_add(columns, "bytes_from_devices", GGS_COLUMNS_F64, curve.moved_from, sizeof(double),
                            curve.pixels);
        }
        status = ggs_columns_end(columns, request->answer, error);
    }
    free(curve.faults);
    free(curve.requests);
    free(curve.disk_waits);
    free(curve.moved_to);
    free(curve.moved_from);
    free(curve.disk);
    free(columns);
    return status;
}
