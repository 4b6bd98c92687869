#include "figure/canvas.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

const struct ggs_canvas_output * ggs_canvas_output_named(const char * name) {
    if (strcmp(name, ggs_canvas_svg.name) == 0) return &ggs_canvas_svg;
    return strcmp(name, ggs_canvas_pdf.name) == 0 ? &ggs_canvas_pdf : NULL;
}

void ggs_canvas_begin(struct ggs_canvas * canvas, const struct ggs_canvas_output * output, double width,
                      double height) {
    *canvas = (struct ggs_canvas){.output = output, .width = width, .height = height};
    output->begin(canvas);
}

int ggs_canvas_end(struct ggs_canvas * canvas, struct ggs_error * error) {
    while (canvas->n_clips > 0) ggs_draw_unclip(canvas);
    bool failed = canvas->out.failed;
    for (unsigned i = 0; i < canvas->n_rasters; i++) failed |= canvas->raster[i].failed;
    if (!failed) canvas->output->end(canvas);
    for (unsigned i = 0; i < canvas->n_rasters; i++) ggs_text_release(&canvas->raster[i]);
    return failed || canvas->out.failed ? ggs_fail_memory(error) : 0;
}

void ggs_draw_path(struct ggs_canvas * canvas, const struct ggs_point * points, uint64_t n,
                   const struct ggs_pen * pen) {
    if (n > 0) canvas->output->path(canvas, points, n, pen);
}

void ggs_draw_line(struct ggs_canvas * canvas, double x0, double y0, double x1, double y1, uint32_t colour,
                   double width) {
    ggs_draw_path(canvas, (struct ggs_point[]){{x0, y0}, {x1, y1}}, 2,
                  &(struct ggs_pen){.stroke = colour, .fill = GGS_NO_COLOUR, .width = width});
}

void ggs_draw_rect(struct ggs_canvas * canvas, struct ggs_box box, uint32_t fill, uint32_t stroke) {
    double right = box.x + box.width, bottom = box.y + box.height;
    ggs_draw_path(canvas, (struct ggs_point[]){{box.x, box.y}, {right, box.y}, {right, bottom}, {box.x, bottom}}, 4,
                  &(struct ggs_pen){.stroke = stroke, .fill = fill, .width = 0.5, .closed = true});
}

void ggs_draw_text(struct ggs_canvas * canvas, const struct ggs_label * label, const char * text) {
    if (*text != '\0') canvas->output->text(canvas, label, text);
}

void ggs_draw_clip(struct ggs_canvas * canvas, struct ggs_box box) {
    canvas->n_clips++;
    canvas->output->clip(canvas, &box);
}

void ggs_draw_unclip(struct ggs_canvas * canvas) {
    canvas->n_clips--;
    canvas->output->clip(canvas, NULL);
}

void ggs_draw_raster(struct ggs_canvas * canvas, struct ggs_box box, const struct ggs_raster * raster) {
    if (canvas->n_rasters < GGS_CANVAS_RASTERS) canvas->output->raster(canvas, &box, raster);
}

// Draws parallel lines through the whole box: dy per dx, `step` apart.
static void draw_lines(struct ggs_canvas * canvas, struct ggs_box box, double dx, double dy, double step) {
    double length = fabs(dx) * box.height + fabs(dy) * box.width;
    for (double at = step / 2; at < length; at += step) {
        double x0 = box.x, y0 = box.y + at, x1 = box.x + box.width, y1 = y0;
        if (dy != 0) x0 = box.x + at, y0 = box.y, x1 = x0, y1 = box.y + box.height;
        if (dx > 0 && dy != 0) x1 = box.x + at - box.height;                  // descends to the left
        if (dx < 0 && dy != 0) x0 = box.x + at - box.height, x1 = box.x + at; // to the right
        ggs_draw_line(canvas, x0, y0, x1, y1, 0x000000, 0.4);
    }
}

void ggs_draw_pattern(struct ggs_canvas * canvas, struct ggs_box box, unsigned pattern, double step) {
    static const struct {
        double dx, dy;
    } slopes[GGS_PATTERNS][2] = {{{0, 0}}, {{1, 1}}, {{-1, 1}}, {{1, 0}}, {{0, 1}}, {{1, 1}, {-1, 1}}};
    if (pattern % GGS_PATTERNS == 0) return;
    ggs_draw_clip(canvas, box);
    for (unsigned i = 0; i < 2; i++) {
        double dx = slopes[pattern % GGS_PATTERNS][i].dx, dy = slopes[pattern % GGS_PATTERNS][i].dy;
        if (dx != 0 || dy != 0) draw_lines(canvas, box, dx, dy, step);
    }
    ggs_draw_unclip(canvas);
}
