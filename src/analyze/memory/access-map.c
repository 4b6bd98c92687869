#include "analyze/memory/access-map.h"

#include <stdlib.h>

#include "analyze/machine/where.h"
#include "analyze/walk/times.h"
#include "analyze/walk/walk.h"
#include "base/error.h"

static int make_axis(struct ggs_access_map * map, const struct ggs_trace * trace, struct ggs_error * error) {
    map->file_base = malloc((trace->n_files + 1) * sizeof(*map->file_base));
    if (map->file_base == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_files; i++) {
        bool model        = trace->files[i].gguf != 0 && trace->files[i].size < 1ull << 52;
        map->file_base[i] = model ? map->axis_bytes : UINT64_MAX;
        if (model) map->axis_bytes += trace->files[i].size;
    }
    if (map->end_byte == 0 || map->end_byte > map->axis_bytes) map->end_byte = map->axis_bytes;
    if (map->first_byte >= map->end_byte) map->first_byte = 0;
    for (unsigned i = 0; i < GGS_ACCESS_LAYERS; i++) {
        map->cells[i] = calloc(map->columns * map->rows, sizeof(**map->cells));
        if (map->cells[i] == NULL) return ggs_fail_memory(error);
    }
    return 0;
}

// Maps [from, to) to n parts of [begin, end); false if it lies outside.
static bool parts_of(double begin, double end, uint64_t n, double from, double to, double * first, double * last) {
    double scale = (double) n / (end - begin);
    *first = (from - begin) * scale, *last = (to - begin) * scale;
    if (*last <= *first) *last = *first + 1e-6; // an instant
    return *last > 0 && *first < (double) n;
}

// Spreads an amount over a rectangle of time and bytes, clipped to the grid.
static void spread(struct ggs_access_map * map, enum ggs_access_layer layer, uint64_t file, uint64_t offset,
                   uint64_t bytes, int64_t from_ns, int64_t to_ns, double amount) {
    double x0, x1, y0, y1;
    if (map->file_base[file - 1] == UINT64_MAX || amount <= 0) return;
    double at = (double) map->file_base[file - 1] + (double) offset;
    if (!parts_of((double) map->begin_ns, (double) map->end_ns, map->columns, (double) from_ns, (double) to_ns, &x0,
                  &x1) ||
        !parts_of((double) map->first_byte, (double) map->end_byte, map->rows, at, at + (double) bytes, &y0, &y1))
        return;
    double per = amount / ((x1 - x0) * (y1 - y0)), right = (double) map->columns, bottom = (double) map->rows;
    double xa = x0 < 0 ? 0 : x0, xb = x1 > right ? right : x1, yb = y1 > bottom ? bottom : y1;
    for (double y = y0 < 0 ? 0 : y0; y < yb;) {
        uint64_t row    = (uint64_t) y;
        double   next_y = (double) (row + 1) < yb ? (double) (row + 1) : yb;
        for (double x = xa; x < xb;) {
            uint64_t column = (uint64_t) x;
            double   next_x = (double) (column + 1) < xb ? (double) (column + 1) : xb;
            double   part   = per * (next_x - x) * (next_y - y);
            map->cells[layer][row * map->columns + column] += (float) part;
            map->sums[layer] += part;
            x = next_x;
        }
        y = next_y;
    }
}

static int add_op(struct ggs_access_map * map, struct ggs_walk * walk, struct ggs_error * error) {
    const struct ggs_op_seen *     op = &walk->op;
    const struct ggs_access_list * list;
    int64_t from = map->by_step ? walk->run.step : op->begin_ns, to = map->by_step ? from + 1 : op->end_ns;
    if (from >= map->end_ns || to < map->begin_ns) return 0;
    int status = ggs_walk_accesses(walk, &list, error);
    for (unsigned i = 0; status == 0 && i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        uint64_t                  file, base;
        if (access->write || !ggs_trace_origin(access->tensor, &file, &base) || file > walk->trace->n_files) continue;
        bool mapped = access->tensor->source == GGS_SOURCE_DISK;
        for (uint32_t k = 0; k < access->n_ranges; k++) {
            uint64_t length = access->ranges[k].length < access->bytes ? access->ranges[k].length : access->bytes;
            spread(map, mapped ? GGS_ACCESS_MAPPED : GGS_ACCESS_COPIES, file, base + access->ranges[k].offset, length,
                   from, to, (double) length);
        }
    }
    return status;
}

