// Cells of the KV cache that are in use, stacked by sequence, over time.
#include "analyze/requests/cells.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "figure/kinds.h"

enum { MOMENTS = 1000, SEQUENCES = 6 }; // sequences with colours of their own

// Returns the requested context, else the one with the most cells.
static const struct ggs_cell_peak * find_context(const struct ggs_cell_uses * uses, int64_t asked) {
    const struct ggs_cell_peak * most = NULL;
    for (uint64_t i = 0; i < uses->n_peaks; i++) {
        const struct ggs_cell_peak * peak = &uses->peak[i];
        if (asked >= 0 ? peak->context == (uint64_t) asked : most == NULL || peak->cells > most->cells) most = peak;
    }
    return most == NULL || most->cells == 0 ? NULL : most;
}

static uint64_t cells_of(const struct ggs_cell_use * use, int64_t sequence) {
    for (uint64_t i = 0; i < use->n_sequences; i++)
        if (use->by_sequence[i].sequence == sequence) return use->by_sequence[i].cells;
    return 0;
}

static double all_cells(const struct ggs_cell_use * use) {
    double sum = 0;
    for (uint64_t i = 0; i < use->n_sequences; i++) sum += (double) use->by_sequence[i].cells;
    return sum;
}

// Finds the first sequences by number; returns how many, and in *more whether there are others.
static unsigned find_sequences(const struct ggs_cell_uses * uses, uint64_t context, int64_t sequence[SEQUENCES],
                               bool * more) {
    unsigned n = 0;
    *more      = false;
    for (uint64_t i = 0; i < uses->n; i++) {
        for (uint64_t k = 0; uses->use[i].context == context && k < uses->use[i].n_sequences; k++) {
            unsigned at = 0;
            while (at < n && sequence[at] != uses->use[i].by_sequence[k].sequence) at++;
            if (at == SEQUENCES) *more = true;
            if (at == n && n < SEQUENCES) sequence[n++] = uses->use[i].by_sequence[k].sequence;
        }
    }
    return n;
}

struct moments {
    const struct ggs_cell_uses * uses;
    uint64_t                     context;
    double                       end, most;
};

// Adds the result of `value` for each moment. It holds until the next moment.
static void add_moments(struct ggs_chart * chart, struct ggs_series * series, struct moments * m,
                        double (*value)(const struct ggs_cell_use * use, const void * of), const void * of) {
    double last = 0;
    for (uint64_t i = 0; i < m->uses->n; i++) {
        const struct ggs_cell_use * use = &m->uses->use[i];
        if (use->context != m->context) continue;
        last = value(use, of);
        if (last > m->most) m->most = last;
        ggs_chart_add(chart, series, (struct ggs_datum){.x = (double) use->time_ns, .y = last});
    }
    ggs_chart_add(chart, series, (struct ggs_datum){.x = m->end, .y = last});
}

struct stack {
    const int64_t * sequence;
    unsigned        n; // up to this one
    bool            all;
};

static double stacked(const struct ggs_cell_use * use, const void * of) {
    const struct stack * stack = of;
    double               sum   = 0;
    if (stack->all) return all_cells(use);
    for (unsigned i = 0; i < stack->n; i++) sum += (double) cells_of(use, stack->sequence[i]);
    return sum;
}

static double in_use(const struct ggs_cell_use * use, const void * of) {
    (void) of;
    return (double) use->cells;
}

// Areas reach down to the axis: the highest is drawn first.
static void add_stack(struct ggs_chart * chart, struct moments * m) {
    int64_t  sequence[SEQUENCES];
    bool     more;
    char     name[40];
    unsigned n = find_sequences(m->uses, m->context, sequence, &more);
    if (more)
        add_moments(chart, ggs_chart_series(chart, GGS_SERIES_AREA, 6, "other sequences"), m, stacked,
                    &(struct stack){.all = true});
    for (unsigned i = n; i > 0; i--) {
        snprintf(name, sizeof(name), "sequence %" PRId64, sequence[i - 1]);
        add_moments(chart, ggs_chart_series(chart, GGS_SERIES_AREA, i - 1, name), m, stacked,
                    &(struct stack){.sequence = sequence, .n = i});
    }
    if (n > 1)
        add_moments(chart, ggs_chart_series(chart, GGS_SERIES_STEP, 6, "in use, shared ones once"), m, in_use, NULL);
}

static void put_moments(struct ggs_text * data, const struct ggs_cell_uses * uses, uint64_t context) {
    ggs_figure_row(data, "time_ns,token,context,cells,up_to,holes,attended,sequence,sequence_cells\n");
    for (uint64_t i = 0; i < uses->n; i++) {
        const struct ggs_cell_use * use = &uses->use[i];
        for (uint64_t k = 0; use->context == context && k < use->n_sequences; k++)
            ggs_figure_row(data,
                           "%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRIu64
                           ",%" PRId64 ",%" PRIu64 "\n",
                           use->time_ns, use->token, use->context, use->cells, use->up_to, use->holes, use->attended,
                           use->by_sequence[k].sequence, use->by_sequence[k].cells);
    }
}

int ggs_figure_cells(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                     struct ggs_error * error) {
    struct ggs_cell_uses uses;
    struct ggs_chart *   chart = &figure->chart;
    int64_t              begin, end;
    int                  status = ggs_figure_window(trace, options, &begin, &end, error);
    if (status == 0) status = ggs_cell_uses_compute(&uses, trace, MOMENTS, error);
    if (status < 0) return status;
    const struct ggs_cell_peak * peak = find_context(&uses, options->context);
    if (peak == NULL) {
        status = ggs_fail(error, GGS_ABSENT, "no cell of a KV cache was seen: there is nothing to draw");
    } else {
        struct moments m = {&uses, peak->context, (double) end, 1};
        add_stack(chart, &m);
        chart->x = (struct ggs_axis){
            .title = "time", .unit = GGS_AXIS_TIME, .fixed = true, .from = (double) begin, .to = (double) end};
        chart->y = (struct ggs_axis){.title = "cells in use", .whole = true, .to = m.most};
        put_moments(&figure->data, &uses, peak->context);
    }
    ggs_cell_uses_release(&uses);
    return status;
}
