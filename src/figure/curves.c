#include "figure/curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lanes/curves.h"
#include "analyze/memory/occupancy.h"
#include "figure/palette.h"

enum unit { BYTES, RATE, THREADS, COUNT };

// Adds a curve of one number per pixel, `stride` bytes apart.
static void add(struct ggs_figure_curves * curves, const char * name, enum unit unit, const void * values,
                size_t stride) {
    const struct ggs_axis bytes = {.unit = GGS_AXIS_BYTES}, plain = {.unit = GGS_AXIS_NUMBER};
    double step = (double) (curves->window.end_ns - curves->window.begin_ns) / GGS_CURVES_PIXELS, most = 0;
    char   text[GGS_AXIS_LABEL];
    if (values == NULL || curves->n == GGS_CURVES_MOST) return;
    double * to = curves->curve[curves->n].values;
    for (unsigned i = 0; i < GGS_CURVES_PIXELS; i++) {
        memcpy(&to[i], (const char *) values + i * stride, sizeof(*to));
        most = fmax(most, to[i]);
    }
    if (!(most > 0)) return;
    curves->curve[curves->n].most = most;
    ggs_axis_text(unit <= RATE ? &bytes : &plain,
                  unit == RATE      ? most / step * 1e9
                  : unit == THREADS ? most / step
                                    : most,
                  text);
    snprintf(curves->curve[curves->n++].name, GGS_AXIS_LABEL, "%.12s, %.9s%s", name, text,
             unit == RATE      ? "/s"
             : unit == THREADS ? strcmp(text, "1") == 0 ? " thread" : " threads"
                               : "");
}

// The most bytes that were allocated within each pixel.
static int add_buffers(struct ggs_figure_curves * curves, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_occupancy occupancy;
    double               values[GGS_CURVES_PIXELS];
    double               step   = (double) (curves->window.end_ns - curves->window.begin_ns) / GGS_CURVES_PIXELS;
    int                  status = ggs_occupancy_compute_buffers(&occupancy, trace, error);
    if (status < 0) return status;
    uint64_t at = 0, total = 0;
    for (unsigned i = 0; i < GGS_CURVES_PIXELS; i++) {
        double end = (double) curves->window.begin_ns + step * (i + 1);
        // What was allocated before the window counts from its begin on.
        while (i == 0 && at < occupancy.n_events && occupancy.events[at].ns < curves->window.begin_ns)
            total = occupancy.events[at++].total;
        for (values[i] = (double) total; at < occupancy.n_events && (double) occupancy.events[at].ns < end; at++) {
            total     = occupancy.events[at].total;
            values[i] = fmax(values[i], (double) total);
        }
    }
    ggs_occupancy_release(&occupancy);
    add(curves, "buffers", BYTES, values, sizeof(*values));
    return 0;
}

struct reads {
    struct ggs_trace *          trace;
    const struct ggs_overview * overview;
    uint64_t *                  bytes;
};

static int read_bytes(void * context, const uint64_t ** out, struct ggs_error * error) {
    struct reads * reads  = context;
    int            status = ggs_curves_run_bytes(&reads->bytes, reads->trace, reads->overview, error);
    *out                  = reads->bytes;
    return status;
}

static void add_faults(struct ggs_figure_curves * curves, const struct ggs_fault_bin * bins) {
    double counts[GGS_CURVES_PIXELS];
    if (bins == NULL) return;
    for (unsigned i = 0; i < GGS_CURVES_PIXELS; i++) counts[i] = (double) (bins[i].minor + bins[i].major);
    add(curves, "page faults", COUNT, counts, sizeof(*counts));
    add(curves, "stalled", THREADS, &bins->stalled_ns, sizeof(*bins));
}

int ggs_figure_curves_read(struct ggs_figure_curves * curves, struct ggs_trace * trace,
                           const struct ggs_overview * overview, struct ggs_timeline_window window,
                           struct ggs_error * error) {
    struct ggs_curves        all;
    struct reads             reads  = {.trace = trace, .overview = overview};
    struct ggs_curves_source source = {trace, overview, read_bytes, &reads};
    window.pixels                   = GGS_CURVES_PIXELS;
    *curves                         = (struct ggs_figure_curves){.window = window};
    int status                      = add_buffers(curves, trace, error);
    if (status == 0) status = ggs_curves_compute(&all, &source, window, error);
    free(reads.bytes);
    if (status != 0) return status;
    add(curves, "addressed", RATE, all.bytes_disk, sizeof(double));
    if (all.requests != NULL) add(curves, "disk reads", RATE, &all.requests->model, sizeof(*all.requests));
    add_faults(curves, all.faults);
    add(curves, "disk waits", THREADS, all.disk_wait_ns, sizeof(double));
    add(curves, "to devices", RATE, all.bytes_to_devices, sizeof(double));
    add(curves, "from devices", RATE, all.bytes_from_devices, sizeof(double));
    ggs_curves_release(&all);
    return 0;
}

// Neighbours of equal height are one box.
void ggs_figure_curves_add(const struct ggs_figure_curves * curves, struct ggs_chart * chart, uint64_t first) {
    double step = (double) (curves->window.end_ns - curves->window.begin_ns) / GGS_CURVES_PIXELS;
    if (curves->n == 0) return;
    struct ggs_series * series =
        ggs_chart_series(chart, GGS_SERIES_BOXES, GGS_PALETTE_DULL, "curves, up to the amount beside them");
    for (unsigned c = 0; c < curves->n; c++) {
        const double * values = curves->curve[c].values;
        for (unsigned i = 0, end; i < GGS_CURVES_PIXELS; i = end) {
            for (end = i + 1; end < GGS_CURVES_PIXELS && !(values[end] < values[i]) && !(values[end] > values[i]);)
                end++;
            if (!(values[i] > 0)) continue;
            double bottom = (double) (first + c) + 0.95;
            ggs_chart_add(chart, series,
                          (struct ggs_datum){.x    = (double) curves->window.begin_ns + step * i,
                                             .size = step * (end - i),
                                             .low  = bottom - 0.85 * values[i] / curves->curve[c].most,
                                             .high = bottom});
        }
    }
}