static int add_ops(struct ggs_access_map * map, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_walk * walk;
    int               status = map->by_step ? ggs_walk_open(&walk, trace, map->begin_ns, map->end_ns - 1, error)
                                            : ggs_walk_open_window(&walk, trace, map->begin_ns, map->end_ns, error);
    if (status < 0 || (status == 0 && !map->by_step)) return status;
    walk->sums_only = true, walk->with_opaque = map->by_step;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0)
        while (status >= 0 && ggs_walk_op(walk)) status = add_op(map, walk, error);
    ggs_walk_close(walk);
    return status;
}

static int add_faults(struct ggs_access_map * map, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_where *  where = NULL;
    struct ggs_fault    fault;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_FAULTS, error);
    if (status < 0) return status;
    ggs_cursor_times(cursor, map->begin_ns, map->end_ns);
    more = trace->filter == NULL ? 0 : ggs_where_open(&where, trace, error);
    while (more >= 0 && (more = ggs_cursor_next(cursor, &fault, error)) > 0) {
        struct ggs_where_event event = {fault.begin_ns, fault.duration_ns, fault.file, fault.file_offset};
        more                         = ggs_where_wants(where, &event, fault.run, fault.node, error);
        if (more <= 0) continue;
        if (fault.file == 0 || fault.file > trace->n_files || fault.begin_ns < map->begin_ns) continue;
        spread(map, GGS_ACCESS_FAULTS, fault.file, fault.file_offset, 1, fault.begin_ns, fault.begin_ns, 1);
    }
    ggs_where_close(where);
    ggs_cursor_close(cursor);
    return more;
}

static int add_requests(struct ggs_access_map * map, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor *      cursor;
    struct ggs_where *       where = NULL;
    struct ggs_block_request request;
    int                      more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_BLOCK_REQUESTS, error);
    if (status < 0) return status;
    ggs_cursor_times(cursor, map->begin_ns, map->end_ns);
    more = trace->filter == NULL ? 0 : ggs_where_open(&where, trace, error);
    while (more >= 0 && (more = ggs_cursor_next(cursor, &request, error)) > 0) {
        struct ggs_where_event event = {request.begin_ns, request.duration_ns, request.file, request.file_offset};
        more                         = ggs_where_wants(where, &event, request.run, request.node, error);
        if (more <= 0) continue;
        if (request.file == 0 || request.file > trace->n_files || request.write != 0) continue;
        spread(map, GGS_ACCESS_DISK, request.file, request.file_offset, request.bytes, request.begin_ns,
               ggs_time_after(request.begin_ns, request.duration_ns), (double) request.bytes);
    }
    ggs_where_close(where);
    ggs_cursor_close(cursor);
    return more;
}

int ggs_access_map_compute(struct ggs_access_map * map, struct ggs_trace * trace, struct ggs_error * error) {
    int status = make_axis(map, trace, error);
    if (status == 0 && map->axis_bytes > 0) {
        status = add_ops(map, trace, error);
        if (status == 0 && !map->by_step) status = add_faults(map, trace, error);
        if (status == 0 && !map->by_step) status = add_requests(map, trace, error);
    }
    if (status < 0) ggs_access_map_release(map);
    return status;
}

void ggs_access_map_release(struct ggs_access_map * map) {
    free(map->file_base);
    for (unsigned i = 0; i < GGS_ACCESS_LAYERS; i++) free(map->cells[i]);
    *map = (struct ggs_access_map){0};
}
