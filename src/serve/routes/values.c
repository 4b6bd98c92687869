// /api/x/N/values: a short form of `ggscope values --json`. /api/x/N/values-map: the same as a
// picture. /api/values-diff and /api/values-diff-map: `ggscope diff --values --json`, and a picture
// of it.
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "answer/pictures.h"
#include "answer/values-diff.h"
#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_values(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_value_asked  asked = {.last_step = INT64_MAX, .layer = -1};
    struct ggs_value_report report;
    struct ggs_json         json;
    int                     status = ggs_query_tokens(&request->query, &asked.first_step, &asked.last_step, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status < 0) return status;
    status       = ggs_value_report_compute(&report, &request->trace, &asked, error);
    report.brief = true;
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_answer_write(&json, &ggs_values_object, &report, &request->trace);
        status = ggs_reply_close(request->answer, &json, error);
    }
    ggs_value_report_release(&report);
    return status;
}

// ---- the picture ----

// Reads the parameters of the grid; refuses others.
static int read_grid(struct ggs_query * query, struct ggs_value_grid * grid, struct ggs_error * error) {
    const char *by = ggs_query_text(query, "by"), *of = ggs_query_text(query, "of");
    grid->by_layer = by != NULL && strcmp(by, "layer") == 0;
    grid->largest  = of != NULL && strcmp(of, "largest") == 0;
    if (by != NULL && !grid->by_layer && strcmp(by, "op") != 0)
        return ggs_fail(error, GGS_USAGE, "by takes op or layer, not '%.40s'", by);
    if (of != NULL && !grid->largest && strcmp(of, "rms") != 0)
        return ggs_fail(error, GGS_USAGE, "of takes rms or largest, not '%.40s'", of);
    int status = ggs_query_tokens(query, &grid->first_step, &grid->last_step, error);
    if (status == 0) status = ggs_query_u64(query, "from", 0, INT64_MAX, &grid->from, error);
    if (status == 0) status = ggs_query_u64(query, "to", 1, INT64_MAX, &grid->to, error);
    if (status == 0) status = ggs_query_u64(query, "columns", 1, GGS_GRID_COLUMNS, &grid->columns, error);
    if (status == 0) status = ggs_query_u64(query, "run", 1, UINT32_MAX, &grid->run, error);
    if (status == 0) status = ggs_query_finish(query, error);
    if (status == 0 && grid->to <= grid->from)
        status = ggs_fail(error, GGS_USAGE, "the window must end after its begin");
    return status;
}

static int write_grid(struct ggs_question * request, const struct ggs_value_grid * grid, const char * of,
                      struct ggs_error * error) {
    struct ggs_values_header header = {.grid = grid, .of = of};
    uint64_t                 n      = grid->n_lines * grid->n_columns;
    struct ggs_value_cell *  cells  = calloc(n + 1, sizeof(*cells));
    if (cells == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < grid->n_lines; i++)
        memcpy(cells + i * grid->n_columns, grid->line[i].cells, grid->n_columns * sizeof(*cells));
    ggs_columns_begin(&header.columns, n, 0);
    ggs_columns_add(&header.columns, &ggs_values_map_columns, cells, sizeof(*cells));
    int status = ggs_reply_columns(request->answer, &header.columns, &ggs_values_map_object, NULL, error);
    free(cells);
    return status;
}

int ggs_route_values_map(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_value_grid grid   = GGS_VALUE_GRID_ALL;
    int                   status = read_grid(&request->query, &grid, error);
    if (status == 0) status = ggs_value_grid_compute(&grid, &request->trace, error);
    if (status == 0) status = write_grid(request, &grid, grid.largest ? "largest" : "rms", error);
    ggs_value_grid_release(&grid);
    return status;
}

#ifndef __wasm__ // a report has one recording
// ---- two recordings ----

// Acquires A, which the caller releases. The request is then about B.
static int read_two(struct ggs_question * request, struct ggs_snapshot ** a, struct ggs_error * error) {
    uint64_t index[2] = {0, 1};
    *a                = NULL;
    int status        = ggs_query_u64(&request->query, "a", 0, UINT16_MAX, &index[0], error);
    if (status == 0) status = ggs_query_u64(&request->query, "b", 0, UINT16_MAX, &index[1], error);
    if (status == 0)
        status = ggs_experiments_acquire(request->experiments, (unsigned) index[1], &request->snapshot, error);
    if (status != 0) return status;
    request->trace       = ggs_trace_borrow(&request->snapshot->trace);
    request->trace.watch = &request->progress->watch;
    return ggs_experiments_acquire(request->experiments, (unsigned) index[0], a, error);
}

static int compare(struct ggs_question * request, struct ggs_snapshot * a, struct ggs_value_diff * diff,
                   struct ggs_value_grid * grid, struct ggs_error * error) {
    struct ggs_trace trace  = ggs_trace_borrow(&a->trace);
    int              status = ggs_value_diff_compute(diff, &trace, &request->trace, grid, error);
    if (status == 0 && grid != NULL) status = write_grid(request, grid, "error", error);
    if (status == 0 && grid == NULL) {
        struct ggs_json               json;
        struct ggs_values_diff_answer answer = {&trace, &request->trace, diff, NULL, 0};
        diff->brief                          = true;
        ggs_reply_open(request->answer, &json);
        ggs_answer_write(&json, &ggs_values_diff_object, &answer, &trace);
        status = ggs_reply_close(request->answer, &json, error);
    }
    ggs_trace_return(&trace);
    return status;
}

int ggs_route_values_diff(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_snapshot * a;
    struct ggs_value_diff diff   = {0};
    int                   status = read_two(request, &a, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = compare(request, a, &diff, NULL, error);
    ggs_value_diff_release(&diff);
    ggs_snapshot_release(a);
    return status;
}

int ggs_route_values_diff_map(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_snapshot * a;
    struct ggs_value_diff diff   = {0};
    struct ggs_value_grid grid   = GGS_VALUE_GRID_ALL;
    int                   status = read_two(request, &a, error);
    if (status == 0) status = ggs_query_ops(request, &request->ops, error);
    if (status == 0) status = read_grid(&request->query, &grid, error);
    if (status == 0) {
        request->trace.filter = &request->ops;
        status                = compare(request, a, &diff, &grid, error);
    }
    ggs_value_grid_release(&grid);
    ggs_value_diff_release(&diff);
    ggs_snapshot_release(a);
    return status;
}
#endif
