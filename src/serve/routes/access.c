// /api/x/N/access: where in the model's files ops read over time, as a grid; only cells that have something are sent.
#include <stdlib.h>

#include "analyze/memory/access-map.h"
#include "base/array.h"
#include "base/error.h"
#include "serve/routes/columns.h"
#include "serve/routes/routes.h"

struct cell {
    double   amount;
    uint16_t column, row;
    uint8_t  layer;
};

static int list_cells(const struct ggs_access_map * map, struct cell ** cells, uint64_t * n, struct ggs_error * error) {
    uint64_t capacity = 0;
    for (unsigned layer = 0; layer < GGS_ACCESS_LAYERS; layer++) {
        for (uint64_t i = 0; i < map->columns * map->rows; i++) {
            struct cell cell = {map->cells[layer][i], (uint16_t) (i % map->columns), (uint16_t) (i / map->columns),
                                (uint8_t) layer};
            if (cell.amount > 0 && !ggs_array_push(*cells, *n, capacity, cell)) return ggs_fail_memory(error);
        }
    }
    return 0;
}

static int write_cells(const struct ggs_access_map * map, struct ggs_question * request, struct ggs_error * error) {
    static const char * const names[GGS_ACCESS_LAYERS] = {"bytes_mapped", "bytes_copied", "faults", "bytes_requested"};
    static const struct cell  none;
    struct cell *             cells   = NULL;
    uint64_t                  n       = 0;
    struct ggs_columns *      columns = malloc(sizeof(*columns));
    int                       status  = columns == NULL ? ggs_fail_memory(error) : list_cells(map, &cells, &n, error);
    if (status == 0) {
        const struct cell * first = n == 0 ? &none : cells;
        ggs_columns_begin(columns, n, map->begin_ns);
        ggs_json_i64(&columns->json, "begin_ns", map->begin_ns);
        ggs_json_i64(&columns->json, "end_ns", map->end_ns);
        ggs_json_u64(&columns->json, "first_byte", map->first_byte);
        ggs_json_u64(&columns->json, "end_byte", map->end_byte);
        ggs_json_u64(&columns->json, "axis_bytes", map->axis_bytes);
        ggs_json_u64(&columns->json, "n_columns", map->columns);
        ggs_json_u64(&columns->json, "n_rows", map->rows);
        ggs_json_object_inline(&columns->json, "sums");
        for (unsigned i = 0; i < GGS_ACCESS_LAYERS; i++) ggs_json_double(&columns->json, names[i], map->sums[i]);
        ggs_json_end(&columns->json);
        ggs_columns_add(columns, "layer", GGS_COLUMNS_U8, &first->layer, sizeof(*first), n);
        ggs_columns_add(columns, "column", GGS_COLUMNS_U16, &first->column, sizeof(*first), n);
        ggs_columns_add(columns, "row", GGS_COLUMNS_U16, &first->row, sizeof(*first), n);
        ggs_columns_add(columns, "amount", GGS_COLUMNS_F64, &first->amount, sizeof(*first), n);
        status = ggs_columns_end(columns, request->answer, error);
    }
    free(cells);
    free(columns);
    return status;
}

int ggs_route_access(struct ggs_question * request, struct ggs_error * error) {
    const int64_t               far = INT64_MAX / 4;
    const struct ggs_overview * overview;
    struct ggs_access_map       map    = {.columns = 600, .rows = 300};
    int                         status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status < 0) return status;
    map.begin_ns = overview->begin_ns, map.end_ns = overview->end_ns;
    status = ggs_query_i64(&request->query, "begin", -far, far, &map.begin_ns, error);
    if (status == 0) status = ggs_query_i64(&request->query, "end", -far, far, &map.end_ns, error);
    if (status == 0) status = ggs_query_u64(&request->query, "first", 0, (uint64_t) far, &map.first_byte, error);
    if (status == 0) status = ggs_query_u64(&request->query, "last", 0, (uint64_t) far, &map.end_byte, error);
    if (status == 0)
        status = ggs_query_u64(&request->query, "columns", 1, GGS_ACCESS_COLUMNS_MOST, &map.columns, error);
    if (status == 0) status = ggs_query_u64(&request->query, "rows", 1, GGS_ACCESS_ROWS_MOST, &map.rows, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && map.end_ns <= map.begin_ns)
        status = ggs_fail(error, GGS_USAGE, "the window must end behind its begin");
    if (status < 0) return status;
    ggs_request_expect(request, overview->op_runs);
    status = ggs_access_map_compute(&map, &request->trace, error);
    if (status < 0) return status;
    status = write_cells(&map, request, error);
    ggs_access_map_release(&map);
    return status;
}
