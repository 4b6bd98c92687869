// Figures over the offset in the model's files: access order, heat rows, memory map, accumulated
// accesses.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/memory/access-map.h"
#include "analyze/memory/heat.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "figure/kinds.h"
#include "figure/palette.h"

static int fail_without_reads(struct ggs_error * error) {
    return ggs_fail(error, GGS_ABSENT,
                    "no op reads bytes of a model file in this part of the recording: there is nothing to draw");
}

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
    if (status == 0 && map.end_ns <= map.begin_ns) status = fail_without_reads(error);
    if (status == 0) status = ggs_access_map_compute(&map, trace, error);
    if (status < 0) return status;
    float * cells = reads_of(&map);
    if (cells == NULL) status = ggs_fail_memory(error);
    if (status == 0 && map.sums[GGS_ACCESS_MAPPED] + map.sums[GGS_ACCESS_COPIES] <= 0)
        status = fail_without_reads(error);
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
    return more < 0 ? more : *first < *end ? 0 : fail_without_reads(error);
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
    if (status == 0 && map.sums[GGS_ACCESS_MAPPED] + map.sums[GGS_ACCESS_COPIES] <= 0)
        status = fail_without_reads(error);
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

// ---- how often each part was read ----

struct reads {
    struct ggs_model_map map;
    struct ggs_heat      heat;
    uint64_t             end; // of the axis
};

static int read_heat(struct reads * reads, struct ggs_trace * trace, const struct ggs_figure_options * options,
                     struct ggs_error * error) {
    int status = ggs_model_map_make(&reads->map, trace, error);
    if (status < 0) return status;
    status     = ggs_heat_compute(&reads->heat, trace, &reads->map, options->first_step, options->last_step, error);
    reads->end = ggs_figure_base(trace, trace->n_files + 1);
    if (status == 0 && reads->heat.touched_bytes + reads->heat.unknown_bytes == 0) {
        ggs_heat_release(&reads->heat);
        status = fail_without_reads(error);
    }
    if (status < 0) ggs_model_map_release(&reads->map);
    return status;
}

static void release_heat(struct reads * reads) {
    ggs_heat_release(&reads->heat);
    ggs_model_map_release(&reads->map);
}

// A part of the files that is read as a whole: a tensor, or one expert of it.
struct part {
    const struct ggs_model_place * place;
    bool                           is_known;
    int64_t                        expert; // -1: none
    uint64_t                       begin, bytes, accesses, bytes_read;
};

// Returns the next part; *i and *expert start at 0.
static bool next_part(const struct reads * reads, const struct ggs_trace * trace, uint64_t * i, uint64_t * expert,
                      struct part * part) {
    if (*i == reads->map.n) return false;
    const struct ggs_model_place * place = &reads->map.places[*i];
    const struct ggs_heat_place *  heat  = &reads->heat.places[*i];
    uint64_t                       base  = ggs_figure_base(trace, place->file) + place->offset;
    if (heat->expert_reads == NULL || heat->unknown || place->experts == 0) {
        *part = (struct part){place, !heat->unknown, -1, base, place->bytes, heat->reads, heat->bytes};
        ++*i;
        return true;
    }
    uint64_t each = place->bytes / place->experts;
    *part         = (struct part){place,
                                  true,
                                  (int64_t) *expert,
                                  base + *expert * each,
                                  each,
                                  heat->expert_reads[*expert],
                                  heat->expert_bytes[*expert]};
    if (++*expert == place->experts) ++*i, *expert = 0;
    return true;
}

static void put_parts(struct ggs_text * data, const struct reads * reads, const struct ggs_trace * trace) {
    struct part part;
    ggs_figure_row(data, "file,file_offset,bytes,kind,name,layer,expert,reads,bytes_read\n");
    for (uint64_t i = 0, expert = 0; next_part(reads, trace, &i, &expert, &part);) {
        ggs_figure_row(data, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", part.place->file,
                       part.begin - ggs_figure_base(trace, part.place->file), part.bytes, part.place->kind);
        ggs_figure_field(data, part.place->name);
        if (part.place->layer >= 0)
            ggs_figure_row(data, ",%d,", part.place->layer);
        else
            ggs_figure_row(data, ",,");
        if (part.expert >= 0) ggs_figure_row(data, "%" PRId64, part.expert);
        if (part.is_known)
            ggs_figure_row(data, ",%" PRIu64 ",%" PRIu64 "\n", part.accesses, part.bytes_read);
        else
            ggs_figure_row(data, ",,\n"); // its reads were not seen
    }
}

