// A page to draw on, with two outputs: SVG and PDF.
//
// Coordinates are points (1/72 inch); y grows downwards. The bytes depend only on the calls: there
// are no dates and no random ids. Text is Helvetica, whose widths are known (font.h). Characters
// that PDF's standard encoding lacks become question marks there.
//
// Failure sticks, as in base/text.h: callers check only ggs_canvas_end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct ggs_error;

#define GGS_NO_COLOUR UINT32_MAX // else 0xRRGGBB

struct ggs_pen {
    uint32_t stroke, fill;
    double   width;  // of the stroke
    double   dash;   // length of dashes and gaps; 0: solid
    bool     closed; // of a path
};

struct ggs_point {
    double x, y; // x NaN: lifts the pen
};

struct ggs_box {
    double x, y, width, height;
};

// Pixels by row, as indices of colours.
struct ggs_raster {
    uint32_t         columns, rows;
    const uint8_t *  pixels;
    const uint32_t * colours;
    unsigned         n_colours; // at most 256
};

enum ggs_label_anchor { GGS_ANCHOR_START, GGS_ANCHOR_MIDDLE, GGS_ANCHOR_END };

struct ggs_label {
    double                x, y; // of the baseline
    double                size;
    enum ggs_label_anchor anchor;
    bool                  bold, upwards; // rotated by 90 degrees, read from below
    uint32_t              colour;
};

struct ggs_canvas;
struct ggs_canvas_output {
    const char * name; // "svg"
    const char * type; // content type
    void (*begin)(struct ggs_canvas * canvas);
    void (*path)(struct ggs_canvas * canvas, const struct ggs_point * points, uint64_t n, const struct ggs_pen * pen);
    void (*text)(struct ggs_canvas * canvas, const struct ggs_label * label, const char * text);
    void (*clip)(struct ggs_canvas * canvas, const struct ggs_box * box); // NULL: ends the clip
    void (*raster)(struct ggs_canvas * canvas, const struct ggs_box * box, const struct ggs_raster * raster);
    void (*end)(struct ggs_canvas * canvas);
};
extern const struct ggs_canvas_output ggs_canvas_svg, ggs_canvas_pdf;
// Finds an output by name; NULL if there is none.
const struct ggs_canvas_output * ggs_canvas_output_named(const char * name);

enum { GGS_CANVAS_RASTERS = 8 };
struct ggs_canvas {
    const struct ggs_canvas_output * output;
    double                           width, height;
    struct ggs_text                  out; // the document; of a PDF the page's content until the end
    struct ggs_text                  raster[GGS_CANVAS_RASTERS]; // of a PDF: finished objects
    unsigned                         n_rasters, n_clips;
};

void ggs_canvas_begin(struct ggs_canvas * canvas, const struct ggs_canvas_output * output, double width, double height);
// The document is in canvas->out, which the caller then owns.
int ggs_canvas_end(struct ggs_canvas * canvas, struct ggs_error * error);

void ggs_draw_path(struct ggs_canvas * canvas, const struct ggs_point * points, uint64_t n, const struct ggs_pen * pen);
void ggs_draw_line(struct ggs_canvas * canvas, double x0, double y0, double x1, double y1, uint32_t colour,
                   double width);
void ggs_draw_rect(struct ggs_canvas * canvas, struct ggs_box box, uint32_t fill, uint32_t stroke);
void ggs_draw_text(struct ggs_canvas * canvas, const struct ggs_label * label, const char * text);
void ggs_draw_clip(struct ggs_canvas * canvas, struct ggs_box box);
void ggs_draw_unclip(struct ggs_canvas * canvas);
void ggs_draw_raster(struct ggs_canvas * canvas, struct ggs_box box, const struct ggs_raster * raster);
// Fills a box with lines, so that areas differ without colours. `pattern` 0: none.
enum { GGS_PATTERNS = 6 };
void ggs_draw_pattern(struct ggs_canvas * canvas, struct ggs_box box, unsigned pattern, double step);
