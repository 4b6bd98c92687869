// /api/compare: the differences between two experiments.
#include "answer/diff.h"
#include "serve/routes/routes.h"

static int compare(struct ggs_question * request, struct ggs_snapshot * a, struct ggs_snapshot * b,
                   struct ggs_error * error) {
    struct ggs_diff  diff;
    struct ggs_trace traces[2] = {ggs_trace_borrow(&a->trace), ggs_trace_borrow(&b->trace)};
    uint64_t         op_runs   = 0;
    for (int i = 0; i < 2; i++) {
        traces[i].watch = &request->progress->watch;
        op_runs += ggs_reader_rows(traces[i].reader, GGS_TABLE_OP_RUNS);
    }
    ggs_request_expect(request, 2 * op_runs);
    int status = ggs_diff_compute(&diff, &traces[0], &traces[1], error);
    if (status == 0) {
        struct ggs_json json;
        ggs_reply_open(request->answer, &json);
        struct ggs_diff_answer answer = {&traces[0], &traces[1], &diff, NULL, 0};
        ggs_answer_write(&json, &ggs_diff_object, &answer, &traces[0]);
        status = ggs_reply_close(request->answer, &json, error);
        ggs_diff_release(&diff);
    }
    for (int i = 0; i < 2; i++) ggs_trace_return(&traces[i]);
    return status;
}

int ggs_route_compare(struct ggs_question * request, struct ggs_error * error) {
    uint64_t              index[2]     = {0, 1};
    struct ggs_snapshot * snapshots[2] = {NULL, NULL};
    int                   status       = ggs_query_u64(&request->query, "a", 0, UINT16_MAX, &index[0], error);
    if (status == 0) status = ggs_query_u64(&request->query, "b", 0, UINT16_MAX, &index[1], error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    for (int i = 0; i < 2 && status == 0; i++)
        status = ggs_experiments_acquire(request->experiments, (unsigned) index[i], &snapshots[i], error);
    if (status == 0) status = compare(request, snapshots[0], snapshots[1], error);
    for (int i = 0; i < 2; i++) ggs_snapshot_release(snapshots[i]);
    return status;
}
