// Figures about caches: reuse distances, and the cost of less memory.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/totals.h"
#include "answer/paging.h"
#include "base/error.h"
#include "base/number.h"
#include "figure/kinds.h"

// ---- reuse ----

static void add_reuse(struct ggs_chart * chart, const struct ggs_pattern * pattern, struct ggs_text * data) {
    struct ggs_series * series = ggs_chart_series(chart, GGS_SERIES_BARS, 0, "");
    unsigned            first = GGS_PATTERN_BINS, last = 0;
    double              most = 1;
    ggs_figure_row(data, "distance_from,distance_to,bytes\n");
    for (unsigned i = 1; i < GGS_PATTERN_BINS; i++) {
        if (pattern->reuse_bins[i] == 0) continue;
        if (first == GGS_PATTERN_BINS) first = i;
        last        = i;
        double from = (double) (1ull << (i - 1)), to = (double) (1ull << i);
        ggs_chart_add(
            chart, series,
            (struct ggs_datum){.x = (from + to) / 2, .y = (double) pattern->reuse_bins[i], .size = to - from});
        ggs_figure_row(data, "%.0f,%.0f,%" PRIu64 "\n", from, to, pattern->reuse_bins[i]);
        most = fmax(most, (double) pattern->reuse_bins[i]);
    }
    ggs_figure_row(data, ",,%" PRIu64 "\n", pattern->first_bytes); // first accesses have no distance
    chart->x = (struct ggs_axis){.title = "reuse distance: bytes read until a byte is read again",
                                 .unit  = GGS_AXIS_BYTES,
                                 .log   = true,
                                 .from  = (double) (1ull << (first - 1)),
                                 .to    = (double) (1ull << last)};
    chart->y = (struct ggs_axis){.title = "bytes read again", .unit = GGS_AXIS_BYTES, .to = most};
}

int ggs_figure_reuse(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                     struct ggs_error * error) {
    struct ggs_totals       totals;
    struct ggs_totals_range range = ggs_totals_all;
    char                    text[GGS_NUMBER_LENGTH];
    if (options->first_step > 0 || options->last_step < INT64_MAX)
        range.first_step = options->first_step, range.last_step = options->last_step;
    int status = ggs_totals_compute(&totals, trace, &range, error);
    if (status < 0) return status;
    const struct ggs_pattern * pattern = &totals.pattern;
    if (pattern->reuse_median == 0 && pattern->reuse_90 == 0) {
        status =
            ggs_fail(error, GGS_ABSENT,
                     "no byte of a model file is read twice in this part of the recording: there is nothing to draw");
    } else {
        add_reuse(&figure->chart, pattern, &figure->data);
        ggs_chart_rule(&figure->chart, true, (double) pattern->reuse_median, "median %s",
                       ggs_format_bytes(text, pattern->reuse_median));
        if (pattern->reuse_90 != pattern->reuse_median)
            ggs_chart_rule(&figure->chart, true, (double) pattern->reuse_90, "90 %%: %s",
                           ggs_format_bytes(text, pattern->reuse_90));
    }
    ggs_totals_release(&totals);
    return status;
}

// ---- paging ----

static void add_lru(struct ggs_chart * chart, const struct ggs_paging * paging, double most, struct ggs_text * data) {
    struct ggs_series *     series = ggs_chart_series(chart, GGS_SERIES_STEP, 0, "least recently used");
    struct ggs_paging_curve curve  = {0};
    uint64_t                y      = 0;
    while (ggs_paging_curve_next(&curve, paging)) {
        uint64_t next = ggs_paging_per_token(paging, &curve.cost);
        ggs_figure_row(data, "lru,%" PRIu64 ",%" PRIu64 ",,\n", curve.memory, next);
        if ((double) curve.memory > most) continue;
        ggs_chart_add(chart, series, (struct ggs_datum){.x = (double) curve.memory, .y = (double) next});
        y = next;
    }
    ggs_chart_add(chart, series, (struct ggs_datum){.x = most, .y = (double) y});
}

static bool is_known(const struct ggs_paging_budget * budget, enum ggs_paging_policy policy) {
    return policy == GGS_PAGING_LINUX ? budget->linux_known : policy != GGS_PAGING_STREAM || budget->streams;
}

