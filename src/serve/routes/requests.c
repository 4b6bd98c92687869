// /api/x/N/requests: what each slot of a server computed, what batches were made of, and the memory of contexts over time.
#include "answer/requests.h"
#include "serve/routes/routes.h"

int ggs_route_requests(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_requests_answer answer;
    struct ggs_json            json;
    uint64_t                   cells = 0, batches = 0;
    int                        status = ggs_query_u64(&request->query, "cells", 0, 1, &cells, error);
    if (status == 0) status = ggs_query_u64(&request->query, "batches", 0, 1, &batches, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    struct ggs_requests_options options = {.cells = cells != 0, .batches = batches != 0, .most = GGS_MOMENTS_MOST};
    if (status == 0) status = ggs_requests_answer_compute(&answer, &request->trace, &options, error);
    if (status != 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_requests_answer_write(&json, &answer);
    ggs_requests_answer_release(&answer);
    return ggs_reply_close(request->answer, &json, error);
}
