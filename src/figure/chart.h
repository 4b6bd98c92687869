// A chart: axes, series, a raster, a legend, a scale of colours, lines, a title and a caption. It is
// described here, and drawn on a canvas by ggs_chart_draw.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "figure/axis.h"
#include "figure/canvas.h"

enum ggs_series_kind {
    GGS_SERIES_LINE,
    GGS_SERIES_STEP,   // each value holds until the next point
    GGS_SERIES_AREA,   // the same, filled
    GGS_SERIES_MARKED, // a line with markers
    GGS_SERIES_POINTS, // markers; with `low` and `high` a bar from one to the other
    GGS_SERIES_BARS,   // from the axis up; `size` is the width on the x axis
};

struct ggs_datum {
    double x, y;
    double low, high; // of points: the range; equal if there is none
    double size;      // of points: the marker's, from 0 to 1; of bars the width
};

struct ggs_series {
    char                 name[64];
    enum ggs_series_kind kind;
    unsigned             look; // colour, dash, marker and pattern
    struct ggs_datum *   data;
    uint64_t             n, capacity;
};

struct ggs_rule { // a line across the plot
    bool   vertical;
    double at;
    char   text[64];
};

enum { GGS_CHART_SERIES = 16, GGS_CHART_RULES = 8 };
struct ggs_chart {
    const char *      title;   // NULL: none
    const char *      caption; // NULL: none
    struct ggs_axis   x, y;
    struct ggs_series series[GGS_CHART_SERIES];
    unsigned          n_series;
    struct ggs_rule   rule[GGS_CHART_RULES];
    unsigned          n_rules;
    // A raster that fills the plot, its rows from top to bottom. NULL: none.
    uint8_t *       pixels;
    uint32_t        columns, rows;
    struct ggs_axis scale;         // of its colours; title NULL: none
    const char *    blank;         // what hatched cells are; NULL: there are none
    const char *    marks;         // what black dots are; NULL: there are none
    bool            out_of_memory; // some data is missing
};

struct ggs_chart_size {
    double width, height; // points; height 0: as suits the chart
    double font;
};

// Adds a series; the name is cut. NULL if there is no room.
struct ggs_series * ggs_chart_series(struct ggs_chart * chart, enum ggs_series_kind kind, unsigned look,
                                     const char * name);
void                ggs_chart_add(struct ggs_chart * chart, struct ggs_series * series, struct ggs_datum datum);
__attribute__((format(printf, 4, 5))) void ggs_chart_rule(struct ggs_chart * chart, bool vertical, double at,
                                                          const char * format, ...);
// Takes a grid of amounts as the raster: colours are spread evenly over the amounts' logarithms if
// the scale says so. `scale` gets its ends.
void ggs_chart_grid(struct ggs_chart * chart, const float * cells, uint32_t columns, uint32_t rows);

int  ggs_chart_draw(struct ggs_chart * chart, const struct ggs_chart_size * size,
                    const struct ggs_canvas_output * output, struct ggs_text * out, struct ggs_error * error);
void ggs_chart_release(struct ggs_chart * chart);
