// /api/x/N/timeline: activity of the lanes in a time window, as columns.
#include "answer/pictures.h"
#include "serve/routes/routes.h"

static int write_timeline(struct ggs_question * request, const struct ggs_timeline_view * timeline,
                          const struct ggs_timeline_window * window, struct ggs_error * error) {
    bool                       ops    = timeline->one_by_one;
    struct ggs_timeline_header header = {.level    = ops ? -1 : (int64_t) timeline->level,
                                         .bin_ns   = ops ? 0 : 1ull << timeline->level,
                                         .timeline = timeline};
    int status = ggs_gaps_list(&header.gaps, &request->trace, window->begin_ns, window->end_ns, error);
    if (status < 0) return status;
    ggs_columns_begin(&header.columns, ops ? timeline->n_ops : timeline->n_bins, window->begin_ns);
    if (ops)
        ggs_columns_add(&header.columns, &ggs_timeline_ops, timeline->ops, sizeof(*timeline->ops));
    else
        ggs_columns_add(&header.columns, &ggs_timeline_bins, timeline->bins, sizeof(*timeline->bins));
    status = ggs_reply_columns(request->answer, &header.columns, &ggs_timeline_object, &request->trace, error);
    ggs_gaps_release(&header.gaps);
    return status;
}

int ggs_route_timeline(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_timeline_source source = {.trace = &request->trace};
    struct ggs_timeline_window window;
    struct ggs_timeline_view   timeline;
    int                        status = ggs_snapshot_overview(request->snapshot, &source.overview, error);
    if (status == 0) status = ggs_query_pixels(&request->query, source.overview, &window, error);
    if (status == 0) status = ggs_snapshot_levels(request->snapshot, &source.levels, error);
    if (status == 0) status = ggs_snapshot_ops(request->snapshot, &source.node_ops, error);
    if (status == 0) status = ggs_timeline_compute(&timeline, &source, window, error);
    if (status < 0) return status;
    status = write_timeline(request, &timeline, &window, error);
    ggs_timeline_release(&timeline);
    return status;
}
