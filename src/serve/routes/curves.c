// /api/x/N/curves: bytes read, faults, block requests and transfers over time, as columns.
#include <stdlib.h>

#include "analyze/lanes/curves.h"
#include "answer/pictures.h"
#include "base/error.h"
#include "serve/routes/routes.h"

// Computed once per snapshot.
static int find_run_bytes(void * context, const uint64_t ** out, struct ggs_error * error) {
    struct ggs_question *       request  = context;
    struct ggs_snapshot *       snapshot = request->snapshot;
    const struct ggs_overview * overview = &snapshot->overview;
    int                         status   = 0;
    pthread_mutex_lock(&snapshot->disk_lock);
    if (snapshot->disk == NULL) {
        ggs_request_expect(request, overview->op_runs);
        status = ggs_curves_run_bytes(&snapshot->disk, &request->trace, overview, error);
    }
    pthread_mutex_unlock(&snapshot->disk_lock);
    *out = snapshot->disk;
    return status;
}

static void put(struct ggs_columns * columns, const char * key, const double * values) {
    if (values != NULL) ggs_columns_add_one(columns, &ggs_curves_columns, key, values, sizeof(*values));
}

static double fault_count(const struct ggs_curves * curves, uint64_t i) {
    return (double) (curves->faults[i].minor + curves->faults[i].major);
}

static double fault_stall(const struct ggs_curves * curves, uint64_t i) {
    return curves->faults[i].stalled_ns;
}

static double requested(const struct ggs_curves * curves, uint64_t i) {
    return curves->requests[i].model;
}

// `scratch` has room for one column, which is copied.
static void put_machine(struct ggs_columns * columns, const struct ggs_curves * curves, double * scratch) {
    const struct {
        const char * name;
        bool         recorded;
        double (*value)(const struct ggs_curves * curves, uint64_t pixel);
    } table[] = {{"faults", curves->faults != NULL, fault_count},
                 {"stalled_ns", curves->faults != NULL, fault_stall},
                 {"bytes_requested", curves->requests != NULL, requested}};
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        if (!table[k].recorded) continue;
        for (uint64_t i = 0; i < curves->window.pixels; i++) scratch[i] = table[k].value(curves, i);
        put(columns, table[k].name, scratch);
    }
}

static int write_curves(struct ggs_question * request, const struct ggs_curves * curves, struct ggs_error * error) {
    const struct ggs_timeline_window * window  = &curves->window;
    double *                           scratch = calloc(window->pixels, sizeof(*scratch));
    struct ggs_curves_header           header  = {.begin_ns = window->begin_ns,
                                                  .end_ns   = window->end_ns,
                                                  .bin_ns =
                                                      (double) (window->end_ns - window->begin_ns) / (double) window->pixels};
    if (scratch == NULL) return ggs_fail_memory(error);
    ggs_columns_begin(&header.columns, window->pixels, window->begin_ns);
    put(&header.columns, "bytes_disk", curves->bytes_disk);
    put_machine(&header.columns, curves, scratch);
    put(&header.columns, "disk_wait_ns", curves->disk_wait_ns);
    put(&header.columns, "bytes_to_devices", curves->bytes_to_devices);
    put(&header.columns, "bytes_from_devices", curves->bytes_from_devices);
    free(scratch);
    return ggs_reply_columns(request->answer, &header.columns, &ggs_curves_object, NULL, error);
}

int ggs_route_curves(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_curves_source   source = {&request->trace, NULL, find_run_bytes, request};
    struct ggs_timeline_window window;
    struct ggs_curves          curves;
    int                        status = ggs_snapshot_overview(request->snapshot, &source.overview, error);
    if (status == 0) status = ggs_query_pixels(&request->query, source.overview, &window, error);
    if (status == 0) status = ggs_curves_compute(&curves, &source, window, error);
    if (status < 0) return status;
    status = write_curves(request, &curves, error);
    ggs_curves_release(&curves);
    return status;
}
