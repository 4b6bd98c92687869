// /api/x/N/disk: the requests to the disk that took longest, in order of time.
#include <stdlib.h>

#include "answer/answer.h"
#include "base/error.h"
#include "serve/routes/longest.h"
#include "serve/routes/routes.h"

// Goes through the requests of some steps: finds the longest, or with `json` writes those that were found.
static int go_through(struct ggs_longest * l, struct ggs_question * request, int64_t first, int64_t last,
                      struct ggs_json * json, struct ggs_error * error) {
    struct ggs_where *       where  = NULL;
    struct ggs_cursor *      cursor = NULL;
    struct ggs_block_request row;
    bool                     all    = first == INT64_MIN;
    int                      status = ggs_where_open(&where, &request->trace, error);
    if (status == 0) status = ggs_cursor_open(&cursor, request->trace.reader, GGS_TABLE_BLOCK_REQUESTS, error);
    for (uint64_t i = 0; status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0; i++) {
        struct ggs_whereabouts about;
        bool wanted = (all || (row.step >= first && row.step <= last)) && ggs_trace_has_step(&request->trace, row.step);
        if (wanted && json == NULL) ggs_longest_keep(l, row.duration_ns, i);
        if (!wanted || json == NULL || !ggs_longest_has(l, i)) continue;
        status = ggs_where_find(where, row.begin_ns, row.run, row.node, row.file, row.file_offset, &about, error);
        if (status == 0) ggs_request_log_write_row(json, &row, &about);
    }
    ggs_cursor_close(cursor);
    ggs_where_close(where);
    return status;
}

int ggs_route_disk(struct ggs_question * request, struct ggs_error * error) {
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
        ggs_json_object(&json, NULL);
        ggs_answer_experiment(&json, &request->trace);
        ggs_json_array(&json, "block_requests");
        status = go_through(l, request, first, last, &json, error);
        ggs_json_end(&json);
        ggs_json_end(&json);
        int closed = ggs_reply_close(request->answer, &json, error);
        if (status == 0) status = closed;
    }
    free(l);
    return status;
}
