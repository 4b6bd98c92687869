#include "figure/study.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "figure/kinds.h"

// The values of all factors except memory: "readahead 128K, cold yes".
static void name_of(const struct ggs_sweep_answer * answer, const struct ggs_sweep_row * row, char * name,
                    size_t size) {
    size_t used = 0;
    name[0]     = '\0';
    for (unsigned i = 0; i < answer->n_factors && used < size; i++)
        if (strcmp(answer->factors[i], "memory") != 0)
            used += (size_t) snprintf(name + used, size - used, "%s%s %s", used > 0 ? ", " : "", answer->factors[i],
                                      row->values[i]);
}

static void put_row(struct ggs_text * data, const struct ggs_sweep_row * row, uint64_t memory,
                    const struct ggs_median * value) {
    ggs_figure_field(data, row->variant);
    for (unsigned i = 0; i < row->n_values; i++) ggs_text_putc(data, ','), ggs_figure_field(data, row->values[i]);
    ggs_text_puts(data, ",");
    if (memory > 0) ggs_text_printf(data, "%" PRIu64, memory);
    ggs_text_printf(data, ",%u,%u,", row->runs, row->n);
    if (isnan(value->median))
        ggs_text_puts(data, ",,\n");
    else
        ggs_text_printf(data, "%.17g,%.17g,%.17g\n", value->median, value->low, value->high);
}

static void put_names(struct ggs_text * data, const struct ggs_sweep_answer * answer, const char * figure) {
    ggs_text_puts(data, "variant");
    for (unsigned i = 0; i < answer->n_factors; i++)
        ggs_text_putc(data, ','), ggs_figure_field(data, answer->factors[i]);
    ggs_text_printf(data, ",memory_bytes,runs,n,%s,%s_low,%s_high\n", figure, figure, figure);
}

static struct ggs_series * series_of(struct ggs_chart * chart, const char * name) {
    char cut[sizeof(chart->series[0].name)];
    snprintf(cut, sizeof(cut), "%s", name);
    for (unsigned i = 0; i < chart->n_series; i++)
        if (strcmp(chart->series[i].name, cut) == 0) return &chart->series[i];
    return ggs_chart_series(chart, GGS_SERIES_MARKED, chart->n_series, name);
}

static int by_memory(const void * a, const void * b) {
    const struct ggs_datum *x = a, *y = b;
    return x->x < y->x ? -1 : x->x > y->x;
}

// Draws a run without a limit as a line across the plot, and marks one that ran out of memory.
static int add_row(struct ggs_chart * chart, const struct ggs_sweep_answer * answer, const struct ggs_sweep_row * row,
                   uint64_t memory, const struct ggs_median * value, struct ggs_error * error) {
    char name[256];
    name_of(answer, row, name, sizeof(name));
    if (isnan(value->median)) {
        if (memory > 0 && row->limited > 0)
            ggs_chart_rule(chart, true, (double) memory, "out of memory%s%s", name[0] != '\0' ? ": " : "", name);
        return 0;
    }
    if (memory == 0) {
        ggs_chart_rule(chart, false, value->median, "no limit%s%s", name[0] != '\0' ? ": " : "", name);
        return 0;
    }
    struct ggs_series * series = series_of(chart, name);
    if (series == NULL)
        return ggs_fail(error, GGS_UNSUPPORTED, "the study has more than %d combinations of values beside memory",
                        GGS_CHART_SERIES);
    ggs_chart_add(chart, series,
                  (struct ggs_datum){.x = (double) memory, .y = value->median, .low = value->low, .high = value->high});
    return 0;
}

static void set_axes(struct ggs_chart * chart, const struct ggs_figure * figure) {
    double most = 0, high = 0;
    for (unsigned i = 0; i < chart->n_series; i++) {
        struct ggs_series * series = &chart->series[i];
        if (series->n > 0) qsort(series->data, series->n, sizeof(*series->data), by_memory);
        for (uint64_t k = 0; k < series->n; k++) {
            most = fmax(most, series->data[k].x);
            high = fmax(high, fmax(series->data[k].y, series->data[k].high));
        }
    }
    for (unsigned i = 0; i < chart->n_rules; i++)
        if (!chart->rule[i].vertical) high = fmax(high, chart->rule[i].at);
    bool bytes = strcmp(figure->unit, "bytes") == 0, time = strcmp(figure->unit, "ns") == 0;
    chart->x = (struct ggs_axis){.title = "memory limit", .unit = GGS_AXIS_BYTES, .to = most * 1.05};
    chart->y = (struct ggs_axis){.title = figure->text,
                                 .unit  = bytes  ? GGS_AXIS_BYTES
                                          : time ? GGS_AXIS_TIME
                                                 : GGS_AXIS_NUMBER,
                                 .to    = high > 0 ? high : 1};
}

int ggs_figure_miss_curve(struct ggs_drawing * figure, const struct ggs_sweep_answer * answer, const uint64_t * memory,
                          unsigned cell, struct ggs_error * error) {
    const struct ggs_figure * what   = answer->rows[0].cells[cell].figure;
    int                       status = 0;
    put_names(&figure->data, answer, what->name);
    for (unsigned i = 0; status == 0 && i + 1 < answer->n_rows; i++) {
        const struct ggs_sweep_row * row   = &answer->rows[i];
        const struct ggs_median *    value = &row->cells[cell].value;
        put_row(&figure->data, row, memory[i], value);
        status = add_row(&figure->chart, answer, row, memory[i], value, error);
    }
    if (status == 0 && figure->chart.n_series == 0)
        status = ggs_fail(error, GGS_ABSENT, "no run of %s with a memory limit has ended with a value of %s",
                          answer->study, what->name);
    if (status == 0) set_axes(&figure->chart, what);
    return status;
}
