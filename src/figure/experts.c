// Figures about experts: evenness of use, use by layer, choices of tokens,
// working sets, lead times, several recordings.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/experts/choices.h"
#include "analyze/experts/domains.h"
#include "analyze/experts/experts.h"
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
    ggs_figure_row(data, "layer,expert,times\n");
    for (uint64_t i = 0; i < e->n_layers; i++)
        for (uint64_t k = 0; k < e->layers[i].experts; k++)
            if (only < 0 || e->layers[i].layer == only)
                ggs_figure_row(data, "%d,%" PRIu64 ",%" PRIu64 "\n", e->layers[i].layer, k, e->layers[i].counts[k]);
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

static int fail_without_layer(const struct ggs_experts * e, int layer, struct ggs_error * error) {
    return ggs_fail(error, GGS_ABSENT, "layer %d has no experts: the layers from %d to %d have", layer,
                    e->layers[0].layer, e->layers[e->n_layers - 1].layer);
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
        status = fail_without_layer(&experts, options->layer, error);
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

// ---- working sets ----

int ggs_figure_working_sets(struct ggs_drawing * figure, struct ggs_trace * trace,
                            const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_experts e;
    struct ggs_chart * chart  = &figure->chart;
    int                status = compute(&e, trace, options, error);
    if (status < 0) return status;
    struct ggs_series * mean  = ggs_chart_series(chart, GGS_SERIES_MARKED, 0, "on average");
    struct ggs_series * most  = ggs_chart_series(chart, GGS_SERIES_MARKED, 1, "at most");
    double              bytes = 0, tokens = 2;
    ggs_figure_row(&figure->data, "window,samples,mean_experts,most_experts,mean_bytes,most_bytes\n");
    for (unsigned i = 0; i < e.n_sets; i++) {
        const struct ggs_experts_set * set = &e.sets[i];
        double                         n   = set->samples > 0 ? (double) set->samples : 1;
        ggs_chart_add(chart, mean, (struct ggs_datum){.x = (double) set->window, .y = (double) set->sum_bytes / n});
        ggs_chart_add(chart, most, (struct ggs_datum){.x = (double) set->window, .y = (double) set->most_bytes});
        ggs_figure_row(&figure->data, "%" PRIu64 ",%" PRIu64 ",%.6g,%" PRIu64 ",%.0f,%" PRIu64 "\n", set->window,
                       set->samples, (double) set->sum_experts / n, set->most_experts, (double) set->sum_bytes / n,
                       set->most_bytes);
        if ((double) set->most_bytes > bytes) bytes = (double) set->most_bytes;
        if ((double) set->window > tokens) tokens = (double) set->window;
    }
    chart->x = (struct ggs_axis){.title = "tokens in a row", .whole = true, .to = tokens};
    chart->y = (struct ggs_axis){.title = "bytes of their experts", .unit = GGS_AXIS_BYTES, .to = bytes};
    ggs_experts_release(&e);
    return 0;
}

// ---- lead times ----

static void add_lead(struct ggs_chart * chart, const struct ggs_experts_time * time, double line,
                     struct ggs_series * range, struct ggs_series * mean) {
    double least = time->least_ns > 0 ? (double) time->least_ns : 1;
    ggs_chart_add(
        chart, range,
        (struct ggs_datum){.x = least, .size = (double) time->most_ns - least, .low = line + 0.3, .high = line + 0.7});
    ggs_chart_add(chart, mean, (struct ggs_datum){.x = (double) ggs_experts_mean(time), .y = line + 0.5, .size = 0.1});
    if (!(chart->x.from > 0) || least < chart->x.from) chart->x.from = least;
    if ((double) time->most_ns > chart->x.to) chart->x.to = (double) time->most_ns;
}

int ggs_figure_lead_times(struct ggs_drawing * figure, struct ggs_trace * trace,
                          const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_experts e;
    struct ggs_chart * chart  = &figure->chart;
    uint64_t           line   = 0;
    int                status = compute(&e, trace, options, error);
    if (status < 0) return status;
    struct ggs_series * range    = ggs_chart_series(chart, GGS_SERIES_BOXES, 4, "least to most");
    struct ggs_series * mean     = ggs_chart_series(chart, GGS_SERIES_POINTS, 0, "mean");
    char(*names)[GGS_AXIS_LABEL] = ggs_chart_names(chart, "", e.n_matrices);
    chart->x = (struct ggs_axis){.title = "time after the choice", .unit = GGS_AXIS_TIME, .log = true};
    ggs_figure_row(&figure->data, "component,count,least_ns,mean_ns,most_ns\n");
    for (unsigned i = 0; names != NULL && i < e.n_matrices; i++) {
        const struct ggs_experts_matrix * matrix = &e.matrices[i];
        if (matrix->prefetch.n == 0) continue;
        snprintf(names[line], sizeof(names[line]), "%.*s", matrix->component_length, matrix->component);
        ggs_figure_row(&figure->data, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", names[line],
                       matrix->prefetch.n, matrix->prefetch.least_ns, ggs_experts_mean(&matrix->prefetch),
                       matrix->prefetch.most_ns);
        add_lead(chart, &matrix->prefetch, (double) line++, range, mean);
    }
    chart->y.n_names = line, chart->lines = 3 * (double) line + 2;
    if (line == 0)
        status = ggs_fail(error, GGS_ABSENT, "no expert's matrix was used after its choice: there is nothing to draw");
    ggs_experts_release(&e);
    return status;
}

// ---- one layer: the experts of each token ----

enum { COLUMNS_MOST = 4096 }; // tokens beyond them are left out

struct raster {
    float *  cells; // routing weights, by expert and column; 1 if they are not known
    uint64_t experts, columns, used;
};

// Adds a batch: its tokens are columns, one behind the other.
static void add_choice(struct raster * raster, int64_t step, const struct ggs_choice * choice, struct ggs_text * data) {
    for (uint64_t i = 0; i < choice->used * choice->tokens; i++) {
        uint64_t column = raster->used + i / choice->used, expert = (uint64_t) choice->experts[i];
        double   weight = choice->weights == NULL ? 1 : (double) choice->weights[i];
        if (column >= raster->columns || expert >= raster->experts) continue;
        raster->cells[expert * raster->columns + column] = (float) weight;
        ggs_figure_row(data, "%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", step, column, i % choice->used,
                       expert);
        if (choice->weights != NULL) ggs_figure_row(data, "%.9g", weight);
        ggs_text_putc(data, '\n');
    }
    raster->used += choice->tokens;
}

static int read_choices(struct raster * raster, struct ggs_trace * trace, const struct ggs_figure_options * options,
                        int layer, struct ggs_text * data, struct ggs_error * error) {
    struct ggs_walk *  walk;
    struct ggs_choices choices = {0};
    int                status  = ggs_walk_open(&walk, trace, options->first_step, options->last_step, error);
    if (status < 0) return status;
    walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        status = ggs_choices_of(&choices, walk, error);
        for (uint64_t i = 0; status >= 0 && i < choices.n; i++)
            if (choices.choice[i].layer == layer) add_choice(raster, walk->run.step, &choices.choice[i], data);
    }
    ggs_choices_release(&choices);
    ggs_walk_close(walk);
    return status < 0 ? status : 0;
}

