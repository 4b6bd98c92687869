// Figures of what ops computed: a row for each op and a column for each token, and ranges by layer.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/values/value-grid.h"
#include "analyze/values/value-report.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "figure/kinds.h"
#include "figure/palette.h"

// ---- the grid ----

static void put_cells(struct ggs_text * data, const struct ggs_value_grid * grid, bool two) {
    ggs_figure_row(data, "op,tensor,layer,token,position,%s,nan,inf,wrong\n",
                   two             ? "error"
                   : grid->largest ? "largest"
                                   : "rms");
    for (uint64_t i = 0; i < grid->n_lines; i++) {
        for (uint64_t k = 0; k < grid->n_columns; k++) {
            const struct ggs_value_cell * cell = &grid->line[i].cells[k];
            if ((cell->marks & GGS_CELL_SEEN) == 0) continue;
            ggs_figure_field(data, grid->line[i].node->op), ggs_text_putc(data, ',');
            ggs_figure_field(data, grid->line[i].node->name);
            ggs_figure_row(data, ",%d,%" PRId64 ",%" PRId64 ",%.9g,%d,%d,%d\n", grid->line[i].node->layer,
                           grid->column[k].token, grid->column[k].position, cell->value,
                           (cell->marks & GGS_CELL_NAN) != 0, (cell->marks & GGS_CELL_INF) != 0,
                           (cell->marks & GGS_CELL_WRONG) != 0);
        }
    }
}

// Marks NaN, infinities and wrong values in black.
static void mark_cells(struct ggs_chart * chart, const struct ggs_value_grid * grid, bool two) {
    for (uint64_t i = 0; i < grid->n_lines; i++) {
        for (uint64_t k = 0; k < grid->n_columns; k++) {
            if ((grid->line[i].cells[k].marks & (GGS_CELL_NAN | GGS_CELL_INF | GGS_CELL_WRONG)) == 0) continue;
            chart->pixels[i * grid->n_columns + k] = GGS_PALETTE_BLACK;
            chart->marks                           = two ? "wrong" : "NaN or infinite";
        }
    }
}

// Returns what a cell shows: its value, or its error divided by the allowed error.
static double shown_in(const struct ggs_value_cell * cell, bool two) {
    return !two ? cell->value : cell->allowed > 0 ? cell->value / cell->allowed : 0;
}

static int describe(struct ggs_drawing * figure, const struct ggs_value_grid * grid, bool two,
                    struct ggs_error * error) {
    struct ggs_chart * chart     = &figure->chart;
    uint64_t           n         = grid->n_lines * grid->n_columns;
    float *            cells     = calloc(n + 1, sizeof(*cells));
    char(*names)[GGS_AXIS_LABEL] = ggs_chart_names(chart, "", grid->n_lines);
    if (cells == NULL || names == NULL) {
        free(cells);
        return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < grid->n_lines; i++) {
        const struct ggs_value_node * node = grid->line[i].node;
        if (grid->by_layer && node->layer >= 0)
            snprintf(names[i], sizeof(names[i]), "layer %d", node->layer);
        else
            snprintf(names[i], sizeof(names[i]), "%.31s", node->name);
        for (uint64_t k = 0; k < grid->n_columns; k++) {
            const struct ggs_value_cell * cell  = &grid->line[i].cells[k];
            double                        value = shown_in(cell, two);
            if ((cell->marks & GGS_CELL_SEEN) != 0 && isfinite(value)) cells[i * grid->n_columns + k] = (float) value;
        }
    }
    chart->x = (struct ggs_axis){.title = grid->width > 1 ? "inputs in order, several to a column" : "inputs in order",
                                 .whole = true,
                                 .fixed = true,
                                 .from  = (double) grid->from,
                                 .to    = (double) (grid->from + grid->n_columns * grid->width)};
    chart->scale = (struct ggs_axis){.title = two             ? "error / what inputs and rounding explain"
                                              : grid->largest ? "largest absolute value"
                                                              : "root mean square",
                                     .log   = true};
    chart->lines = fmax(20, fmin(50, (double) grid->n_lines));
    ggs_chart_grid(chart, cells, (uint32_t) grid->n_columns, (uint32_t) grid->n_lines);
    if (chart->pixels != NULL) mark_cells(chart, grid, two);
    put_cells(&figure->data, grid, two);
    free(cells);
    return 0;
}

