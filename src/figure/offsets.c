// Figures over the offset in the model's files: access order, heat rows, accumulated accesses.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/memory/access-map.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "figure/kinds.h"
#include "figure/palette.h"
#include "figure/reads.h"

static struct ggs_axis offsets(uint64_t end) {
    return (struct ggs_axis){.title = "file offset", .unit = GGS_AXIS_BYTES, .fixed = true, .to = (double) end};
}

// ---- access order ----

// Sums both kinds of reads, with the lowest offset in the last row.
static float * reads_of(const struct ggs_access_map * map) {
    float * cells = calloc(map->columns * map->rows, sizeof(*cells));
    for (uint64_t y = 0; cells != NULL && y < map->rows; y++) {
        uint64_t from = (map->rows - 1 - y) * map->columns;
        for (uint64_t x = 0; x < map->columns; x++)
            cells[y * map->columns + x] =
                map->cells[GGS_ACCESS_MAPPED][from + x] + map->cells[GGS_ACCESS_COPIES][from + x];
    }
    return cells;
}

static void add_marks(struct ggs_chart * chart, const struct ggs_access_map * map, enum ggs_access_layer layer) {
    for (uint64_t i = 0; i < map->columns * map->rows; i++) {
        uint64_t at = (map->rows - 1 - i / map->columns) * map->columns + i % map->columns;
        if (map->cells[layer][i] > 0) chart->pixels[at] = GGS_PALETTE_BLACK;
    }
    chart->marks = layer == GGS_ACCESS_FAULTS ? "page faults" : "read from the disk";
}

static void put_cells(struct ggs_text * data, const struct ggs_access_map * map) {
    double wide = (double) (map->end_ns - map->begin_ns) / (double) map->columns,
           high = (double) map->end_byte / (double) map->rows;
    ggs_figure_row(data, "begin_ns,end_ns,offset_begin,offset_end,bytes_mapped,bytes_copies,faults,bytes_disk\n");
    for (uint64_t i = 0; i < map->columns * map->rows; i++) {
        double amount[GGS_ACCESS_LAYERS], any = 0;
        for (unsigned k = 0; k < GGS_ACCESS_LAYERS; k++) any += amount[k] = map->cells[k][i];
        double x = (double) (i % map->columns), y = (double) (i / map->columns);
        if (any > 0)
            ggs_figure_row(data, "%.0f,%.0f,%.0f,%.0f,%.1f,%.1f,%.0f,%.1f\n", (double) map->begin_ns + x * wide,
                           (double) map->begin_ns + (x + 1) * wide, y * high, (y + 1) * high, amount[0], amount[1],
                           amount[2], amount[3]);
    }
}

int ggs_figure_access_order(struct ggs_drawing * figure, struct ggs_trace * trace,
                            const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_access_map map    = {.columns = 600, .rows = 400};
    struct ggs_chart *    chart  = &figure->chart;
    int                   status = ggs_figure_window(trace, options, &map.begin_ns, &map.end_ns, error);
    if (status == 0 && map.end_ns <= map.begin_ns) status = ggs_reads_absent(error);
    if (status == 0) status = ggs_access_map_compute(&map, trace, error);
    if (status < 0) return status;
    float * cells = reads_of(&map);
    if (cells == NULL) status = ggs_fail_memory(error);
    if (status == 0 && map.sums[GGS_ACCESS_MAPPED] + map.sums[GGS_ACCESS_COPIES] <= 0) status = ggs_reads_absent(error);
    if (status == 0) {
        chart->x = (struct ggs_axis){
            .title = "time", .unit = GGS_AXIS_TIME, .fixed = true, .to = (double) (map.end_ns - map.begin_ns)};
        chart->y     = offsets(map.end_byte);
        chart->scale = (struct ggs_axis){.title = "bytes read", .unit = GGS_AXIS_BYTES, .log = true};
        ggs_chart_grid(chart, cells, (uint32_t) map.columns, (uint32_t) map.rows);
        if (options->marks != GGS_MARKS_NONE && chart->pixels != NULL)
            add_marks(chart, &map, options->marks == GGS_MARKS_FAULTS ? GGS_ACCESS_FAULTS : GGS_ACCESS_DISK);
        put_cells(&figure->data, &map);
    }
    free(cells);
    ggs_access_map_release(&map);
    return status;
}

// ---- rows of heat ----

static int find_steps(struct ggs_trace * trace, const struct ggs_figure_options * options, int64_t * first,
                      int64_t * end, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     step;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) return status;
    *first = INT64_MAX, *end = 0;
    while ((more = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.step < options->first_step || step.step > options->last_step || step.step < 0) continue;
        if (step.step < *first) *first = step.step;
        if (step.step >= *end) *end = step.step + 1;
    }
    ggs_cursor_close(cursor);
    return more < 0 ? more : *first < *end ? 0 : ggs_reads_absent(error);
}

