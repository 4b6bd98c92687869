// Figures about the disk and the page cache by token: bytes and stalls, and what is in memory.
#include <inttypes.h>
#include <math.h>

#include "analyze/machine/block-requests.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/residency.h"
#include "analyze/ops/groups.h"
#include "analyze/walk/words.h"
#include "answer/ops/stats.h"
#include "base/error.h"
#include "figure/kinds.h"

static struct ggs_totals_range range_of(const struct ggs_figure_options * options) {
    struct ggs_totals_range range = ggs_totals_all;
    range.first_step = options->first_step, range.last_step = options->last_step; // without warm-up
    return range;
}

static struct ggs_axis steps(const struct ggs_trace * trace, double first, double last) {
    return (struct ggs_axis){
        .title = ggs_word_step(trace), .whole = true, .fixed = true, .from = first - 0.5, .to = last + 0.5};
}

// ---- bytes and stalls ----

struct sums {
    struct ggs_groups         tokens;
    struct ggs_fault_totals   faults;
    struct ggs_request_totals requests;
    bool                      has_faults, has_requests;
};

static int compute(struct sums * sums, struct ggs_trace * trace, const struct ggs_totals_range * range,
                   struct ggs_error * error) {
    sums->has_faults   = ggs_reader_rows(trace->reader, GGS_TABLE_FAULTS) > 0;
    sums->has_requests = ggs_reader_rows(trace->reader, GGS_TABLE_BLOCK_REQUESTS) > 0;
    int status         = ggs_groups_compute(&sums->tokens, trace, GGS_BY_TOKEN, range, error);
    if (status == 0 && sums->has_faults) status = ggs_fault_totals_compute(&sums->faults, trace, range, error);
    if (status == 0 && sums->has_requests) status = ggs_request_totals_compute(&sums->requests, trace, range, error);
    return status;
}

static void release(struct sums * sums) {
    if (sums->has_requests) ggs_request_totals_release(&sums->requests);
    if (sums->has_faults) ggs_fault_totals_release(&sums->faults);
    ggs_groups_release(&sums->tokens);
}

static double stalled_in(const struct sums * sums, int64_t token) {
    for (uint64_t i = 0; sums->has_faults && i < sums->faults.by_token.n; i++)
        if (sums->faults.by_token.group[i].order == token)
            return (double) sums->faults.by_token.group[i].sum.stalled_ns;
    return 0;
}

static double requested_in(const struct sums * sums, int64_t token) {
    for (uint64_t i = 0; sums->has_requests && i < sums->requests.n_by_token; i++)
        if (sums->requests.by_token[i].order == token) return (double) sums->requests.by_token[i].sum.bytes;
    return 0;
}

static void put_token(struct ggs_text * data, const struct sums * sums, const struct ggs_group * token) {
    ggs_figure_row(data, "%" PRId64 ",%" PRIu64 ",", token->order, token->disk);
    if (sums->has_requests) ggs_figure_row(data, "%.0f", requested_in(sums, token->order));
    ggs_text_putc(data, ',');
    if (sums->has_faults) ggs_figure_row(data, "%.0f", stalled_in(sums, token->order));
    ggs_text_putc(data, '\n');
}