int ggs_figure_choices(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                       struct ggs_error * error) {
    struct ggs_experts e;
    struct ggs_chart * chart  = &figure->chart;
    uint64_t           i      = 0;
    int                status = compute(&e, trace, options, error);
    if (status < 0) return status;
    while (options->layer >= 0 && i < e.n_layers && e.layers[i].layer != options->layer) i++;
    if (i == e.n_layers) {
        status = fail_without_layer(&e, options->layer, error);
        ggs_experts_release(&e);
        return status;
    }
    struct raster raster = {.experts = e.layers[i].experts};
    raster.columns       = e.layers[i].tokens < COLUMNS_MOST ? e.layers[i].tokens : COLUMNS_MOST;
    raster.cells         = calloc(raster.experts * raster.columns + 1, sizeof(*raster.cells));
    ggs_figure_row(&figure->data, "token,column,rank,expert,weight\n");
    status = raster.cells == NULL ? ggs_fail_memory(error)
                                  : read_choices(&raster, trace, options, e.layers[i].layer, &figure->data, error);
    if (status == 0) {
        chart->x = (struct ggs_axis){.title = "tokens in order, with those of the prompt",
                                     .whole = true,
                                     .fixed = true,
                                     .to    = (double) raster.columns};
        chart->y = (struct ggs_axis){
            .title = "expert", .whole = true, .fixed = true, .down = true, .to = (double) raster.experts};
        chart->scale = (struct ggs_axis){.title = "routing weight"};
        ggs_chart_grid(chart, raster.cells, (uint32_t) raster.columns, (uint32_t) raster.experts);
    }
    free(raster.cells);
    ggs_experts_release(&e);
    return status;
}

