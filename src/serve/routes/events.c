// /api/x/N/faults and /api/x/N/disk: the longest page faults and block requests, in order of time.
// The first pass over the table finds them, the second writes them.
#include <stdlib.h>

#include "analyze/machine/faults.h"
#include "answer/answer.h"
#include "base/error.h"
#include "serve/routes/routes.h"

enum { MOST = 500 };

struct longest {
    struct ggs_question * request;
    struct ggs_json *     json; // NULL in the first pass
    int64_t               first, last;
    uint64_t              count, row;
    uint64_t              n;
    struct kept {
        uint64_t ns, row;
    } kept[MOST]; // a heap with the shortest on top
};

static bool is_less(const struct kept * a, const struct kept * b) {
    return a->ns != b->ns ? a->ns < b->ns : a->row > b->row; // of equal ones the later is evicted first
}

static void exchange(struct kept * a, struct kept * b) {
    struct kept was = *a;
    *a              = *b;
    *b              = was;
}

static void keep(struct longest * l, uint64_t ns, uint64_t row) {
    struct kept * kept = l->kept;
    uint64_t      at   = l->n;
    if (l->n < l->count) {
        kept[l->n++] = (struct kept){ns, row};
        for (; at > 0 && is_less(&kept[at], &kept[(at - 1) / 2]); at = (at - 1) / 2)
            exchange(&kept[at], &kept[(at - 1) / 2]);
        return;
    }
    if (ns <= kept[0].ns) return;
    kept[0] = (struct kept){ns, row};
    for (at = 0;;) {
        uint64_t least = at;
        for (uint64_t child = 2 * at + 1; child <= 2 * at + 2 && child < l->n; child++)
            if (is_less(&kept[child], &kept[least])) least = child;
        if (least == at) return;
        exchange(&kept[at], &kept[least]);
        at = least;
    }
}

// Called for every row in order; true if the row is to be written.
static bool is_written(struct longest * l, int64_t step, const struct ggs_whereabouts * where,
                       const struct ggs_where_event * event) {
    uint64_t row = l->row++;
    bool     all = l->first == INT64_MIN; // includes rows outside of steps
    if ((!all && (step < l->first || step > l->last)) || !ggs_trace_has_step(&l->request->trace, step)) return false;
    if (!ggs_where_fits(where, event, l->request->trace.filter)) return false;
    if (l->json == NULL) keep(l, event->duration_ns, row);
    for (uint64_t i = 0; l->json != NULL && i < l->n; i++)
        if (l->kept[i].row == row) return true;
    return false;
}

static int go_through_faults(struct longest * l, struct ggs_error * error) {
    struct ggs_fault_walk walk   = {0};
    int                   status = ggs_fault_walk_open(&walk, &l->request->trace, error);
    while (status >= 0 && (status = ggs_fault_walk_next(&walk, error)) > 0) {
        const struct ggs_fault * row   = &walk.fault;
        struct ggs_where_event   event = {row->begin_ns, row->duration_ns, row->file, row->file_offset};
        if (is_written(l, row->step, &walk.where, &event)) ggs_fault_write_row(l->json, row, &walk.where);
    }
    ggs_fault_walk_close(&walk);
    return status;
}

static int go_through_requests(struct longest * l, struct ggs_error * error) {
    struct ggs_trace *       trace  = &l->request->trace;
    struct ggs_where *       where  = NULL;
    struct ggs_cursor *      cursor = NULL;
    struct ggs_block_request row;
    int                      status = ggs_where_open(&where, trace, error);
    if (status == 0) status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_BLOCK_REQUESTS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_whereabouts about;
        struct ggs_where_event event = {row.begin_ns, row.duration_ns, row.file, row.file_offset};
        status = ggs_where_find(where, row.begin_ns, row.run, row.node, row.file, row.file_offset, &about, error);
        if (status == 0 && is_written(l, row.step, &about, &event)) ggs_block_request_write_row(l->json, &row, &about);
    }
    ggs_cursor_close(cursor);
    ggs_where_close(where);
    return status;
}

static int answer(struct ggs_question * request, const struct ggs_object *                            object,
                  int (*go_through)(struct longest * l, struct ggs_error * error), struct ggs_error * error) {
    struct ggs_json  json;
    struct longest * l      = calloc(1, sizeof(*l));
    int              status = l == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) l->request = request, l->first = INT64_MIN, l->last = INT64_MAX, l->count = 100;
    if (status == 0) status = ggs_query_tokens(&request->query, &l->first, &l->last, error);
    if (status == 0) status = ggs_query_u64(&request->query, "count", 1, MOST, &l->count, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = go_through(l, error);
    if (status == 0) {
        l->json = &json, l->row = 0;
        ggs_reply_open(request->answer, &json);
        ggs_object_begin(&json, object, &request->trace, &request->trace);
        status = go_through(l, error);
        ggs_object_end(&json, object, NULL, NULL);
        int closed = ggs_reply_close(request->answer, &json, error);
        if (status == 0) status = closed;
    }
    free(l);
    return status;
}

int ggs_route_faults(struct ggs_question * request, struct ggs_error * error) {
    return answer(request, &ggs_faults_object, go_through_faults, error);
}

int ggs_route_disk(struct ggs_question * request, struct ggs_error * error) {
    return answer(request, &ggs_block_requests_object, go_through_requests, error);
}
