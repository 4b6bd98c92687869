// /api/x/N/roofline: the output of `ggscope stats --roofline --json`.
#include "analyze/ops/roofline.h"

#include "answer/answer.h"
#include "answer/ops/stats.h"
#include "serve/routes/routes.h"

int ggs_route_roofline(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_totals_range     range = ggs_totals_all;
    const struct ggs_overview * overview;
    struct ggs_roofline         roofline;
    struct ggs_limits           limits;
    struct ggs_json             json;
    int                         status = ggs_query_tokens(&request->query, &range.first_step, &range.last_step, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status != 0) return status;
    ggs_request_expect(request, ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_roofline_compute(&roofline, &request->trace, &range, error);
    if (status < 0) return status;
    ggs_stats_limits(&limits, &request->trace, request->snapshot->directory);
    struct ggs_rates rates = ggs_limits_of(&limits, overview->threads);
    ggs_reply_open(request->answer, &json);
    ggs_roofline_write(&json, &request->trace, &roofline, &rates);
    ggs_roofline_release(&roofline);
    return ggs_reply_close(request->answer, &json, error);
}
