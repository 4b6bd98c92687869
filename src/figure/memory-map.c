// Maps of memory: the model's files and buffers, pages touched, page faults.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/machine/machine-heat.h"
#include "analyze/walk/words.h"
#include "base/array.h"
#include "base/error.h"
#include "figure/kinds.h"
#include "figure/palette.h"
#include "figure/reads.h"

// The files, then classes of buffers, in strips of equal length, one below the other.

enum { MAP_COLUMNS = 640, MAP_STRIPS = 20, MAP_STRIP = 12, MAP_GAP = 3 };

struct map {
    float *  cells;      // NaN: hatched
    uint64_t n, n_files; // strips; those of the files
    double   bytes;      // of a strip
};

static uint64_t strips_of(const struct map * map, double bytes) {
    return (uint64_t) ceil(bytes / map->bytes);
}

// Sets cells from byte `begin` behind the begin of a strip; a cell has the largest of its values.
static void set_cells(struct map * map, uint64_t strip, uint64_t begin, uint64_t bytes, float value) {
    double   scale = MAP_COLUMNS / map->bytes;
    uint64_t first = strip * MAP_COLUMNS, to = first + (uint64_t) ceil((double) (begin + bytes) * scale);
    for (uint64_t at = first + (uint64_t) ((double) begin * scale); at < to && at < map->n * MAP_COLUMNS; at++)
        if (isnan(value) || !(map->cells[at] >= value)) map->cells[at] = value;
}

// Cells of tensors are NaN if nothing there was read. `order`: by place, drawn instead of how often
// it was read; NULL: none.
static void fill_files(struct map * map, const struct ggs_reads * reads, const struct ggs_trace * trace,
                       const float * order) {
    for (unsigned pass = 0; pass < 2; pass++) {
        struct ggs_reads_part part;
        for (uint64_t i = 0, expert = 0; ggs_reads_next(reads, trace, &i, &expert, &part);) {
            if (part.place->n_dims == 0 || part.bytes == 0 || (pass == 1 && part.bytes_read == 0)) continue;
            float value = pass == 0       ? NAN
                          : order != NULL ? order[part.place - reads->map.places]
                                          : (float) ((double) part.bytes_read / (double) part.bytes);
            set_cells(map, 0, part.begin, part.bytes, value);
        }
    }
}

// ---- buffers of a map ----

// The buffers of one class in one memory, one behind the other. Weights count in their files.
struct group {
    uint64_t class_, device;
    double   bytes;
};

struct groups {
    struct group * group;
    uint64_t       n, capacity;
    double         bytes;
    int64_t        begin, end; // buffers that live then
};

static uint64_t shown_class(const struct ggs_buffer * buffer) {
    return buffer->class_ == GGS_CLASS_KV || buffer->class_ == GGS_CLASS_COMPUTE ? buffer->class_ : GGS_CLASS_OTHER;
}

static bool is_shown(const struct groups * groups, const struct ggs_buffer * b) {
    return b->file == 0 && b->class_ != GGS_CLASS_WEIGHTS && b->size > 0 && b->size < 1ull << 48 &&
           b->begin_ns <= groups->end && (b->end_ns < 0 || b->end_ns >= groups->begin);
}

static bool is_in(const struct group * group, const struct ggs_buffer * buffer) {
    return group->class_ == shown_class(buffer) && group->device == buffer->device;
}

// The host's first; in each memory as on the page.
static int find_groups(struct groups * groups, const struct ggs_trace * trace, struct ggs_error * error) {
    static const uint64_t classes[] = {GGS_CLASS_KV, GGS_CLASS_COMPUTE, GGS_CLASS_OTHER};
    for (uint64_t k = 0; k < 3 * (trace->n_devices + 1); k++) {
        struct group one = {classes[k % 3], k / 3, 0};
        for (uint64_t i = 0; i < trace->n_buffers; i++)
            if (is_shown(groups, &trace->buffers[i]) && is_in(&one, &trace->buffers[i]))
                one.bytes += (double) trace->buffers[i].size;
        if (!(one.bytes > 0)) continue;
        if (!ggs_array_push(groups->group, groups->n, groups->capacity, one)) return ggs_fail_memory(error);
        groups->bytes += one.bytes;
    }
    return 0;
}

