#include "figure/chart.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "figure/palette.h"

struct ggs_series * ggs_chart_series(struct ggs_chart * chart, enum ggs_series_kind kind, unsigned look,
                                     const char * name) {
    if (chart->n_series == GGS_CHART_SERIES) return NULL;
    struct ggs_series * series = &chart->series[chart->n_series++];
    *series                    = (struct ggs_series){.kind = kind, .look = look};
    snprintf(series->name, sizeof(series->name), "%s", name);
    return series;
}

void ggs_chart_add(struct ggs_chart * chart, struct ggs_series * series, struct ggs_datum datum) {
    if (series == NULL || !ggs_array_push(series->data, series->n, series->capacity, datum))
        chart->out_of_memory = true;
}

size_t ggs_chart_text(struct ggs_chart * chart, const char * text) {
    if (chart->texts.length == 0) ggs_text_putc(&chart->texts, '\0');
    size_t at = chart->texts.length;
    ggs_text_append(&chart->texts, text, strlen(text) + 1);
    return at;
}

char (*ggs_chart_names(struct ggs_chart * chart, const char * title, uint64_t n))[GGS_AXIS_LABEL] {
    chart->y       = (struct ggs_axis){.title = title, .down = true, .fixed = true, .to = (double) n, .n_names = n};
    chart->y.names = calloc(n + 1, sizeof(*chart->y.names));
    chart->out_of_memory |= chart->y.names == NULL;
    return chart->y.names;
}

void ggs_chart_rule(struct ggs_chart * chart, bool vertical, double at, const char * format, ...) {
    if (chart->n_rules == GGS_CHART_RULES) return;
    struct ggs_rule * rule = &chart->rule[chart->n_rules++];
    va_list           arguments;
    *rule = (struct ggs_rule){.vertical = vertical, .at = at};
    va_start(arguments, format);
    vsnprintf(rule->text, sizeof(rule->text), format, arguments);
    va_end(arguments);
}

void ggs_chart_grid(struct ggs_chart * chart, const float * cells, uint32_t columns, uint32_t rows) {
    size_t n     = (size_t) columns * rows;
    double least = INFINITY, most = 0;
    chart->pixels  = calloc(n > 0 ? n : 1, 1);
    chart->columns = columns, chart->rows = rows;
    if (chart->pixels == NULL) {
        chart->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (cells[i] > 0 && cells[i] < least) least = cells[i];
        if (cells[i] > most) most = cells[i];
    }
    if (!(most > 0)) least = 0, most = 1;
    struct ggs_axis * scale = &chart->scale;
    if (scale->log && most / least > 1e4) least = most / 1e4; // smaller values have the lightest colour
    scale->log &= most > least;
    scale->from = scale->log ? least : 0, scale->to = most, scale->fixed = true;
    for (size_t i = 0; i < n; i++)
        if (cells[i] > 0) chart->pixels[i] = ggs_palette_at(fmax(ggs_axis_place(scale, cells[i]), 1e-6));
}

void ggs_chart_release(struct ggs_chart * chart) {
    for (unsigned i = 0; i < chart->n_series; i++) free(chart->series[i].data);
    free(chart->pixels);
    free(chart->x.names);
    free(chart->y.names);
    ggs_text_release(&chart->texts);
    *chart = (struct ggs_chart){0};
}
