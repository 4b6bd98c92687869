// /api/x/N/prove: the output of `ggscope prove --json`.
#include "answer/answer.h"

#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_prove(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_proof proof;
    struct ggs_json  json;
    int              status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_proof_compute(&proof, &request->trace, error);
    if (status < 0) return status;
    ggs_reply_open(request->answer, &json);
    ggs_answer_write(&json, &ggs_proof_object, &proof, &request->trace);
    ggs_proof_release(&proof);
    return ggs_reply_close(request->answer, &json, error);
}