static void put_stretch(struct ggs_text * data, const struct ggs_buffer * buffer, uint64_t bytes,
                        const struct ggs_buffer_stretch * one) {
    ggs_figure_row(data, ",,%" PRIu64 ",%s,,,,,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", bytes,
                   ggs_word_class(buffer->class_), one->bytes, one->buffer, one->offset, one->touched);
}

// Fills the strips of a group from `strip` on.
static void fill_group(struct ggs_drawing * figure, struct map * map, uint64_t strip, const struct groups * groups,
                       const struct group * group, const struct ggs_trace * trace,
                       const struct ggs_buffer_heat * heat) {
    uint64_t base = 0;
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * buffer = &trace->buffers[i];
        if (!is_shown(groups, buffer) || !is_in(group, buffer)) continue;
        set_cells(map, strip, base, buffer->size, NAN);
        for (uint64_t k = 0; k < heat->n; k++) {
            const struct ggs_buffer_stretch * one = &heat->stretch[k];
            if (one->buffer != buffer->buffer || one->offset >= buffer->size || one->touched == 0) continue;
            uint64_t bytes = buffer->size - one->offset;
            if (bytes > heat->stretch_bytes) bytes = heat->stretch_bytes;
            set_cells(map, strip, base + one->offset, bytes, (float) ((double) one->bytes / (double) one->touched));
            put_stretch(&figure->data, buffer, bytes, one);
        }
        base += buffer->size;
    }
}

// ---- drawing a map ----

// Draws the strips with gaps between them. Cells that are NaN are hatched, `blank` says why.
static void draw_strips(struct ggs_chart * chart, const struct map * map, const char * blank) {
    uint8_t * colours = chart->pixels; // of the cells
    uint8_t * pixels  = calloc((size_t) MAP_COLUMNS * map->n * MAP_STRIP + 1, 1);
    chart->pixels = pixels, chart->rows = (uint32_t) (map->n * MAP_STRIP);
    if (pixels == NULL || colours == NULL) chart->out_of_memory = true;
    for (size_t y = 0; !chart->out_of_memory && y < chart->rows; y++) {
        for (unsigned x = 0; x < MAP_COLUMNS && y % MAP_STRIP < MAP_STRIP - MAP_GAP; x++) {
            size_t cell                 = (size_t) (y / MAP_STRIP) * MAP_COLUMNS + x;
            bool   hatched              = isnan(map->cells[cell]);
            pixels[y * MAP_COLUMNS + x] = !hatched ? colours[cell] : (x + y) % 4 == 0 ? GGS_PALETTE_GRAY : 0;
            if (hatched) chart->blank = blank;
        }
    }
    free(colours);
}

// Makes strips for the files and for groups, which may be NULL.
static int make_map(struct map * map, uint64_t files, const struct groups * groups, struct ggs_error * error) {
    double all = (double) files + (groups != NULL ? groups->bytes : 0);
    map->bytes = all > MAP_STRIPS ? ceil(all / MAP_STRIPS) : 1;
    map->n = map->n_files = strips_of(map, (double) files);
    for (uint64_t i = 0; groups != NULL && i < groups->n; i++) map->n += strips_of(map, groups->group[i].bytes);
    map->cells = calloc(map->n * MAP_COLUMNS + 1, sizeof(*map->cells));
    return map->cells == NULL ? ggs_fail_memory(error) : 0;
}

// Describes the chart. Each strip of a file has its offset as its name.
static void draw_map(struct ggs_chart * chart, const struct map * map, struct ggs_axis scale, const char * blank) {
    struct ggs_axis bytes = {.unit = GGS_AXIS_BYTES};
    char(*names)[GGS_AXIS_LABEL] =
        ggs_chart_names(chart, map->n > map->n_files ? "file offset, buffers" : "file offset", map->n);
    chart->x =
        (struct ggs_axis){.title = "offset in the strip", .unit = GGS_AXIS_BYTES, .fixed = true, .to = map->bytes};
    chart->scale = scale;
    chart->lines = (double) map->n * 1.25 + 1; // room for every name
    for (uint64_t i = 0; names != NULL && i < map->n_files; i++)
        ggs_axis_text(&bytes, (double) i * map->bytes, names[i]);
    ggs_chart_grid(chart, map->cells, MAP_COLUMNS, (uint32_t) map->n);
    draw_strips(chart, map, blank);
}

