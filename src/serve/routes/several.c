// /api/several and /api/domains: up to twelve experiments side by side, and the experts that they
// choose.
#include "answer/several.h"

#include <stdlib.h>

#include "answer/domains.h"
#include "base/error.h"
#include "serve/routes/routes.h"

_Static_assert((int) GGS_SEVERAL_MOST == (int) GGS_DOMAINS_MOST, "one list of experiments for both");

struct chosen {
    unsigned              n;
    struct ggs_snapshot * snapshots[GGS_SEVERAL_MOST];
    struct ggs_trace      traces[GGS_SEVERAL_MOST];
    char *                paths[GGS_SEVERAL_MOST];
};

typedef int (*comparison)(struct chosen * chosen, struct ggs_reply * reply, struct ggs_error * error);

// "of=0,2,5": numbers of experiments.
static int acquire(struct ggs_question * request, struct chosen * chosen, struct ggs_error * error) {
    unsigned indices[GGS_SEVERAL_MOST], n = 0;
    int      status = ggs_query_indices(&request->query, "of", 2, GGS_SEVERAL_MOST, indices, &n, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    while (status == 0 && chosen->n < n) {
        struct ggs_snapshot ** snapshot = &chosen->snapshots[chosen->n];
        struct ggs_trace *     trace    = &chosen->traces[chosen->n];
        status = ggs_experiments_acquire(request->experiments, indices[chosen->n], snapshot, error);
        if (status < 0) break;
        *trace                     = ggs_trace_borrow(&(*snapshot)->trace);
        trace->watch               = &request->progress->watch;
        chosen->paths[chosen->n++] = (*snapshot)->directory;
    }
    return status;
}

static int answer(struct ggs_question * request, comparison compare, struct ggs_error * error) {
    struct chosen * chosen  = calloc(1, sizeof(*chosen));
    uint64_t        op_runs = 0;
    if (chosen == NULL) return ggs_fail_memory(error);
    int status = acquire(request, chosen, error);
    for (unsigned i = 0; i < chosen->n; i++) op_runs += ggs_reader_rows(chosen->traces[i].reader, GGS_TABLE_OP_RUNS);
    ggs_request_expect(request, op_runs);
    if (status == 0) status = compare(chosen, request->answer, error);
    for (unsigned i = 0; i < chosen->n; i++) {
        ggs_trace_return(&chosen->traces[i]);
        ggs_snapshot_release(chosen->snapshots[i]);
    }
    free(chosen);
    return status;
}

static int compare_figures(struct chosen * chosen, struct ggs_reply * reply, struct ggs_error * error) {
    struct ggs_several several;
    struct ggs_json    json;
    int                status = ggs_several_compute(&several, chosen->traces, chosen->n, error);
    if (status < 0) return status;
    struct ggs_several_answer it = {&several, chosen->paths, chosen->traces, chosen->n};
    ggs_reply_open(reply, &json);
    ggs_object_write(&json, NULL, &ggs_several_object, &it, NULL);
    ggs_several_release(&several);
    return ggs_reply_close(reply, &json, error);
}

static int compare_experts(struct chosen * chosen, struct ggs_reply * reply, struct ggs_error * error) {
    struct ggs_experts_options options = {.last_token = INT64_MAX};
    struct ggs_domains         domains;
    struct ggs_json            json;
    int                        status = ggs_domains_compute(&domains, chosen->traces, chosen->n, &options, error);
    if (status < 0) return status;
    struct ggs_domains_answer it = {&domains, chosen->paths, chosen->traces};
    ggs_reply_open(reply, &json);
    ggs_object_write(&json, NULL, &ggs_domains_object, &it, NULL);
    ggs_domains_release(&domains);
    return ggs_reply_close(reply, &json, error);
}

int ggs_route_several(struct ggs_question * request, struct ggs_error * error) {
    return answer(request, compare_figures, error);
}

int ggs_route_domains(struct ggs_question * request, struct ggs_error * error) {
    return answer(request, compare_experts, error);
}
