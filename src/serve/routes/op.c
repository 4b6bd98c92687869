// /api/x/N/op: all about one op.
#include "answer/answer.h"

#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_op(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_overview * overview;
    uint64_t                    run = 0, node = 0;
    struct ggs_json             json;
    int                         status = ggs_query_u64(&request->query, "run", 1, UINT32_MAX, &run, error);
    if (status == 0) status = ggs_query_u64(&request->query, "node", 0, UINT32_MAX, &node, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && run == 0) status = ggs_fail(error, GGS_USAGE, "which op? run and node tell");
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status != 0) return status;
    ggs_reply_open(request->answer, &json);
    status = ggs_op_write(&json, &request->trace, overview, run, node, error);
    return status < 0 ? status : ggs_reply_close(request->answer, &json, error);
}