static void fill_groups(struct ggs_drawing * figure, struct map * map, const struct groups * groups,
                        const struct ggs_trace * trace, const struct ggs_buffer_heat * heat) {
    uint64_t strip = map->n_files;
    for (uint64_t i = 0; i < groups->n; i++) {
        fill_group(figure, map, strip, groups, &groups->group[i], trace, heat);
        strip += strips_of(map, groups->group[i].bytes);
    }
}

static void name_groups(struct ggs_chart * chart, const struct map * map, const struct groups * groups,
                        const struct ggs_trace * trace) {
    uint64_t strip = map->n_files;
    for (uint64_t i = 0; chart->y.names != NULL && i < groups->n; i++) {
        const struct group * group  = &groups->group[i];
        const char *         name   = group->class_ == GGS_CLASS_KV        ? "KV cache"
                                      : group->class_ == GGS_CLASS_COMPUTE ? "compute"
                                                                           : "other buffers";
        const char *         device = group->device == 0 ? "" : ggs_trace_device_name(trace, group->device);
        snprintf(chart->y.names[strip], GGS_AXIS_LABEL, "%.15s%s%s", device, *device == '\0' ? "" : " ", name);
        strip += strips_of(map, group->bytes);
    }
}

int ggs_figure_memory_map(struct ggs_drawing * figure, struct ggs_trace * trace,
                          const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_reads reads;
    struct groups    groups = {0};
    struct map       map    = {0};
    int              status = ggs_figure_window(trace, options, &groups.begin, &groups.end, error);
    if (status == 0) status = ggs_reads_make(&reads, trace, options, error);
    if (status < 0) return status;
    status = find_groups(&groups, trace, error);
    if (status == 0) status = make_map(&map, reads.end, &groups, error);
    if (status == 0) {
        ggs_figure_row(&figure->data, "file,file_offset,bytes,kind,name,layer,expert,reads,bytes_read,buffer,buffer_"
                                      "offset,bytes_touched\n");
        ggs_reads_put(&figure->data, &reads, trace, ",,,\n");
        fill_files(&map, &reads, trace, NULL);
        fill_groups(figure, &map, &groups, trace, &reads.heat.in_buffers);
        draw_map(&figure->chart, &map, (struct ggs_axis){.title = "times read, or written", .log = true}, "untouched");
        name_groups(&figure->chart, &map, &groups, trace);
    }
    free(groups.group);
    free(map.cells);
    ggs_reads_release(&reads);
    return status;
}

// ---- the order of last accesses ----

static int compare_last(const void * a, const void * b) {
    const struct ggs_heat_place *const *left = a, *const *right = b;
    const struct ggs_heat_place *       one = *left, *other = *right;
    if (one->last_run != other->last_run) return one->last_run < other->last_run ? -1 : 1;
    if (one->last_node != other->last_node) return one->last_node < other->last_node ? -1 : 1;
    return one < other ? -1 : one > other;
}

// Numbers the places from 1 by their last access; 0: never.
static int find_order(float ** order, const struct ggs_heat * heat, struct ggs_error * error) {
    const struct ggs_heat_place ** places = calloc(heat->n_places + 1, sizeof(struct ggs_heat_place *));
    uint64_t                       n      = 0;
    *order                                = calloc(heat->n_places + 1, sizeof(**order));
    for (uint64_t i = 0; places != NULL && i < heat->n_places; i++)
        if (heat->places[i].last_run > 0) places[n++] = &heat->places[i];
    if (places != NULL && n > 0) qsort(places, n, sizeof(struct ggs_heat_place *), compare_last);
    for (uint64_t i = 0; *order != NULL && i < n; i++) (*order)[places[i] - heat->places] = (float) (i + 1);
    bool failed = places == NULL || *order == NULL;
    free(places);
    return failed ? ggs_fail_memory(error) : 0;
}

