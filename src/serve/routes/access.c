// /api/x/N/access: reads of the model's files by offset and time, as a grid; empty cells are
// omitted.
#include <stdlib.h>

#include "answer/pictures.h"
#include "base/array.h"
#include "base/error.h"
#include "serve/routes/routes.h"

static int list_cells(const struct ggs_access_map * map, struct ggs_access_cell ** cells, uint64_t * n,
                      struct ggs_error * error) {
    uint64_t capacity = 0;
    for (unsigned layer = 0; layer < GGS_ACCESS_LAYERS; layer++) {
        for (uint64_t i = 0; i < map->columns * map->rows; i++) {
            struct ggs_access_cell cell = {map->cells[layer][i], (uint16_t) (i % map->columns),
                                           (uint16_t) (i / map->columns), (uint8_t) layer};
            if (cell.amount > 0 && !ggs_array_push(*cells, *n, capacity, cell)) return ggs_fail_memory(error);
        }
    }
    return 0;
}

static int write_cells(const struct ggs_access_map * map, struct ggs_question * request, struct ggs_error * error) {
    struct ggs_access_header header = {.map = map};
    struct ggs_access_cell * cells  = NULL;
    uint64_t                 n      = 0;
    int                      status = list_cells(map, &cells, &n, error);
    if (status == 0) {
        ggs_columns_begin(&header.columns, n, map->begin_ns);
        ggs_columns_add(&header.columns, &ggs_access_columns, cells, sizeof(*cells));
        status = ggs_reply_columns(request->answer, &header.columns, &ggs_access_object, NULL, error);
    }
    free(cells);
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
        status = ggs_fail(error, GGS_USAGE, "the window must end after its begin");
    if (status < 0) return status;
    ggs_request_expect(request, overview->op_runs);
    status = ggs_access_map_compute(&map, &request->trace, error);
    if (status < 0) return status;
    status = write_cells(&map, request, error);
    ggs_access_map_release(&map);
    return status;
}
