// /api/x/N/aggregate: totals of a time window.
#include "answer/answer.h"

#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_aggregate(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_overview * overview;
    struct ggs_aggregate        window;
    struct ggs_json             json;
    int                         status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status < 0) return status;
    int64_t begin = overview->begin_ns, end = overview->end_ns;
    status = ggs_query_window(&request->query, &begin, &end, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status < 0) return status;
    ggs_request_expect(request, overview->op_runs);
    status = ggs_aggregate_compute(&window, &request->trace, overview, begin, end, error);
    if (status < 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_answer_write(&json, &ggs_aggregate_object, &window, &request->trace);
    ggs_aggregate_release(&window);
    return ggs_reply_close(request->answer, &json, error);
}
