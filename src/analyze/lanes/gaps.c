#include "analyze/lanes/gaps.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

void ggs_gaps_release(struct ggs_gaps * gaps) {
    free(gaps->gap);
    *gaps = (struct ggs_gaps){0};
}

static int by_run(const void * a, const void * b) {
    const struct ggs_gap *x = a, *y = b;
    return x->run < y->run ? -1 : x->run > y->run;
}

static int by_begin(const void * a, const void * b) {
    const struct ggs_gap *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static int read_losses(struct ggs_gaps * gaps, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_loss     loss;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LOSSES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &loss, error)) > 0) {
        struct ggs_gap gap = {loss.reason, loss.lane, loss.run, loss.begin_ns, loss.end_ns, loss.count};
        if (gap.end_ns < gap.begin_ns) gap.end_ns = gap.begin_ns;
        if (ggs_loss_is_of_machine(loss.reason)) continue;
        if (!ggs_array_push(gaps->gap, gaps->n, gaps->capacity, gap)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// Runs and gaps both ascend by run.
static int find_runs(struct ggs_gaps * gaps, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    uint64_t            at     = 0;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    while (at < gaps->n && gaps->gap[at].run == 0) at++;
    if (status == 0 && at < gaps->n) ggs_cursor_keys(cursor, (int64_t) gaps->gap[at].run, INT64_MAX);
    while (status >= 0 && at < gaps->n && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        while (at < gaps->n && gaps->gap[at].run < run.run) at++;
        for (; at < gaps->n && gaps->gap[at].run == run.run; at++) {
            gaps->gap[at].begin_ns = run.begin_ns;
            gaps->gap[at].end_ns   = run.end_ns < run.begin_ns ? run.begin_ns : run.end_ns;
        }
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

int ggs_gaps_list(struct ggs_gaps * gaps, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                  struct ggs_error * error) {
    *gaps      = (struct ggs_gaps){0};
    int status = read_losses(gaps, trace, error);
    if (gaps->n > 1) qsort(gaps->gap, gaps->n, sizeof(*gaps->gap), by_run);
    if (status == 0) status = find_runs(gaps, trace, error);
    if (status < 0) {
        ggs_gaps_release(gaps);
        return status;
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < gaps->n; i++)
        if (gaps->gap[i].begin_ns < end_ns && gaps->gap[i].end_ns >= begin_ns) gaps->gap[kept++] = gaps->gap[i];
    gaps->n = kept;
    if (kept > 1) qsort(gaps->gap, kept, sizeof(*gaps->gap), by_begin);
    return 0;
}
