// /api/x/N/aggregate: what happened in a window of time.
#include "answer/answer.h"

#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_aggregate(struct ggs_question * request, struct ggs_error * error) {
    const int64_t               far = INT64_MAX / 4;
    const struct ggs_overview * overview;
    struct ggs_aggregate        window;
    struct ggs_json             json;
    int                         status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status < 0) return status;
    int64_t begin = overview->begin_ns, end = overview->end_ns;
    status = ggs_query_i64(&request->query, "begin", -far, far, &begin, error);
    if (status == 0) status = ggs_query_i64(&request->query, "end", -far, far, &end, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && end <= begin) status = ggs_fail(error, GGS_USAGE, "the window must end behind its begin");
    if (status < 0) return status;
    ggs_request_expect(request, overview->op_runs);
    status = ggs_aggregate_compute(&window, &request->trace, overview, begin, end, error);
    if (status < 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_aggregate_write(&json, &request->trace, &window);
    ggs_aggregate_release(&window);
    return ggs_reply_close(request->answer, &json, error);
}
