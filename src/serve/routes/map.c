// /api/x/N/map: the layout of the model's files.
#include "answer/answer.h"
#include "serve/routes/routes.h"

int ggs_route_map(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_model_map * map;
    struct ggs_json              json;
    int                          status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_map(request->snapshot, &map, error);
    if (status != 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_answer_write(&json, &ggs_map_object, map, &request->trace);
    return ggs_reply_close(request->answer, &json, error);
}
