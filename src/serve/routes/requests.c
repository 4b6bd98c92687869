// /api/x/N/requests: what each slot of a server computed, and the memory of contexts over time.
#include "answer/requests.h"
#include "serve/routes/routes.h"

int ggs_route_requests(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_requests  requests;
    struct ggs_cell_uses cells = {0};
    struct ggs_json      json;
    uint64_t             with_cells = 0;
    int                  status     = ggs_query_u64(&request->query, "cells", 0, 1, &with_cells, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_requests_list(&requests, &request->trace, false, error);
    if (status != 0) return status;
    if (with_cells) status = ggs_cell_uses_compute(&cells, &request->trace, GGS_CELL_USES_MOST, error);
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_requests_write(&json, &request->trace, &requests, with_cells ? &cells : NULL);
        status = ggs_reply_close(request->answer, &json, error);
    }
    ggs_cell_uses_release(&cells);
    ggs_requests_release(&requests);
    return status;
}