// ---- the memory map: the files in strips, one below the other ----

enum { MAP_COLUMNS = 640, MAP_STRIPS = 32, MAP_STRIP = 8, MAP_GAP = 2 };

// Number of reads per cell of the strips; NaN: a tensor that was not read; 0: no tensor.
static void fill_cells(float * cells, const struct reads * reads, const struct ggs_trace * trace) {
    struct part part;
    double      scale = (double) MAP_COLUMNS * MAP_STRIPS / (double) reads->end;
    for (uint64_t i = 0, expert = 0; next_part(reads, trace, &i, &expert, &part);) {
        if (part.place->n_dims == 0 || part.bytes == 0) continue;
        uint64_t from = (uint64_t) ((double) part.begin * scale),
                 to   = (uint64_t) ceil((double) (part.begin + part.bytes) * scale);
        float times   = (float) ((double) part.bytes_read / (double) part.bytes);
        for (uint64_t at = from; at < to && at < MAP_COLUMNS * MAP_STRIPS; at++)
            if (isnan(cells[at]) || times > cells[at]) cells[at] = times > 0 ? times : NAN;
    }
}

// Draws the strips with gaps between them. Cells that were not read are hatched.
static void draw_strips(struct ggs_chart * chart, const float * cells) {
    uint8_t * colours = chart->pixels; // of the cells
    uint8_t * pixels  = calloc((size_t) MAP_COLUMNS * MAP_STRIPS * MAP_STRIP, 1);
    chart->pixels = pixels, chart->rows = MAP_STRIPS * MAP_STRIP;
    if (pixels == NULL || colours == NULL) chart->out_of_memory = true;
    for (unsigned y = 0; !chart->out_of_memory && y < MAP_STRIPS * MAP_STRIP; y++) {
        for (unsigned x = 0; x < MAP_COLUMNS && y % MAP_STRIP < MAP_STRIP - MAP_GAP; x++) {
            size_t cell                 = (size_t) (y / MAP_STRIP) * MAP_COLUMNS + x;
            bool   hatched              = isnan(cells[cell]);
            pixels[y * MAP_COLUMNS + x] = !hatched ? colours[cell] : (x + y) % 4 == 0 ? GGS_PALETTE_GRAY : 0;
            if (hatched) chart->blank = "not read";
        }
    }
    free(colours);
}

int ggs_figure_memory_map(struct ggs_drawing * figure, struct ggs_trace * trace,
                          const struct ggs_figure_options * options, struct ggs_error * error) {
    struct reads       reads;
    struct ggs_chart * chart  = &figure->chart;
    int                status = read_heat(&reads, trace, options, error);
    if (status < 0) return status;
    float * cells = calloc(MAP_COLUMNS * MAP_STRIPS, sizeof(*cells));
    if (cells == NULL) {
        release_heat(&reads);
        return ggs_fail_memory(error);
    }
    fill_cells(cells, &reads, trace);
    chart->x       = offsets(reads.end / MAP_STRIPS);
    chart->x.title = "offset in the strip";
    chart->y = offsets(reads.end), chart->y.down = true;
    chart->scale = (struct ggs_axis){.title = "times read"};
    ggs_chart_grid(chart, cells, MAP_COLUMNS, MAP_STRIPS);
    draw_strips(chart, cells);
    put_parts(&figure->data, &reads, trace);
    free(cells);
    release_heat(&reads);
    return 0;
}

// ---- accumulated accesses ----

// More points cannot be distinguished: with more parts each bin shows its largest.
enum { STEPS_MOST = 3000 };

int ggs_figure_heat_over_offset(struct ggs_drawing * figure, struct ggs_trace * trace,
                                const struct ggs_figure_options * options, struct ggs_error * error) {
    struct reads       reads;
    struct part        part;
    struct ggs_chart * chart  = &figure->chart;
    int                status = read_heat(&reads, trace, options, error);
    if (status < 0) return status;
    struct ggs_series * series = ggs_chart_series(chart, GGS_SERIES_AREA, 0, "");
    double              bin = (double) reads.end / STEPS_MOST, most = 1;
    for (uint64_t i = 0, expert = 0; next_part(&reads, trace, &i, &expert, &part);) {
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
    put_parts(&figure->data, &reads, trace);
    release_heat(&reads);
    return 0;
}
