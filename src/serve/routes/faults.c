// /api/x/N/faults: the page faults that held threads up longest, as `ggscope log --faults --json` tells them, in order of time.
#include <stdlib.h>

#include "analyze/machine/faults.h"
#include "answer/answer.h"
#include "base/error.h"
#include "serve/routes/routes.h"

enum { COUNT_MOST = 500 };

// The longest so far: a heap whose first is the shortest of them.
struct longest {
    uint64_t count, n;
    struct {
        uint64_t ns, row;
    } kept[COUNT_MOST];
};

static bool is_less(const struct longest * l, uint64_t a, uint64_t b) {
    // Of equal ones the later goes first.
    return l->kept[a].ns != l->kept[b].ns ? l->kept[a].ns < l->kept[b].ns : l->kept[a].row > l->kept[b].row;
}

static void exchange(struct longest * l, uint64_t a, uint64_t b) {
    uint64_t ns = l->kept[a].ns, row = l->kept[a].row;
    l->kept[a]    = l->kept[b];
    l->kept[b].ns = ns, l->kept[b].row = row;
}

static void keep(struct longest * l, uint64_t ns, uint64_t row) {
    uint64_t at = l->n;
    if (l->count == 0) return;
    if (l->n < l->count) {
        l->kept[at].ns = ns, l->kept[at].row = row;
        l->n++;
        for (; at > 0 && is_less(l, at, (at - 1) / 2); at = (at - 1) / 2) exchange(l, at, (at - 1) / 2);
        return;
    }
    if (ns <= l->kept[0].ns) return;
    l->kept[0].ns = ns, l->kept[0].row = row;
    for (at = 0;;) {
        uint64_t least = at;
        for (uint64_t child = 2 * at + 1; child <= 2 * at + 2 && child < l->n; child++)
            if (is_less(l, child, least)) least = child;
        if (least == at) return;
        exchange(l, at, least);
        at = least;
    }
}

static bool is_kept(const struct longest * l, uint64_t row) {
    for (uint64_t i = 0; i < l->n; i++)
        if (l->kept[i].row == row) return true;
    return false;
}

// Goes through the faults of some steps: finds the longest, or with `json` writes those that were found.
static int go_through(struct longest * l, struct ggs_question * request, int64_t first, int64_t last,
                      struct ggs_json * json, struct ggs_error * error) {
    struct ggs_fault_walk walk;
    uint64_t              row = 0;
    bool                  all = first == INT64_MIN;
    int                   more, status = ggs_fault_walk_open(&walk, &request->trace, error);
    if (status < 0) return status;
    while ((more = ggs_fault_walk_next(&walk, error)) > 0) {
        bool wanted = all || (walk.fault.step >= first && walk.fault.step <= last);
        if (wanted && json == NULL) keep(l, walk.fault.duration_ns, row);
        if (wanted && json != NULL && is_kept(l, row)) ggs_fault_log_write_row(json, &walk.fault, &walk.where);
        row++;
    }
    ggs_fault_walk_close(&walk);
    return more;
}

int ggs_route_faults(struct ggs_question * request, struct ggs_error * error) {
    int64_t          first = INT64_MIN, last = INT64_MAX;
    struct ggs_json  json;
    struct longest * l      = calloc(1, sizeof(*l));
    int              status = l == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) l->count = 100;
    if (status == 0) status = ggs_query_tokens(&request->query, &first, &last, error);
    if (status == 0) status = ggs_query_u64(&request->query, "count", 1, COUNT_MOST, &l->count, error);
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