static void describe(struct ggs_drawing * figure, const struct ggs_trace * trace, const struct sums * sums) {
    struct ggs_chart *   chart     = &figure->chart;
    bool                 many      = sums->tokens.n > 300; // bars would be thinner than a line
    enum ggs_series_kind kind      = many ? GGS_SERIES_STEP : GGS_SERIES_BARS;
    struct ggs_series *  addressed = ggs_chart_series(chart, kind, 0, "addressed in mapped files");
    struct ggs_series *  read      = sums->has_requests ? ggs_chart_series(chart, kind, 3, "read from the disk") : NULL;
    struct ggs_series *  stalled =
        sums->has_faults ? ggs_chart_series(chart, GGS_SERIES_MARKED, 1, "threads stalled") : NULL;
    double most = 0, longest = 0, first = INFINITY, last = 0, wide = many ? 0 : read == NULL ? 0.8 : 0.4;
    ggs_figure_row(&figure->data, "token,bytes_disk,bytes_requested,stalled_ns\n");
    for (uint64_t i = 0; i < sums->tokens.n; i++) {
        const struct ggs_group * token = &sums->tokens.group[i];
        double x = (double) token->order, bytes = requested_in(sums, token->order), ns = stalled_in(sums, token->order);
        if (token->order < 0) continue;
        ggs_chart_add(
            chart, addressed,
            (struct ggs_datum){.x = read == NULL ? x : x - wide / 2, .y = (double) token->disk, .size = wide});
        if (read != NULL) ggs_chart_add(chart, read, (struct ggs_datum){.x = x + wide / 2, .y = bytes, .size = wide});
        if (stalled != NULL) ggs_chart_add(chart, stalled, (struct ggs_datum){.x = x, .y = ns});
        put_token(&figure->data, sums, token);
        most = fmax(most, fmax((double) token->disk, bytes)), longest = fmax(longest, ns);
        first = fmin(first, x), last = fmax(last, x);
    }
    chart->x = steps(trace, first, last);
    chart->y = (struct ggs_axis){.title = "bytes", .unit = GGS_AXIS_BYTES, .to = most};
    if (stalled == NULL) return;
    stalled->right = true;
    chart->right   = (struct ggs_axis){.title = "stalled, summed over threads", .unit = GGS_AXIS_TIME, .to = longest};
}

int ggs_figure_storage(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                       struct ggs_error * error) {
    struct ggs_totals_range range  = range_of(options);
    struct sums             sums   = {0};
    int                     status = compute(&sums, trace, &range, error);
    if (status == 0 && sums.tokens.n == 0)
        status = ggs_fail(error, GGS_ABSENT, "this part of the recording has no token: there is nothing to draw");
    if (status == 0) describe(figure, trace, &sums);
    release(&sums);
    return status;
}

// ---- what is in memory ----

static void add_snapshots(struct ggs_drawing * figure, const struct ggs_trace * trace,
                          const struct ggs_resident_list * list, const struct ggs_figure_options * options) {
    struct ggs_chart *  chart     = &figure->chart;
    struct ggs_series * all       = ggs_chart_series(chart, GGS_SERIES_MARKED, 0, "in memory");
    struct ggs_series * untouched = ggs_chart_series(chart, GGS_SERIES_MARKED, 1, "of these, never read by an op");
    double              first = INFINITY, last = 0, most = 1;
    ggs_figure_row(&figure->data, "token,bytes,bytes_untouched\n");
    for (uint64_t i = 0; i < list->n; i++) {
        const struct ggs_resident * at = &list->snapshot[i];
        double                      x  = (double) at->step;
        if (!ggs_stats_ends_token(list, i) || at->step < options->first_step || at->step > options->last_step) continue;
        ggs_chart_add(chart, all, (struct ggs_datum){.x = x, .y = (double) at->bytes});
        ggs_chart_add(chart, untouched, (struct ggs_datum){.x = x, .y = (double) at->untouched});
        ggs_figure_row(&figure->data, "%" PRId64 ",%" PRIu64 ",%" PRIu64 "\n", at->step, at->bytes, at->untouched);
        first = fmin(first, x), last = fmax(last, x), most = fmax(most, (double) at->bytes);
    }
    chart->x = steps(trace, first, last);
    chart->y = (struct ggs_axis){.title = "bytes of the model in memory", .unit = GGS_AXIS_BYTES, .to = most};
}

int ggs_figure_residency(struct ggs_drawing * figure, struct ggs_trace * trace,
                         const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_totals        totals;
    struct ggs_resident_list list   = {0};
    int                      status = ggs_totals_compute(&totals, trace, &ggs_totals_all, error);
    if (status < 0) return status;
    status = ggs_resident_list(&list, trace, &totals, error);
    if (status == 0) {
        add_snapshots(figure, trace, &list, options);
        if (figure->chart.series[0].n == 0)
            status = ggs_fail(error, GGS_ABSENT,
                              "what was in memory was not recorded (record --residency): there is nothing to draw");
        ggs_resident_release(&list);
    }
    ggs_totals_release(&totals);
    return status;
}
