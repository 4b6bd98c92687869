// /api/x/N/faults: the page faults that held threads up longest, as `ggscope log --faults --json` tells them, in order of time.
#include <stdlib.h>

#include "analyze/machine/faults.h"
#include "answer/answer.h"
#include "base/error.h"
#include "serve/routes/longest.h"
#include "serve/routes/routes.h"

// Goes through the faults of some steps: finds the longest, or with `json` writes those that were found.
static int go_through(struct ggs_longest * l, struct ggs_question * request, int64_t first, int64_t last,
                      struct ggs_json * json, struct ggs_error * error) {
    struct ggs_fault_walk walk;
    uint64_t              row = 0;
    bool                  all = first == INT64_MIN;
    int                   more, status = ggs_fault_walk_open(&walk, &request->trace, error);
    if (status < 0) return status;
    while ((more = ggs_fault_walk_next(&walk, error)) > 0) {
        bool wanted = (all || (walk.fault.step >= first && walk.fault.step <= last)) &&
                      ggs_trace_has_step(&request->trace, walk.fault.step);
        if (wanted && json == NULL) ggs_longest_keep(l, walk.fault.duration_ns, row);
        if (wanted && json != NULL && ggs_longest_has(l, row)) ggs_fault_log_write_row(json, &walk.fault, &walk.where);
        row++;
    }
    ggs_fault_walk_close(&walk);
    return more;
}

int ggs_route_faults(struct ggs_question * request, struct ggs_error * error) {
    int64_t              first = INT64_MIN, last = INT64_MAX;
    struct ggs_json      json;
    struct ggs_longest * l      = calloc(1, sizeof(*l));
    int                  status = l == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) l->count = 100;
    if (status == 0) status = ggs_query_tokens(&request->query, &first, &last, error);
    if (status == 0) status = ggs_query_u64(&request->query, "count", 1, GGS_LONGEST_MOST, &l->count, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = go_through(l, request, first, last, NULL, error);
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_fault_log_write_begin(&json, &request->trace);
        status = go_through(l, request, first, last, &json, error);
        ggs_fault_log_write_end(&json);
        int closed = ggs_reply_close(request->answer, &json, error);
        if (status == 0) status = closed;
    }
    free(l);
    return status;
}
