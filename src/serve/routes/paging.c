// /api/x/N/paging: the output of `ggscope paging --json` with the streaming policy, and with the
// readahead of the model's disk unless another one is given.
#include "answer/paging.h"

#include <stdlib.h>

#include "base/error.h"
#include "serve/routes/routes.h"

// Reading the recording is the first half of the progress, replaying it the second.
static void report_progress(void * context, uint64_t done, uint64_t of) {
    struct ggs_question * request = context;
    uint64_t              half    = atomic_load(&request->progress->total) / 2;
    if (of > 0) atomic_store(&request->progress->watch.done, half + half * done / of);
}

int ggs_route_paging(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_paging_options options = {.last_step = INT64_MAX,
                                         .readahead = GGS_READAHEAD_CHOSEN,
                                         .policies  = {true, true, true, true, true},
                                         .progress  = report_progress,
                                         .context   = request};
    struct ggs_json           json;
    int status = ggs_query_u64(&request->query, "readahead", 0, GGS_READAHEAD_MOST, &options.readahead, error);
    if (status == 0) status = ggs_query_tokens(&request->query, &options.first_step, &options.last_step, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status < 0) return status;
    uint64_t rows = ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS);
    ggs_request_expect(request, 2 * (rows > 1000 ? rows : 1000));
    struct ggs_paging * paging = calloc(1, sizeof(*paging));
    if (paging == NULL) return ggs_fail_memory(error);
    status = ggs_paging_compute(paging, &request->trace, &options, error);
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_paging_write(&json, &request->trace, paging, &options);
        ggs_paging_release(paging);
        status = ggs_reply_close(request->answer, &json, error);
    }
    free(paging);
    return status;
}
