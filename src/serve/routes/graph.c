// /api/x/N/graph: the compute graph of a token step, with the ops of one of its runs.
#include "answer/answer.h"

#include <stdlib.h>

#include "serve/routes/routes.h"

// Finds all runs of the run's token step, so that the client can request the others; or only the
// run. Of a token step, `shown` is the run that executed most nodes.
static int find_runs(struct ggs_question * request, int64_t token, uint64_t run, struct ggs_run * shown,
                     struct ggs_run ** runs, uint64_t * n, struct ggs_error * error) {
    int status = ggs_graph_runs(&request->trace, token, run, runs, n, error);
    if (status < 0) return status;
    *shown = *ggs_graph_main_run(*runs, *n);
    if (run == 0 || shown->step < 0) return 0;
    free(*runs);
    return ggs_graph_runs(&request->trace, shown->step, 0, runs, n, error);
}

int ggs_route_graph(struct ggs_question * request, struct ggs_error * error) {
    int64_t               token = 0;
    uint64_t              run   = 0, n;
    struct ggs_run        shown, *runs;
    struct ggs_graph_view view;
    struct ggs_json       json;
    int                   status = ggs_query_i64(&request->query, "token", 0, INT64_MAX, &token, error);
    if (status == 0) status = ggs_query_u64(&request->query, "run", 1, UINT32_MAX, &run, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = find_runs(request, token, run, &shown, &runs, &n, error);
    if (status != 0) return status;
    status = ggs_graph_view_compute(&view, &request->trace, &shown, true, error);
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_graph_write_begin(&json, &request->trace, runs, n);
        ggs_graph_write(&json, &view);
        ggs_graph_write_end(&json);
        status = ggs_reply_close(request->answer, &json, error);
        ggs_graph_view_release(&view);
    }
    free(runs);
    return status;
}
