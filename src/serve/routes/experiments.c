// /api/experiments and /api/x/N/summary: what there is.
#include <stdlib.h>

#include "answer/answer.h"
#include "answer/summary.h"
#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_experiments(struct ggs_question * request, struct ggs_error * error) {
    static const struct ggs_field fields[] = {
        GGS_FIELD_OR_NULL(struct ggs_experiments_state, id, "experiment_id"),
        GGS_FIELD(struct ggs_experiments_state, name, "name"),
        GGS_FIELD(struct ggs_experiments_state, directory, "directory"),
        GGS_FIELD(struct ggs_experiments_state, state, "state"),
        GGS_FIELD(struct ggs_experiments_state, live, "live"),
        GGS_FIELD_OR_NULL(struct ggs_experiments_state, error, "error"),
        {0},
    };
    struct ggs_json                json;
    struct ggs_experiments_state * state = malloc(sizeof(*state));
    int status = state == NULL ? ggs_fail_memory(error) : ggs_query_finish(&request->query, error);
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_json_array(&json, NULL);
        for (unsigned i = 0; i < ggs_experiments_count(request->experiments); i++) {
            ggs_experiments_state(request->experiments, i, state);
            ggs_json_object(&json, NULL);
            ggs_json_u64(&json, "index", i);
            ggs_fields_members(&json, fields, state);
            ggs_json_end(&json);
        }
        ggs_json_end(&json);
        status = ggs_reply_close(request->answer, &json, error);
    }
    free(state);
    return status;
}

int ggs_route_summary(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_experiments_state state;
    struct ggs_summary           summary = {.trace = &request->trace};
    struct ggs_json              json;
    int                          status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &summary.overview, error);
    if (status == 0) status = ggs_snapshot_map(request->snapshot, &summary.map, error);
    if (status == 0) status = ggs_snapshot_levels(request->snapshot, summary.levels, &summary.n_levels, error);
    if (status != 0) return status;
    ggs_experiments_state(request->experiments, request->snapshot->index, &state);
    summary.name      = state.name;
    summary.directory = state.directory;
    summary.state     = state.state;
    summary.live      = request->snapshot->live;
    ggs_reply_open(request->answer, &json);
    status    = ggs_summary_write(&json, &summary, error);
    int ended = ggs_reply_close(request->answer, &json, error);
    return status < 0 ? status : ended;
}
