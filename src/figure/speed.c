// Figures of time: ops compared with the limits of the machine, and the durations of tokens.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/ops/overview.h"
#include "analyze/ops/roofline.h"
#include "analyze/walk/words.h"
#include "answer/ops/stats.h"
#include "base/error.h"
#include "figure/kinds.h"

// ---- roofline ----

struct roof {
    struct ggs_rates rates;
    double           x0, x1, y0, y1; // of all points
    uint64_t         most_ns;
};

static void widen(struct roof * roof, double x, double y) {
    roof->x0 = fmin(roof->x0, x), roof->x1 = fmax(roof->x1, x);
    roof->y0 = fmin(roof->y0, y), roof->y1 = fmax(roof->y1, y);
}

static bool is_drawn(const struct ggs_roofline_row * row) {
    return !row->on_device && row->flops > 0 && row->wall_ns > 0 && row->read + row->written > 0;
}

// Places in the palette of series; the page has the same colours.
static unsigned look_of(uint64_t phase) {
    return phase == GGS_PHASE_PROMPT ? 5 : phase == GGS_PHASE_MIXED ? 3 : phase == GGS_PHASE_VERIFY ? 2 : 4;
}

static void add_points(struct ggs_chart * chart, const struct ggs_roofline * list, struct roof * roof, uint64_t phase) {
    static const char * const names[] = {
        [GGS_PHASE_PROMPT] = "prompt", [GGS_PHASE_GENERATE] = "generate", [GGS_PHASE_MIXED] = "mixed",
        [GGS_PHASE_VERIFY] = "verify", [GGS_PHASE_GRAPH] = "graph run",   [GGS_PHASE_WARMUP] = "warm-up",
        [GGS_PHASE_NONE] = "no step"};
    struct ggs_series * series = NULL;
    for (uint64_t i = 0; i < list->n; i++) {
        const struct ggs_roofline_row * row = &list->row[i];
        if (row->phase != phase || !is_drawn(row)) continue;
        double x = (double) row->flops / (double) (row->read + row->written),
               y = (double) row->flops / (double) row->wall_ns;
        if (series == NULL) series = ggs_chart_series(chart, GGS_SERIES_POINTS, look_of(phase), names[phase]);
        ggs_chart_add(chart, series,
                      (struct ggs_datum){.x = x, .y = y, .size = (double) row->wall_ns / (double) roof->most_ns});
        widen(roof, x, y);
    }
}

static void put_points(struct ggs_text * data, const struct ggs_roofline * list) {
    ggs_figure_row(data, "phase,op,component,ops,wall_ns,bytes_read,bytes_written,flops,flop_per_byte,gflops\n");
    for (uint64_t i = 0; i < list->n; i++) {
        const struct ggs_roofline_row * row = &list->row[i];
        if (!is_drawn(row)) continue;
        ggs_figure_row(data, "%s,", ggs_word_phase(row->phase));
        ggs_figure_field(data, row->op), ggs_text_putc(data, ','), ggs_figure_field(data, row->component);
        ggs_figure_row(data, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%.6g,%.6g\n", row->ops,
                       row->wall_ns, row->read, row->written, row->flops,
                       (double) row->flops / (double) (row->read + row->written),
                       (double) row->flops / (double) row->wall_ns);
    }
}

// The roof: memory bandwidth up to its edge, arithmetic from there on.
static void add_roof(struct ggs_chart * chart, struct roof * roof) {
    double bytes = (double) roof->rates.memory_bytes_per_second / 1e9,
           flops = (double) roof->rates.flops_per_second / 1e9;
    if (!(bytes > 0)) return;
    if (flops > 0) widen(roof, flops / bytes, flops);
    double              left = roof->x0 / 2, right = roof->x1 * 2, edge = flops > 0 ? flops / bytes : right;
    struct ggs_series * series = ggs_chart_series(chart, GGS_SERIES_LINE, 6, "what the machine can do");
    widen(roof, left, left * bytes), widen(roof, right, fmin(right, edge) * bytes);
    ggs_chart_add(chart, series, (struct ggs_datum){.x = left, .y = left * bytes});
    ggs_chart_add(chart, series, (struct ggs_datum){.x = fmin(edge, right), .y = fmin(edge, right) * bytes});
    if (flops > 0) ggs_chart_add(chart, series, (struct ggs_datum){.x = fmax(right, edge), .y = flops});
}

static int find_rates(struct ggs_rates * rates, struct ggs_trace * trace, const char * directory,
                      struct ggs_error * error) {
    struct ggs_overview overview;
    struct ggs_limits   limits;
    int                 status = ggs_overview_compute(&overview, trace, error);
    if (status < 0) return status;
    ggs_stats_limits(&limits, trace, directory);
    *rates = ggs_limits_of(&limits, overview.threads);
    ggs_overview_release(&overview);
    return 0;
}

