// /api/x/N/explain: the output of `ggscope explain --json`.
#include "answer/explain.h"

#include "answer/answer.h"
#include "serve/routes/routes.h"

int ggs_route_explain(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_explanation explanation;
    struct ggs_totals      totals;
    struct ggs_json        json;
    int                    status = ggs_query_finish(&request->query, error);
    if (status != 0) return status;
    ggs_request_expect(request, 2 * ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_totals_compute(&totals, &request->trace, &ggs_totals_all, error);
    if (status < 0) return status;
    status = ggs_explain_compute(&explanation, &request->trace, &totals, error);
    ggs_totals_release(&totals);
    if (status < 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_answer_write(&json, &ggs_explanation_object, &explanation, &request->trace);
    ggs_explanation_release(&explanation);
    return ggs_reply_close(request->answer, &json, error);
}
