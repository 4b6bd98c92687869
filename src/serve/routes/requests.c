// /api/x/N/requests: requests of a server's slots, contents of batches, and the memory of contexts
// over time. /api/x/N/slots: activity of slots in a window.
#include "answer/requests.h"
#include "serve/routes/routes.h"

int ggs_route_requests(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_requests_answer answer;
    struct ggs_json            json;
    uint64_t                   cells = 0, batches = 0, only = 0, from = 0, count = 0, down = 0;
    int                        status = ggs_query_u64(&request->query, "cells", 0, 1, &cells, error);
    if (status == 0) status = ggs_query_u64(&request->query, "batches", 0, 1, &batches, error);
    if (status == 0) status = ggs_query_u64(&request->query, "request", 1, UINT64_MAX, &only, error);
    if (status == 0) status = ggs_query_u64(&request->query, "from", 0, INT64_MAX, &from, error);
    if (status == 0) status = ggs_query_u64(&request->query, "count", 1, INT64_MAX, &count, error);
    if (status == 0) status = ggs_query_u64(&request->query, "desc", 0, 1, &down, error);
    const char * sort = ggs_query_text(&request->query, "sort");
    if (status == 0) status = ggs_query_finish(&request->query, error);
    struct ggs_requests_options options = {.cells      = cells != 0,
                                           .batches    = batches != 0,
                                           .most       = GGS_MOMENTS_MOST,
                                           .request    = only,
                                           .sort       = sort,
                                           .descending = down != 0,
                                           .from       = from,
                                           .count      = count};
    if (status == 0) status = ggs_requests_answer_compute(&answer, &request->trace, &options, error);
    if (status != 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_requests_answer_write(&json, &answer);
    ggs_requests_answer_release(&answer);
    return ggs_reply_close(request->answer, &json, error);
}

int ggs_route_slots(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_overview * overview;
    struct ggs_timeline_window  window;
    struct ggs_slots            slots;
    struct ggs_json             json;
    int                         status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status == 0) status = ggs_query_pixels(&request->query, overview, &window, error);
    if (status == 0) status = ggs_slots_compute(&slots, &request->trace, window, error);
    if (status < 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_object_write(&json, NULL, &ggs_slots_object, &slots, &request->trace);
    ggs_slots_release(&slots);
    return ggs_reply_close(request->answer, &json, error);
}
