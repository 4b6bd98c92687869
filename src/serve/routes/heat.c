// /api/x/N/heat: number of touches, in the order of the map.
#include "answer/answer.h"
#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_heat(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_model_map * map     = NULL;
    struct ggs_heat              heat    = {0};
    struct ggs_machine_heat      machine = {0};
    struct ggs_json              json;
    int64_t                      first = 0, last = INT64_MAX;
    int                          status = ggs_query_tokens(&request->query, &first, &last, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_map(request->snapshot, &map, error);
    if (status != 0) return status;
    ggs_request_expect(request, ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_heat_compute(&heat, &request->trace, map, first, last, error);
    if (status < 0) return status;
    status = ggs_machine_heat_compute(&machine, &request->trace, map, first, last, error);
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_heat_write(&json, &request->trace, map, &heat, &machine);
        status = ggs_reply_close(request->answer, &json, error);
        ggs_machine_heat_release(&machine);
    }
    ggs_heat_release(&heat);
    return status;
}