static void add_policy(struct ggs_chart * chart, const struct ggs_paging * paging, enum ggs_paging_policy policy,
                       unsigned look, const char * name, struct ggs_text * data) {
    struct ggs_series * series = NULL;
    for (unsigned i = 0; i < paging->n_budgets; i++) {
        const struct ggs_paging_budget * budget = &paging->budget[i];
        if (!is_known(budget, policy)) continue;
        uint64_t cost = ggs_paging_per_token(paging, &budget->cost[policy]), low = cost, high = cost;
        if (policy == GGS_PAGING_LINUX)
            low = ggs_paging_share(paging, budget->linux_least), high = ggs_paging_share(paging, budget->linux_most);
        ggs_figure_row(data, "%s,%" PRIu64 ",%" PRIu64 ",", ggs_paging_policy_names[policy], budget->memory, cost);
        if (low != high)
            ggs_figure_row(data, "%" PRIu64 ",%" PRIu64, low, high);
        else
            ggs_figure_row(data, ",");
        ggs_figure_row(data, "\n");
        if (series == NULL)
            series =
                ggs_chart_series(chart, policy == GGS_PAGING_LINUX ? GGS_SERIES_POINTS : GGS_SERIES_LINE, look, name);
        ggs_chart_add(
            chart, series,
            (struct ggs_datum){
                .x = (double) budget->memory, .y = (double) cost, .low = (double) low, .high = (double) high});
    }
}

// Tokens per second, if the recording tells how fast its disk is.
static struct ggs_rate rate_of(const struct ggs_paging_speed * speed) {
    if (!(speed->disk_bytes_per_second > 0) || speed->compute_ns <= 0) return (struct ggs_rate){0};
    return (struct ggs_rate){"tokens per second", (double) speed->compute_ns / 1e9, 1 / speed->disk_bytes_per_second};
}

static void describe(struct ggs_chart * chart, const struct ggs_paging * paging, struct ggs_text * data) {
    double most = (double) paging->touched_bytes, high = 0, linux = 0, least = INFINITY;
    char   text[GGS_NUMBER_LENGTH];
    for (unsigned i = 0; i < paging->n_budgets; i++) most = fmax(most, (double) paging->budget[i].memory);
    double limit = (double) paging->speed.memory_limit; // shown unless it is far above
    if (limit <= 2 * most) most = fmax(most, limit);
    ggs_figure_row(data, "policy,memory_bytes,bytes_per_token,least_bytes_per_token,most_bytes_per_token\n");
    add_lru(chart, paging, most * 1.03, data);
    add_policy(chart, paging, GGS_PAGING_LINUX, 1, "Linux's page cache", data);
    add_policy(chart, paging, GGS_PAGING_PIN_HOT, 2, "the best weights pinned", data);
    add_policy(chart, paging, GGS_PAGING_STREAM, 3, "ggscope stream", data);
    add_policy(chart, paging, GGS_PAGING_OPT, 6, "optimum", data);
    for (unsigned i = 0; i < chart->n_series; i++) {
        for (uint64_t k = 0; k < chart->series[i].n; k++) {
            double y = fmax(chart->series[i].data[k].y, chart->series[i].data[k].high);
            if (chart->series[i].kind == GGS_SERIES_POINTS)
                linux = fmax(linux, y);
            else
                high = fmax(high, y);
            if (y > 0) least = fmin(least, y);
        }
    }
    // Linux can read many times the bytes of any other policy, so the scale is logarithmic. Such
    // a curve ends where nothing is read.
    bool log = linux > 4 * high && high > 0;
    if (limit > 0 && limit <= most)
        ggs_chart_rule(chart, true, (double) paging->speed.memory_limit, "limit of this recording: %s",
                       ggs_format_bytes(text, paging->speed.memory_limit));
    chart->x =
        (struct ggs_axis){.title = "memory for weights", .unit = GGS_AXIS_BYTES, .fixed = true, .to = most * 1.03};
    chart->y    = (struct ggs_axis){.title = "read from the disk per token",
                                    .unit  = GGS_AXIS_BYTES,
                                    .log   = log,
                                    .from  = log ? fmax(least, high / 1e3) : 0,
                                    .to    = fmax(high, linux)};
    chart->rate = rate_of(&paging->speed);
}

int ggs_figure_paging(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                      struct ggs_error * error) {
    struct ggs_paging_options asked  = {.first_step = options->first_step,
                                        .last_step  = options->last_step,
                                        .readahead  = options->readahead,
                                        .policies   = {true, true, true, true, true}};
    struct ggs_paging *       paging = calloc(1, sizeof(*paging));
    if (paging == NULL) return ggs_fail_memory(error);
    int status = ggs_paging_compute(paging, trace, &asked, error);
    if (status == 0) {
        if (paging->n_budgets == 0)
            status = ggs_fail(error, GGS_ABSENT, "no op reads bytes of a model file here: there is nothing to page");
        else
            describe(&figure->chart, paging, &figure->data);
        ggs_paging_release(paging);
    }
    free(paging);
    return status;
}