static void put_order(struct ggs_text * data, const struct ggs_reads * reads, const float * order) {
    ggs_figure_row(data, "file,file_offset,bytes,name,last_run,last_node,order\n");
    for (uint64_t i = 0; i < reads->heat.n_places; i++) {
        const struct ggs_model_place * place = &reads->map.places[i];
        const struct ggs_heat_place *  heat  = &reads->heat.places[i];
        if (heat->last_run == 0) continue;
        ggs_figure_row(data, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", place->file, place->offset, place->bytes);
        ggs_figure_field(data, place->name);
        ggs_figure_row(data, ",%" PRIu64 ",%" PRIu64 ",%.0f\n", heat->last_run, heat->last_node, (double) order[i]);
    }
}

int ggs_figure_order_map(struct ggs_drawing * figure, struct ggs_trace * trace,
                         const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_reads reads;
    struct map       map    = {0};
    float *          order  = NULL;
    int              status = ggs_reads_make(&reads, trace, options, error);
    if (status < 0) return status;
    status = make_map(&map, reads.end, NULL, error);
    if (status == 0) status = find_order(&order, &reads.heat, error);
    if (status == 0) {
        fill_files(&map, &reads, trace, order);
        draw_map(&figure->chart, &map, (struct ggs_axis){.title = "order of the last access"}, "untouched");
        put_order(&figure->data, &reads, order);
    }
    free(order);
    free(map.cells);
    ggs_reads_release(&reads);
    return status;
}

// ---- what the machine saw ----

static void fill_machine(struct map * cells, const struct ggs_machine_heat * heat, const struct ggs_model_map * map,
                         const struct ggs_trace * trace, bool of_pages) {
    for (uint64_t i = 0; i < map->n; i++) {
        const struct ggs_model_place * place = &map->places[i];
        if (place->n_dims > 0)
            set_cells(cells, 0, ggs_figure_base(trace, place->file) + place->offset, place->bytes, NAN);
    }
    for (uint64_t i = 0; i < heat->n_stretches; i++) {
        const struct ggs_machine_stretch * one   = &heat->stretch[i];
        uint64_t                           count = of_pages ? one->sum.touched : one->sum.minor + one->sum.major;
        double per = of_pages ? (double) heat->stretch_bytes : (double) heat->stretch_bytes / (double) heat->page_bytes;
        if (count > 0)
            set_cells(cells, 0, ggs_figure_base(trace, one->file) + one->offset, heat->stretch_bytes,
                      (float) ((double) count / per));
    }
}

static void put_machine(struct ggs_text * data, const struct ggs_machine_heat * heat) {
    ggs_figure_row(data, "file,file_offset,bytes,bytes_touched,minor,major,stalled_ns\n");
    for (uint64_t i = 0; i < heat->n_stretches; i++)
        ggs_figure_row(data, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                       heat->stretch[i].file, heat->stretch[i].offset, heat->stretch_bytes,
                       heat->stretch[i].sum.touched, heat->stretch[i].sum.minor, heat->stretch[i].sum.major,
                       heat->stretch[i].sum.stalled_ns);
}

static int draw_machine(struct ggs_drawing * figure, struct ggs_trace * trace,
                        const struct ggs_figure_options * options, bool of_pages, struct ggs_error * error) {
    struct ggs_model_map    map;
    struct ggs_machine_heat heat;
    struct map              cells  = {0};
    int                     status = make_map(&cells, ggs_figure_base(trace, trace->n_files + 1), NULL, error);
    if (status == 0) status = ggs_model_map_make(&map, trace, error);
    if (status < 0) goto out;
    status = ggs_machine_heat_compute(&heat, trace, &map, options->first_step, options->last_step, error);
    if (status == 0 && !(of_pages ? heat.pages : heat.faults))
        status = ggs_fail(error, GGS_ABSENT, "%s were not recorded: there is nothing to draw",
                          of_pages ? "touched pages (--prove)" : "page faults");
    else if (status == 0) {
        fill_machine(&cells, &heat, &map, trace, of_pages);
        draw_map(&figure->chart, &cells, (struct ggs_axis){.title = of_pages ? "part touched" : "faults per page"},
                 of_pages ? "not touched" : "no fault");
        put_machine(&figure->data, &heat);
    }
    ggs_machine_heat_release(&heat);
    ggs_model_map_release(&map);
out:
    free(cells.cells);
    return status;
}

int ggs_figure_page_map(struct ggs_drawing * figure, struct ggs_trace * trace,
                        const struct ggs_figure_options * options, struct ggs_error * error) {
    return draw_machine(figure, trace, options, true, error);
}

int ggs_figure_fault_map(struct ggs_drawing * figure, struct ggs_trace * trace,
                         const struct ggs_figure_options * options, struct ggs_error * error) {
    return draw_machine(figure, trace, options, false, error);
}
