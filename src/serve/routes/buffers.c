// /api/x/N/buffers and /api/x/N/occupancy: runtime buffers with their contents, and their sizes
// over time.
#include "answer/buffers.h"

#include <stdlib.h>

#include "answer/pictures.h"
#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_buffers(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_buffers buffers;
    struct ggs_json    json;
    uint64_t           transfers = 0;
    int                status    = ggs_query_u64(&request->query, "transfers", 0, 1, &transfers, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_buffers_compute(&buffers, &request->trace, transfers != 0, error);
    if (status != 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_buffers_write(&json, &buffers);
    ggs_buffers_release(&buffers);
    return ggs_reply_close(request->answer, &json, error);
}

// ---- occupancy ----

enum { BINS_MOST = 4096 };

// The maximum of each class within each bin.
static void fill(struct ggs_occupancy_bin * bins, uint64_t n, const struct ggs_occupancy * o) {
    double                   length = (double) (o->end_ns - o->begin_ns);
    uint64_t                 at     = 0;
    struct ggs_occupancy_bin now    = {0};
    for (uint64_t i = 0; i < n; i++) {
        double end = (double) o->begin_ns + length * (double) (i + 1) / (double) n;
        bins[i]    = now;
        for (; at < o->n_events && ((double) o->events[at].ns < end || i + 1 == n); at++) {
            for (int c = 0; c < GGS_CLASSES; c++) {
                now.bytes[c] = (double) o->events[at].by_class[c];
                if (now.bytes[c] > bins[i].bytes[c]) bins[i].bytes[c] = now.bytes[c];
            }
        }
    }
}

static int write_curve(struct ggs_question * request, const struct ggs_occupancy * o,
                       const struct ggs_occupancy_bin * bins, uint64_t n, struct ggs_error * error) {
    struct ggs_occupancy_header header = {.begin_ns = o->begin_ns, .end_ns = o->end_ns, .peak_bytes = o->peak_bytes};
    ggs_columns_begin(&header.columns, n, o->begin_ns);
    ggs_columns_add(&header.columns, &ggs_occupancy_columns, bins, sizeof(*bins));
    return ggs_reply_columns(request->answer, &header.columns, &ggs_occupancy_object, NULL, error);
}

int ggs_route_occupancy(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_occupancy occupancy;
    uint64_t             n      = 1000;
    int                  status = ggs_query_u64(&request->query, "bins", 1, BINS_MOST, &n, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_occupancy_compute_buffers(&occupancy, &request->trace, error);
    if (status != 0) return status;
    struct ggs_occupancy_bin * bins = calloc(n, sizeof(*bins));
    if (bins == NULL) {
        status = ggs_fail_memory(error);
    } else {
        fill(bins, n, &occupancy);
        status = write_curve(request, &occupancy, bins, n, error);
    }
    free(bins);
    ggs_occupancy_release(&occupancy);
    return status;
}