// ---- several recordings: the part of the choices of each expert ----

static void put_shares(struct ggs_text * data, const struct ggs_domains * domains, int only) {
    ggs_figure_row(data, "layer,recording,expert,share\n");
    for (uint64_t i = 0; i < domains->n_layers; i++) {
        const struct ggs_domains_layer * layer = &domains->layers[i];
        for (uint64_t k = 0; (only < 0 || layer->layer == only) && k < layer->n * layer->experts; k++)
            ggs_figure_row(data, "%d,%" PRIu64 ",%" PRIu64 ",%.9g\n", layer->layer, k / layer->experts + 1,
                           k % layer->experts, layer->shares[k]);
    }
}

// A row for each recording, of one layer or of all.
static int add_shares(struct ggs_chart * chart, const struct ggs_domains * domains, int only,
                      struct ggs_error * error) {
    uint64_t columns = 0, rows = 0, row = 0;
    for (uint64_t i = 0; i < domains->n_layers; i++) {
        if (only >= 0 && domains->layers[i].layer != only) continue;
        rows += domains->n;
        if (domains->layers[i].experts > columns) columns = domains->layers[i].experts;
    }
    if (rows == 0) return ggs_fail(error, GGS_ABSENT, "layer %d has no experts", only);
    float * cells                = calloc(columns * rows, sizeof(*cells));
    char(*names)[GGS_AXIS_LABEL] = ggs_chart_names(chart, "", rows);
    for (uint64_t i = 0; cells != NULL && names != NULL && i < domains->n_layers; i++) {
        const struct ggs_domains_layer * layer = &domains->layers[i];
        for (unsigned k = 0; (only < 0 || layer->layer == only) && k < domains->n; k++, row++) {
            snprintf(names[row], sizeof(names[row]), "layer %d: %c", layer->layer, 'A' + (int) k);
            for (uint64_t expert = 0; expert < layer->experts; expert++)
                cells[row * columns + expert] = (float) layer->shares[k * layer->experts + expert];
        }
    }
    chart->x     = (struct ggs_axis){.title = "expert", .whole = true, .fixed = true, .to = (double) columns};
    chart->scale = (struct ggs_axis){.title = "part of a layer's choices", .unit = GGS_AXIS_PERCENT};
    chart->lines = rows < 12 ? 16 : rows < 40 ? (double) rows + 4 : 44;
    if (cells != NULL) ggs_chart_grid(chart, cells, (uint32_t) columns, (uint32_t) rows);
    free(cells);
    return cells == NULL ? ggs_fail_memory(error) : 0;
}

int ggs_figure_expert_domains(struct ggs_drawing * figure, struct ggs_trace * trace,
                              const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_experts_options asked = {.first_token = options->first_step, .last_token = options->last_step};
    struct ggs_domains         domains;
    if (options->n_traces < 2)
        return ggs_fail(error, GGS_USAGE, "a figure of experts by recording needs two recordings or more");
    int status = ggs_domains_compute(&domains, trace, options->n_traces, &asked, error);
    if (status < 0) return status;
    status = add_shares(&figure->chart, &domains, options->layer, error);
    put_shares(&figure->data, &domains, options->layer);
    ggs_domains_release(&domains);
    return status;
}
