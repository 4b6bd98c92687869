// The description of a chart: axes, series, a raster, a legend, a colour scale, lines, a title and
// a caption. ggs_chart_draw draws it on a canvas.
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
    GGS_SERIES_POINTS, // markers; with `low` and `high` also a range bar
    GGS_SERIES_BARS,   // from the axis up; `size` is the width in units of x
    GGS_SERIES_BOXES,  // from x to x + size and from `low` to `high`
    GGS_SERIES_SHADES, // the same, with the colour of y on the scale, from 0 to 1
    GGS_SERIES_EDGES,  // thin lines from (x, low) to (x + size, high)
};

struct ggs_datum {
    double x, y;
    double low, high; // of points: the range; equal if none
    double size;      // of points: the marker's, from 0 to 1; of bars the width
    size_t text;      // of ggs_chart_text: in a box, if it has room; 0: none
};

struct ggs_series {
    char                 name[64];
    enum ggs_series_kind kind;
    unsigned             look;    // colour, dash, marker and pattern
    unsigned             pattern; // of boxes, instead of the look's
    bool                 right;   // on the right axis
    struct ggs_datum *   data;
    uint64_t             n, capacity;
};

struct ggs_rule { // a line across the plot
    bool   vertical;
    double at;
    char   text[64];
};

struct ggs_rate { // what the ticks of y mean: 1 / (base + per * y), written at the right
    const char * title;
    double       base, per;
};

enum { GGS_CHART_SERIES = 16, GGS_CHART_RULES = 8 };
struct ggs_chart {
    const char *      title;   // NULL: none
    const char *      caption; // NULL: none
    struct ggs_axis   x, y;
    struct ggs_axis   right; // for some series; title NULL: none, as with a scale of colours
    struct ggs_rate   rate;  // instead of it; title NULL: none
    struct ggs_series series[GGS_CHART_SERIES];
    unsigned          n_series;
    struct ggs_rule   rule[GGS_CHART_RULES];
    unsigned          n_rules;
    // A raster that fills the plot, rows from top to bottom. NULL: none.
    uint8_t *       pixels;
    uint32_t        columns, rows;
    struct ggs_axis scale;         // of its colours; title NULL: none
    const char *    blank;         // meaning of hatched cells; NULL: none
    const char *    marks;         // meaning of black dots; NULL: none
    struct ggs_text texts;         // in boxes, each with a NUL
    double          lines;         // height of the plot in lines of text; 0: follows from the width
    bool            out_of_memory; // data is incomplete
};

struct ggs_chart_size {
    double width, height; // points; height 0: chosen by the chart
    double font;
};

// Adds a series; a long name is truncated. NULL if there are too many.
struct ggs_series * ggs_chart_series(struct ggs_chart * chart, enum ggs_series_kind kind, unsigned look,
                                     const char * name);
void                ggs_chart_add(struct ggs_chart * chart, struct ggs_series * series, struct ggs_datum datum);
// Keeps a text for a datum.
size_t ggs_chart_text(struct ggs_chart * chart, const char * text);
// Makes y an axis of n names, the first at the top. The caller fills them in. NULL when out of
// memory.
char (*ggs_chart_names(struct ggs_chart * chart, const char * title, uint64_t n))[GGS_AXIS_LABEL];
__attribute__((format(printf, 4, 5))) void ggs_chart_rule(struct ggs_chart * chart, bool vertical, double at,
                                                          const char * format, ...);
// Sets the raster from a grid of amounts. Colours are linear or, if the scale is logarithmic, in
// the logarithm of the amounts. Sets the ends of `scale`.
void ggs_chart_grid(struct ggs_chart * chart, const float * cells, uint32_t columns, uint32_t rows);

int  ggs_chart_draw(struct ggs_chart * chart, const struct ggs_chart_size * size,
                    const struct ggs_canvas_output * output, struct ggs_text * out, struct ggs_error * error);
void ggs_chart_release(struct ggs_chart * chart);
