// Figures about experts: evenness of use, and use by layer.
#include "analyze/experts/experts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "figure/kinds.h"

static int compute(struct ggs_experts * experts, struct ggs_trace * trace, const struct ggs_figure_options * options,
                   struct ggs_error * error) {
    struct ggs_experts_options asked  = {.first_token = options->first_step, .last_token = options->last_step};
    int                        status = ggs_experts_compute(experts, trace, &asked, error);
    if (status < 0) return status;
    if (experts->n_layers > 0) return 0;
    status = ggs_fail(error, GGS_ABSENT,
                      experts->any ? "which experts were chosen was not recorded: there is nothing to draw"
                                   : "this model has no experts: there is nothing to draw");
    ggs_experts_release(experts);
    return status;
}

static void put_counts(struct ggs_text * data, const struct ggs_experts * e, int only) {
    ggs_text_puts(data, "layer,expert,times\n");
    for (uint64_t i = 0; i < e->n_layers; i++)
        for (uint64_t k = 0; k < e->layers[i].experts; k++)
            if (only < 0 || e->layers[i].layer == only)
                ggs_text_printf(data, "%d,%" PRIu64 ",%" PRIu64 "\n", e->layers[i].layer, k, e->layers[i].counts[k]);
}

static int descending(const void * a, const void * b) {
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// ---- one layer: its experts, most used first ----

static void add_layer(struct ggs_chart * chart, uint64_t * counts, uint64_t n) {
    struct ggs_series * series = ggs_chart_series(chart, GGS_SERIES_BARS, 0, "");
    qsort(counts, n, sizeof(*counts), descending);
    for (uint64_t i = 0; i < n; i++)
        ggs_chart_add(chart, series, (struct ggs_datum){.x = (double) i + 0.5, .y = (double) counts[i], .size = 0.8});
    chart->x = (struct ggs_axis){.title = "experts, most used first", .whole = true, .fixed = true, .to = (double) n};
    chart->y = (struct ggs_axis){.title = "times chosen", .whole = true, .to = (double) counts[0]};
}

// ---- all layers: the share of choices of the most used experts ----

static void add_curve(struct ggs_chart * chart, uint64_t * counts, uint64_t n, unsigned look, const char * name) {
    struct ggs_series * series = ggs_chart_series(chart, GGS_SERIES_LINE, look, name);
    double              sum = 0, all = 0;
    qsort(counts, n, sizeof(*counts), descending);
    for (uint64_t i = 0; i < n; i++) all += (double) counts[i];
    ggs_chart_add(chart, series, (struct ggs_datum){0});
    for (uint64_t i = 0; i < n && all > 0; i++) {
        sum += (double) counts[i];
        if (i % (n / 500 + 1) == 0 || i + 1 == n)
            ggs_chart_add(chart, series, (struct ggs_datum){.x = (double) (i + 1) / (double) n, .y = sum / all});
    }
}

static int add_curves(struct ggs_chart * chart, struct ggs_experts * e, struct ggs_error * error) {
    uint64_t n = 0, even = 0, uneven = 0, all = 0;
    for (uint64_t i = 0; i < e->n_layers; i++) {
        all += e->layers[i].experts;
        if (ggs_experts_imbalance(&e->layers[i]) < ggs_experts_imbalance(&e->layers[even])) even = i;
        if (ggs_experts_imbalance(&e->layers[i]) > ggs_experts_imbalance(&e->layers[uneven])) uneven = i;
    }
    uint64_t * counts = calloc(all + 1, sizeof(*counts));
    char       name[32];
    if (counts == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < e->n_layers; i++)
        for (uint64_t k = 0; k < e->layers[i].experts; k++) counts[n++] = e->layers[i].counts[k];
    add_curve(chart, counts, n, 0, "all layers");
    free(counts);
    snprintf(name, sizeof(name), "layer %d, the least even", e->layers[uneven].layer);
    add_curve(chart, e->layers[uneven].counts, e->layers[uneven].experts, 1, name);
    if (even != uneven) {
        snprintf(name, sizeof(name), "layer %d, the most even", e->layers[even].layer);
        add_curve(chart, e->layers[even].counts, e->layers[even].experts, 2, name);
    }
    struct ggs_series * equal = ggs_chart_series(chart, GGS_SERIES_LINE, 6, "if all were used alike");
    ggs_chart_add(chart, equal, (struct ggs_datum){0});
    ggs_chart_add(chart, equal, (struct ggs_datum){.x = 1, .y = 1});
    chart->x = (struct ggs_axis){.title = "experts, most used first", .unit = GGS_AXIS_PERCENT, .to = 1};
    chart->y = (struct ggs_axis){.title = "choices", .unit = GGS_AXIS_PERCENT, .to = 1};
    return 0;
}

int ggs_figure_experts(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                       struct ggs_error * error) {
    struct ggs_experts experts;
    int                status = compute(&experts, trace, options, error);
    if (status < 0) return status;
    uint64_t i = 0;
    while (i < experts.n_layers && experts.layers[i].layer != options->layer) i++;
    put_counts(&figure->data, &experts, options->layer);
    if (options->layer < 0)
        status = add_curves(&figure->chart, &experts, error);
    else if (i == experts.n_layers)
        status = ggs_fail(error, GGS_ABSENT, "layer %d has no experts: the layers from %d to %d have", options->layer,
                          experts.layers[0].layer, experts.layers[experts.n_layers - 1].layer);
    else
        add_layer(&figure->chart, experts.layers[i].counts, experts.layers[i].experts);
    ggs_experts_release(&experts);
    return status;
}

int ggs_figure_expert_matrix(struct ggs_drawing * figure, struct ggs_trace * trace,
                             const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_experts e;
    struct ggs_chart * chart  = &figure->chart;
    int                status = compute(&e, trace, options, error);
    if (status < 0) return status;
    uint64_t columns = 0, rows = (uint64_t) e.layers[e.n_layers - 1].layer + 1, first = (uint64_t) e.layers[0].layer;
    for (uint64_t i = 0; i < e.n_layers; i++)
        if (e.layers[i].experts > columns) columns = e.layers[i].experts;
    float * cells = calloc(columns * (rows - first), sizeof(*cells));
    for (uint64_t i = 0; cells != NULL && i < e.n_layers; i++)
        for (uint64_t k = 0; k < e.layers[i].experts; k++)
            cells[((uint64_t) e.layers[i].layer - first) * columns + k] = (float) e.layers[i].counts[k];
    if (cells == NULL) {
        status = ggs_fail_memory(error);
    } else {
        chart->x = (struct ggs_axis){.title = "expert", .whole = true, .fixed = true, .to = (double) columns};
        chart->y = (struct ggs_axis){
            .title = "layer", .whole = true, .fixed = true, .down = true, .from = (double) first, .to = (double) rows};
        chart->scale = (struct ggs_axis){.title = "times chosen", .whole = true};
        ggs_chart_grid(chart, cells, (uint32_t) columns, (uint32_t) (rows - first));
        put_counts(&figure->data, &e, -1);
    }
    free(cells);
    ggs_experts_release(&e);
    return status;
}
