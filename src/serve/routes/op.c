// /api/x/N/op: details of one op. /api/x/N/same: the same op in other steps.
#include "answer/answer.h"

#include "base/error.h"
#include "serve/routes/routes.h"

// Reads the parameters run and node; rejects others.
static int read_op(struct ggs_question * request, uint64_t * run, uint64_t * node, struct ggs_error * error) {
    *run = *node = 0;
    int status   = ggs_query_u64(&request->query, "run", 1, UINT32_MAX, run, error);
    if (status == 0) status = ggs_query_u64(&request->query, "node", 0, UINT32_MAX, node, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    return status == 0 && *run == 0 ? ggs_fail(error, GGS_USAGE, "run and node are missing: together they name an op")
                                    : status;
}

int ggs_route_op(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_overview * overview;
    uint64_t                    run, node;
    struct ggs_json             json;
    int                         status = read_op(request, &run, &node, error);
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status != 0) return status;
    ggs_reply_open(request->answer, &json);
    status = ggs_op_write(&json, &request->trace, overview, run, node, error);
    return status < 0 ? status : ggs_reply_close(request->answer, &json, error);
}

int ggs_route_same(struct ggs_question * request, struct ggs_error * error) {
    uint64_t        run, node;
    struct ggs_json json;
    int             status = read_op(request, &run, &node, error);
    if (status != 0) return status;
    ggs_reply_open(request->answer, &json);
    status = ggs_same_ops_write(&json, &request->trace, run, node, error);
    return status < 0 ? status : ggs_reply_close(request->answer, &json, error);
}