static float * turned(const struct ggs_access_map * map) {
    float * cells = calloc(map->columns * map->rows, sizeof(*cells));
    for (uint64_t i = 0; cells != NULL && i < map->columns * map->rows; i++)
        cells[i % map->columns * map->rows + i / map->columns] =
            map->cells[GGS_ACCESS_MAPPED][i] + map->cells[GGS_ACCESS_COPIES][i];
    return cells;
}

static void put_rows(struct ggs_text * data, const struct ggs_access_map * map, const float * cells) {
    double per  = (double) (map->end_ns - map->begin_ns) / (double) map->columns,
           wide = (double) map->end_byte / (double) map->rows;
    ggs_figure_row(data, "token,offset_begin,offset_end,bytes_read\n");
    for (uint64_t i = 0; i < map->columns * map->rows; i++) {
        double x = (double) (i % map->rows);
        if (cells[i] > 0)
            ggs_figure_row(data, "%" PRId64 ",%.0f,%.0f,%.1f\n",
                           map->begin_ns + (int64_t) ((double) (i / map->rows) * per), x * wide, (x + 1) * wide,
                           cells[i]);
    }
}

int ggs_figure_heat_rows(struct ggs_drawing * figure, struct ggs_trace * trace,
                         const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_access_map map    = {.by_step = true, .rows = 800};
    struct ggs_chart *    chart  = &figure->chart;
    int                   status = find_steps(trace, options, &map.begin_ns, &map.end_ns, error);
    if (status < 0) return status;
    uint64_t steps = (uint64_t) (map.end_ns - map.begin_ns);
    map.columns    = steps < GGS_ACCESS_ROWS_MOST ? steps : GGS_ACCESS_ROWS_MOST;
    status         = ggs_access_map_compute(&map, trace, error);
    if (status < 0) return status;
    float * cells = turned(&map);
    if (cells == NULL) status = ggs_fail_memory(error);
    if (status == 0 && map.sums[GGS_ACCESS_MAPPED] + map.sums[GGS_ACCESS_COPIES] <= 0) status = ggs_reads_absent(error);
    if (status == 0) {
        chart->x     = offsets(map.end_byte);
        chart->y     = (struct ggs_axis){.title = ggs_word_step(trace),
                                         .whole = true,
                                         .fixed = true,
                                         .down  = true,
                                         .from  = (double) map.begin_ns,
                                         .to    = (double) map.end_ns};
        chart->scale = (struct ggs_axis){.title = "bytes read", .unit = GGS_AXIS_BYTES};
        ggs_chart_grid(chart, cells, (uint32_t) map.rows, (uint32_t) map.columns);
        put_rows(&figure->data, &map, cells);
    }
    free(cells);
    ggs_access_map_release(&map);
    return status;
}

// ---- accumulated accesses ----

// More points cannot be distinguished: with more parts each bin shows its largest.
enum { STEPS_MOST = 3000 };

int ggs_figure_heat_over_offset(struct ggs_drawing * figure, struct ggs_trace * trace,
                                const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_reads      reads;
    struct ggs_reads_part part;
    struct ggs_chart *    chart  = &figure->chart;
    int                   status = ggs_reads_make(&reads, trace, options, error);
    if (status < 0) return status;
    struct ggs_series * series = ggs_chart_series(chart, GGS_SERIES_AREA, 0, "");
    double              bin = (double) reads.end / STEPS_MOST, most = 1;
    for (uint64_t i = 0, expert = 0; ggs_reads_next(&reads, trace, &i, &expert, &part);) {
        struct ggs_datum * last = series->n > 0 ? &series->data[series->n - 1] : NULL;
        double             x = (double) part.begin, y = part.is_known ? (double) part.accesses : 0;
        if (last != NULL && x - last->x < bin && series->n > STEPS_MOST / 2)
            last->y = fmax(last->y, y);
        else if (last == NULL || last->y != y)
            ggs_chart_add(chart, series, (struct ggs_datum){.x = x, .y = y});
        most = fmax(most, y);
    }
    ggs_chart_add(chart, series, (struct ggs_datum){.x = (double) reads.end});
    chart->x = offsets(reads.end);
    chart->y = (struct ggs_axis){.title = "accesses", .whole = true, .to = most};
    ggs_figure_row(&figure->data, "file,file_offset,bytes,kind,name,layer,expert,reads,bytes_read\n");
    ggs_reads_put(&figure->data, &reads, trace, "\n");
    ggs_reads_release(&reads);
    return 0;
}