static int finish(struct ggs_drawing * figure, const struct ggs_value_grid * grid, bool two, struct ggs_error * error) {
    if (grid->n_lines > 0 && grid->n_columns > 0) return describe(figure, grid, two, error);
    return ggs_fail(error, GGS_ABSENT, "these ops have no recorded values: there is nothing to draw");
}

// The first recording is the reference.
static int compare(struct ggs_drawing * figure, struct ggs_trace * trace, struct ggs_value_grid * grid,
                   struct ggs_error * error) {
#ifdef __wasm__ // a report does not compare values
    (void) figure, (void) trace, (void) grid;
    return ggs_fail(error, GGS_UNSUPPORTED, "a report does not compare values");
#else
    struct ggs_value_diff diff = {0};
    trace[1].filter = trace[0].filter, trace[0].filter = NULL;
    int status = ggs_value_diff_compute(&diff, &trace[0], &trace[1], grid, error);
    if (status == 0) status = finish(figure, grid, true, error);
    ggs_value_diff_release(&diff);
    return status;
#endif
}

int ggs_figure_values(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                      struct ggs_error * error) {
    struct ggs_value_grid grid = GGS_VALUE_GRID_ALL;
    int                   status;
    grid.first_step = options->first_step, grid.last_step = options->last_step;
    grid.largest = options->largest, grid.by_layer = options->by_layer;
    if (options->n_traces == 2) {
        status = compare(figure, trace, &grid, error);
    } else {
        status = ggs_value_grid_compute(&grid, trace, error);
        if (status == 0) status = finish(figure, &grid, false, error);
    }
    ggs_value_grid_release(&grid);
    return status;
}

// ---- ranges by layer ----

int ggs_figure_value_ranges(struct ggs_drawing * figure, struct ggs_trace * trace,
                            const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_value_asked  asked = {.first_step = options->first_step, .last_step = options->last_step, .layer = -1};
    struct ggs_value_report report;
    struct ggs_chart *      chart  = &figure->chart;
    int                     status = ggs_value_report_compute(&report, trace, &asked, error);
    struct ggs_series *     rms    = ggs_chart_series(chart, GGS_SERIES_MARKED, 0, "rms of the layer's output");
    struct ggs_series *     most   = ggs_chart_series(chart, GGS_SERIES_MARKED, 1, "largest absolute value of its ops");
    double                  least = INFINITY, largest = 0, last = 0;
    ggs_figure_row(&figure->data, "layer,ops,min,max,rms\n");
    for (uint64_t i = 0; status == 0 && i < report.n_layers; i++) {
        const struct ggs_value_layer * layer = &report.layers[i];
        double                         high  = fmax(layer->max, -layer->min);
        if (layer->model > 1) continue; // of a draft model
        ggs_figure_row(&figure->data, "%" PRId64 ",%" PRIu64 ",%.9g,%.9g,%.9g\n", layer->layer, layer->ops, layer->min,
                       layer->max, layer->rms);
        if (!(layer->rms > 0) || !isfinite(high)) continue;
        ggs_chart_add(chart, rms, (struct ggs_datum){.x = (double) layer->layer, .y = layer->rms});
        ggs_chart_add(chart, most, (struct ggs_datum){.x = (double) layer->layer, .y = high});
        least = fmin(least, layer->rms), largest = fmax(largest, fmax(high, layer->rms));
        last = fmax(last, (double) layer->layer);
    }
    if (status == 0 && rms->n == 0)
        status = ggs_fail(error, GGS_ABSENT, "no layer has recorded values: there is nothing to draw");
    chart->x = (struct ggs_axis){.title = "layer", .whole = true, .fixed = true, .from = -0.5, .to = last + 0.5};
    chart->y = (struct ggs_axis){.title = "value", .log = true, .from = least, .to = largest};
    ggs_value_report_release(&report);
    return status;
}
