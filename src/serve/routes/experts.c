// /api/x/N/experts: the chosen experts.
#include "answer/answer.h"

#include "serve/routes/routes.h"

int ggs_route_experts(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_experts_options options = {.last_token = INT64_MAX};
    struct ggs_experts         experts;
    struct ggs_json            json;
    int status = ggs_query_tokens(&request->query, &options.first_token, &options.last_token, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status != 0) return status;
    ggs_request_expect(request, ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_experts_compute(&experts, &request->trace, &options, error);
    if (status < 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_answer_write(&json, &ggs_experts_object, &experts, &request->trace);
    status = ggs_reply_close(request->answer, &json, error);
    ggs_experts_release(&experts);
    return status;
}