int ggs_figure_roofline(struct ggs_drawing * figure, struct ggs_trace * trace,
                        const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_roofline     list;
    struct ggs_totals_range range = ggs_totals_all;
    struct roof             roof  = {.x0 = INFINITY, .y0 = INFINITY, .most_ns = 1};
    struct ggs_chart *      chart = &figure->chart;
    if (options->first_step > 0 || options->last_step < INT64_MAX)
        range.first_step = options->first_step, range.last_step = options->last_step;
    int status = find_rates(&roof.rates, trace, options->directory, error);
    if (status == 0) status = ggs_roofline_compute(&list, trace, &range, error);
    if (status < 0) return status;
    for (uint64_t i = 0; i < list.n; i++)
        if (is_drawn(&list.row[i]) && list.row[i].wall_ns > roof.most_ns) roof.most_ns = list.row[i].wall_ns;
    for (unsigned phase = 0; phase < GGS_PHASE_COUNT; phase++) add_points(chart, &list, &roof, phase);
    if (chart->n_series == 0) {
        status = ggs_fail(
            error, GGS_ABSENT,
            "no product of matrices and no attention with times was recorded on the CPU: there is nothing to draw");
    } else {
        add_roof(chart, &roof);
        put_points(&figure->data, &list);
        chart->x = (struct ggs_axis){.title = "flop per byte", .log = true, .from = roof.x0, .to = roof.x1 * 1.01};
        chart->y = (struct ggs_axis){.title = "Gflop/s", .log = true, .from = roof.y0, .to = roof.y1 * 1.01};
    }
    ggs_roofline_release(&list);
    return status;
}

// ---- durations ----

int ggs_figure_durations(struct ggs_drawing * figure, struct ggs_trace * trace,
                         const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_roofline     list;
    struct ggs_totals_range range = ggs_totals_all;
    struct ggs_chart *      chart = &figure->chart;
    uint64_t                first = GGS_ROOFLINE_BINS, last = 0, most = 0;
    if (options->first_step > 0 || options->last_step < INT64_MAX)
        range.first_step = options->first_step, range.last_step = options->last_step;
    int status = ggs_roofline_compute(&list, trace, &range, error);
    if (status < 0) return status;
    struct ggs_series * series = ggs_chart_series(chart, GGS_SERIES_BARS, 0, "");
    ggs_figure_row(&figure->data, "from_ns,to_ns,ops\n");
    for (uint64_t bin = 0; bin < GGS_ROOFLINE_BINS; bin++) {
        double   from = (double) (1ull << bin);
        uint64_t ops  = 0;
        for (uint64_t i = 0; i < list.n; i++) ops += list.row[i].bins[bin];
        if (ops == 0) continue;
        ggs_chart_add(chart, series, (struct ggs_datum){.x = from * 1.5, .y = (double) ops, .size = from});
        ggs_figure_row(&figure->data, "%.0f,%.0f,%" PRIu64 "\n", from, 2 * from, ops);
        if (first == GGS_ROOFLINE_BINS) first = bin;
        last = bin;
        if (ops > most) most = ops;
    }
    if (most == 0) status = ggs_fail(error, GGS_ABSENT, "no op with times was recorded: there is nothing to draw");
    chart->x = (struct ggs_axis){.title = "duration of an op",
                                 .unit  = GGS_AXIS_TIME,
                                 .log   = true,
                                 .fixed = true,
                                 .from  = (double) (1ull << first),
                                 .to    = (double) (1ull << last) * 2};
    chart->y = (struct ggs_axis){.title = "ops", .whole = true, .to = (double) most};
    ggs_roofline_release(&list);
    return status;
}

// ---- tokens ----

struct times {
    double   least, most, first, end;
    uint64_t n;
};

// Generating steps are one series, all others another.
static int add_steps(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                     struct ggs_series * series[2], struct times * times, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     step;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) return status;
    ggs_figure_row(&figure->data, "token,phase,tokens,begin_ns,end_ns,duration_ns\n");
    while ((more = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.step < 0 || step.step < options->first_step || step.step > options->last_step ||
            !ggs_trace_has_step(trace, step.step))
            continue;
        int64_t duration = step.end_ns > step.begin_ns ? step.end_ns - step.begin_ns : 0;
        double  x = (double) step.step, y = (double) duration;
        ggs_chart_add(&figure->chart, series[step.phase != GGS_PHASE_PROMPT],
                      (struct ggs_datum){.x = x + 0.5, .y = y, .size = 0.8});
        ggs_figure_row(&figure->data, "%" PRId64 ",%s,%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", step.step,
                       ggs_word_phase(step.phase), step.tokens, step.begin_ns, step.end_ns, duration);
        if (duration > 0) times->least = fmin(times->least, y);
        times->most = fmax(times->most, y), times->first = fmin(times->first, x), times->end = fmax(times->end, x + 1);
        times->n++;
    }
    ggs_cursor_close(cursor);
    return more;
}

int ggs_figure_tokens(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                      struct ggs_error * error) {
    struct ggs_chart *  chart     = &figure->chart;
    struct ggs_series * series[2] = {ggs_chart_series(chart, GGS_SERIES_BARS, look_of(GGS_PHASE_PROMPT), "prompt"),
                                     ggs_chart_series(chart, GGS_SERIES_BARS, look_of(GGS_PHASE_GENERATE), "generate")};
    struct times        times     = {.least = INFINITY, .first = INFINITY};
    if (trace->tokenless) series[1]->name[0] = '\0';
    int status = add_steps(figure, trace, options, series, &times, error);
    if (status < 0) return status;
    if (times.n == 0 || !(times.most > 0))
        return ggs_fail(error, GGS_ABSENT, "this part of the recording has no token: there is nothing to draw");
    if (series[1]->n > 300) series[1]->kind = GGS_SERIES_STEP;
    if (series[0]->n == 0) series[0]->name[0] = '\0';
    bool log = times.most > 30 * times.least;
    chart->x = (struct ggs_axis){
        .title = ggs_word_step(trace), .whole = true, .fixed = true, .from = times.first, .to = times.end};
    chart->y = (struct ggs_axis){
        .title = "time", .unit = GGS_AXIS_TIME, .log = log, .from = log ? times.least : 0, .to = times.most};
    return 0;
}
