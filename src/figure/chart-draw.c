// Draws the description of a chart on a canvas: layout first, then contents.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "figure/chart.h"
#include "figure/font.h"
#include "figure/palette.h"

enum { INK = 0x000000, GRID = 0xdddddd, FAINT = 0x555555, EDGE = 0x808080 };

struct page {
    struct ggs_canvas * canvas;
    struct ggs_chart *  chart;
    double              font, width;
    struct ggs_box      plot;
    struct ggs_ticks    x, y, right, scale;
};

static struct ggs_label label_at(const struct page * page, double x, double y, enum ggs_label_anchor anchor) {
    return (struct ggs_label){.x = x, .y = y, .size = page->font, .anchor = anchor, .colour = INK};
}

static double place_x(const struct page * page, double value) {
    return page->plot.x + page->plot.width * ggs_axis_place(&page->chart->x, value);
}

static double place_on(const struct page * page, const struct ggs_axis * axis, double value) {
    double share = ggs_axis_place(axis, value);
    return page->plot.y + page->plot.height * (axis->down ? share : 1 - share);
}

static double place_y(const struct page * page, double value) {
    return place_on(page, &page->chart->y, value);
}

static double place_of(const struct page * page, const struct ggs_series * series, double value) {
    return place_on(page, series->right ? &page->chart->right : &page->chart->y, value);
}

// ---- text in lines ----

// Draws a text in as many lines as it needs, or only counts them. Returns the number of lines.
static unsigned put_lines(struct page * page, const char * text, struct ggs_label label, double room, bool draws) {
    char     line[512] = "";
    unsigned n         = 0;
    for (size_t used = 0; *text != '\0';) {
        size_t word = strcspn(text, " ");
        char   next[512];
        snprintf(next, sizeof(next), "%s%s%.*s", line, used > 0 ? " " : "", (int) word, text);
        if (used > 0 && ggs_font_width(next, label.size, label.bold) > room) {
            if (draws) ggs_draw_text(page->canvas, &label, line);
            label.y += label.size * 1.25, n++;
            snprintf(next, sizeof(next), "%.*s", (int) word, text);
        }
        snprintf(line, sizeof(line), "%s", next);
        used = strlen(line);
        text += word + strspn(text + word, " ");
    }
    if (*line != '\0' && draws) ggs_draw_text(page->canvas, &label, line);
    return n + (*line != '\0');
}

// ---- series, in the plot and in the legend ----

static uint32_t colour_of(const struct ggs_series * series) {
    bool boxes = series->kind == GGS_SERIES_BOXES && series->look <= GGS_PALETTE_PALE;
    return ggs_palette_series[boxes ? series->look : series->look % GGS_PALETTE_SERIES];
}

static struct ggs_pen pen_of(const struct ggs_series * series) {
    static const double dashes[GGS_PALETTE_SERIES] = {0, 4, 1.2, 7, 2.4, 5.5, 3};
    return (struct ggs_pen){.stroke = colour_of(series),
                            .fill   = GGS_NO_COLOUR,
                            .width  = 1.1,
                            .dash   = dashes[series->look % GGS_PALETTE_SERIES]};
}

// Round, square, triangle or diamond.
static void draw_marker(struct ggs_canvas * canvas, unsigned look, double x, double y, double radius) {
    static const struct ggs_point corners[4][8] = {
        {{1, 0}, {.7, .7}, {0, 1}, {-.7, .7}, {-1, 0}, {-.7, -.7}, {0, -1}, {.7, -.7}},
        {{-.8, -.8}, {.8, -.8}, {.8, .8}, {-.8, .8}},
        {{0, -1}, {.866, .5}, {-.866, .5}},
        {{0, -1.1}, {1.1, 0}, {0, 1.1}, {-1.1, 0}}};
    static const unsigned n_corners[] = {8, 4, 3, 4};
    struct ggs_point      points[8];
    unsigned              n = n_corners[look % 4];
    for (unsigned i = 0; i < n; i++)
        points[i] = (struct ggs_point){x + radius * corners[look % 4][i].x, y + radius * corners[look % 4][i].y};
    ggs_draw_path(
        canvas, points, n,
        &(struct ggs_pen){
            .stroke = INK, .fill = ggs_palette_series[look % GGS_PALETTE_SERIES], .width = 0.4, .closed = true});
}

static void draw_swatch(struct page * page, const struct ggs_series * series, double x, double y, double size) {
    struct ggs_pen pen = pen_of(series);
    struct ggs_box box = {x, y - size * 0.75, size * 2.2, size * 0.8};
    if (series->kind == GGS_SERIES_POINTS) {
        draw_marker(page->canvas, series->look, x + box.width / 2, box.y + box.height / 2, size * 0.35);
    } else if (series->kind == GGS_SERIES_AREA) {
        ggs_draw_rect(page->canvas, box, colour_of(series), INK);
    } else if (series->kind == GGS_SERIES_BARS || series->kind == GGS_SERIES_BOXES) {
        ggs_draw_rect(page->canvas, box, colour_of(series), INK);
        ggs_draw_pattern(page->canvas, box, series->kind == GGS_SERIES_BOXES ? series->pattern : series->look, 2.5);
    } else {
        double middle = box.y + box.height / 2;
        if (series->kind == GGS_SERIES_EDGES) pen.stroke = EDGE;
        ggs_draw_path(page->canvas, (struct ggs_point[]){{x, middle}, {x + box.width, middle}}, 2, &pen);
        if (series->kind == GGS_SERIES_MARKED)
            draw_marker(page->canvas, series->look, x + box.width / 2, middle, size * 0.3);
    }
}

// Draws a swatch of the legend that is not a series: hatched cells, marks.
static void draw_cell_swatch(struct page * page, bool hatched, double x, double y, double size) {
    struct ggs_box box = {x, y - size * 0.75, size * 1.6, size * 0.8};
    ggs_draw_rect(page->canvas, box, 0xffffff, INK);
    if (hatched)
        ggs_draw_pattern(page->canvas, box, 2, 2.5);
    else
        ggs_draw_rect(page->canvas, (struct ggs_box){x + box.width / 2 - 1, box.y + box.height / 2 - 1, 2, 2}, INK,
                      GGS_NO_COLOUR);
}

static const char * legend_text(const struct ggs_chart * chart, unsigned i) {
    return i < chart->n_series ? chart->series[i].name : i == chart->n_series ? chart->blank : chart->marks;
}

// Draws the legend, or only measures it. Returns its height. It begins at the plot, or at the left
// of the page if one of its texts needs the room.
static double put_legend(struct page * page, double y, bool draws) {
    struct ggs_chart * chart = page->chart;
    double             left = page->plot.x, line = page->font * 1.4, used = 0;
    for (unsigned i = 0; i < chart->n_series + 2; i++) {
        const char * name = legend_text(chart, i);
        if (name != NULL && left + page->font * 2.6 + ggs_font_width(name, page->font, false) > page->width)
            left = page->font * 0.5;
    }
    double x = left;
    for (unsigned i = 0; i < chart->n_series + 2; i++) {
        const struct ggs_series * series = i < chart->n_series ? &chart->series[i] : NULL;
        const char *              name   = legend_text(chart, i);
        if (name == NULL || *name == '\0') continue;
        double wide = page->font * 2.6 + ggs_font_width(name, page->font, false);
        if (x > left && x + wide > page->width) x = left, used += line;
        if (used == 0) used = line;
        if (draws) {
            struct ggs_label label = label_at(page, x + page->font * 2.6, y + used - line * 0.35, GGS_ANCHOR_START);
            if (series != NULL)
                draw_swatch(page, series, x, label.y, page->font);
            else
                draw_cell_swatch(page, i == chart->n_series, x, label.y, page->font);
            ggs_draw_text(page->canvas, &label, name);
        }
        x += wide + page->font * 1.2;
    }
    return used;
}

// ---- axes ----

static void draw_x_axis(struct page * page) {
    double bottom = page->plot.y + page->plot.height;
    for (unsigned i = 0; i < page->x.n; i++) {
        if (*page->x.label[i] == '\0') continue;
        double x = place_x(page, page->x.at[i]);
        if (page->chart->pixels == NULL && page->chart->x.names == NULL)
            ggs_draw_line(page->canvas, x, page->plot.y, x, bottom, GRID, 0.4);
        ggs_draw_line(page->canvas, x, bottom, x, bottom + 3, INK, 0.5);
        struct ggs_label label = label_at(page, x, bottom + 4 + page->font * 0.8, GGS_ANCHOR_MIDDLE);
        ggs_draw_text(page->canvas, &label, page->x.label[i]);
    }
    struct ggs_label title =
        label_at(page, page->plot.x + page->plot.width / 2, bottom + 5 + page->font * 2.1, GGS_ANCHOR_MIDDLE);
    ggs_draw_text(page->canvas, &title, page->x.title);
}

static void draw_y_axis(struct page * page) {
    for (unsigned i = 0; i < page->y.n; i++) {
        if (*page->y.label[i] == '\0') continue;
        double y = place_y(page, page->y.at[i]);
        if (page->chart->pixels == NULL && page->chart->y.names == NULL)
            ggs_draw_line(page->canvas, page->plot.x, y, page->plot.x + page->plot.width, y, GRID, 0.4);
        ggs_draw_line(page->canvas, page->plot.x - 3, y, page->plot.x, y, INK, 0.5);
        struct ggs_label label = label_at(page, page->plot.x - 4.5, y + page->font * 0.35, GGS_ANCHOR_END);
        ggs_draw_text(page->canvas, &label, page->y.label[i]);
    }
    struct ggs_label title = label_at(page, page->font, page->plot.y + page->plot.height / 2, GGS_ANCHOR_MIDDLE);
    title.upwards          = true;
    ggs_draw_text(page->canvas, &title, page->y.title);
}

static void draw_right_axis(struct page * page) {
    double right = page->plot.x + page->plot.width;
    for (unsigned i = 0; i < page->right.n; i++) {
        double y = place_on(page, &page->chart->right, page->right.at[i]);
        ggs_draw_line(page->canvas, right, y, right + 3, y, INK, 0.5);
        struct ggs_label label = label_at(page, right + 4.5, y + page->font * 0.35, GGS_ANCHOR_START);
        ggs_draw_text(page->canvas, &label, page->right.label[i]);
    }
    struct ggs_label title = label_at(page, page->width - 2, page->plot.y + page->plot.height / 2, GGS_ANCHOR_MIDDLE);
    title.upwards          = true;
    if (page->right.n > 0) ggs_draw_text(page->canvas, &title, page->right.title);
}

// ---- data ----

// Shortens a text that is too wide; "" if too little of it would be left.
static void shorten(char text[64], double size, double room) {
    for (size_t n = strlen(text); n > 0 && ggs_font_width(text, size, false) > room; n--)
        snprintf(text + n - 1, 64 - (n - 1), n > 5 ? ".." : "");
}

// The text in a box is black or white, by contrast. Only shades shorten it.
static void draw_boxes(struct page * page, const struct ggs_series * series) {
    double       left = page->plot.x, end = left + page->plot.width, size = page->font * 0.8;
    bool         shaded = series->kind == GGS_SERIES_SHADES;
    uint32_t     colours[GGS_PALETTE_COLOURS];
    const char * texts = ggs_text_string(&page->chart->texts);
    ggs_palette_make(colours);
    for (uint64_t i = 0; i < series->n; i++) {
        const struct ggs_datum * d  = &series->data[i];
        double                   x0 = fmax(left, place_x(page, d->x)), x1 = fmin(end, place_x(page, d->x + d->size));
        double                   y0 = place_y(page, d->low), y1 = place_y(page, d->high);
        struct ggs_box           box = {x0, fmin(y0, y1), fmax(x1 - x0, 0.15), fabs(y1 - y0)};
        if (x1 < left || x0 > end || !(box.height > 0)) continue;
        if (shaded)
            ggs_draw_rect(page->canvas, box, colours[ggs_palette_at(d->y)], GGS_NO_COLOUR);
        else
            ggs_draw_rect(page->canvas, box, colour_of(series), GGS_NO_COLOUR);
        if (box.width > 2) ggs_draw_pattern(page->canvas, box, series->pattern, 2.5);
        char text[64];
        snprintf(text, sizeof(text), "%s", texts + d->text);
        if (shaded) shorten(text, size, box.width - 2);
        if (d->text == 0 || *text == '\0' || box.height < size || box.width < ggs_font_width(text, size, false) + 2)
            continue;
        struct ggs_label label =
            label_at(page, box.x + box.width / 2, box.y + box.height / 2 + size * 0.35, GGS_ANCHOR_MIDDLE);
        label.size = size;
        if (shaded ? d->y > 0.5 : series->look == 0 || series->look == 6) label.colour = 0xffffff;
        ggs_draw_text(page->canvas, &label, text);
    }
}

static void draw_edges(struct page * page, const struct ggs_series * series) {
    for (uint64_t i = 0; i < series->n; i++) {
        const struct ggs_datum * d = &series->data[i];
        ggs_draw_line(page->canvas, place_x(page, d->x), place_y(page, d->low), place_x(page, d->x + d->size),
                      place_y(page, d->high), EDGE, 0.35);
    }
}

static void draw_bars(struct page * page, const struct ggs_series * series) {
    double base = place_y(page, page->chart->y.from);
    for (uint64_t i = 0; i < series->n; i++) {
        const struct ggs_datum * d    = &series->data[i];
        double                   left = place_x(page, d->x - d->size / 2), right = place_x(page, d->x + d->size / 2);
        struct ggs_box           box = {left, place_y(page, d->y), right - left, 0};
        box.height                   = base - box.y;
        if (box.height <= 0) continue;
        ggs_draw_rect(page->canvas, box, colour_of(series), box.width > 3 ? INK : GGS_NO_COLOUR);
        if (box.width > 3) ggs_draw_pattern(page->canvas, box, series->look, 3);
    }
}

static void draw_points(struct page * page, const struct ggs_series * series) {
    for (uint64_t i = 0; i < series->n; i++) {
        const struct ggs_datum * d = &series->data[i];
        double                   x = place_x(page, d->x);
        if (d->low != d->high)
            ggs_draw_line(page->canvas, x, place_of(page, series, d->low), x, place_of(page, series, d->high),
                          colour_of(series), 1);
        draw_marker(page->canvas, series->look, x, place_of(page, series, d->y),
                    2 + 5 * sqrt(d->size > 0 ? d->size : 0));
    }
}

static int draw_curve(struct page * page, const struct ggs_series * series, struct ggs_error * error) {
    struct ggs_point * points = calloc(2 * series->n + 2, sizeof(*points));
    struct ggs_pen     pen    = pen_of(series);
    uint64_t           n      = 0;
    if (points == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < series->n; i++) {
        struct ggs_point next = {place_x(page, series->data[i].x), place_of(page, series, series->data[i].y)};
        if ((series->kind == GGS_SERIES_STEP || series->kind == GGS_SERIES_AREA) && i > 0)
            points[n] = (struct ggs_point){next.x, points[n - 1].y}, n++;
        points[n++] = next;
    }
    if (series->kind == GGS_SERIES_AREA && n > 0) { // down to the axis
        double base   = place_y(page, page->chart->y.from);
        points[n]     = (struct ggs_point){points[n - 1].x, base};
        points[n + 1] = (struct ggs_point){points[0].x, base};
        n += 2, pen.fill = pen.stroke, pen.stroke = GGS_NO_COLOUR, pen.closed = true;
    }
    ggs_draw_path(page->canvas, points, n, &pen);
    free(points);
    return 0;
}

static void draw_rules(struct page * page) {
    for (unsigned i = 0; i < page->chart->n_rules; i++) {
        const struct ggs_rule * rule   = &page->chart->rule[i];
        const struct ggs_box *  box    = &page->plot;
        double                  at     = rule->vertical ? place_x(page, rule->at) : place_y(page, rule->at);
        struct ggs_point        line[] = {
                   {rule->vertical ? at : box->x, rule->vertical ? box->y : at},
                   {rule->vertical ? at : box->x + box->width, rule->vertical ? box->y + box->height : at}};
        ggs_draw_path(page->canvas, line, 2,
                      &(struct ggs_pen){.stroke = FAINT, .fill = GGS_NO_COLOUR, .width = 0.7, .dash = 2.5});
        // Labels of neighbouring lines are at opposite ends.
        struct ggs_label label = label_at(page, i % 2 == 0 ? box->x + box->width - 3 : box->x + 3, at - 2.5,
                                          i % 2 == 0 ? GGS_ANCHOR_END : GGS_ANCHOR_START);
        if (rule->vertical) { // beside the line where there is room, one below the other
            bool left = at > box->x + box->width / 2;
            label     = label_at(page, at + (left ? -3 : 3), box->y + page->font * (1 + 1.2 * i),
                             left ? GGS_ANCHOR_END : GGS_ANCHOR_START);
        }
        label.colour = FAINT;
        ggs_draw_text(page->canvas, &label, rule->text);
    }
}

static void draw_scale(struct page * page) {
    uint8_t            pixels[128];
    uint32_t           colours[GGS_PALETTE_COLOURS];
    struct ggs_chart * chart = page->chart;
    struct ggs_box     box   = {page->plot.x + page->plot.width + page->font * 0.8, page->plot.y, page->font,
                                page->plot.height};
    if (chart->scale.title == NULL) return;
    ggs_palette_make(colours);
    for (unsigned i = 0; i < 128; i++) pixels[i] = ggs_palette_at((127.5 - i) / 128);
    ggs_draw_raster(page->canvas, box, &(struct ggs_raster){1, 128, pixels, colours, GGS_PALETTE_COLOURS});
    ggs_draw_rect(page->canvas, box, GGS_NO_COLOUR, INK);
    for (unsigned i = 0; i < page->scale.n; i++) {
        double y     = box.y + box.height * (1 - ggs_axis_place(&chart->scale, page->scale.at[i])),
               right = box.x + box.width;
        ggs_draw_line(page->canvas, right, y, right + 2.5, y, INK, 0.5);
        struct ggs_label label = label_at(page, right + 4, y + page->font * 0.35, GGS_ANCHOR_START);
        ggs_draw_text(page->canvas, &label, page->scale.label[i]);
    }
    struct ggs_label title = label_at(page, page->width - 2, box.y + box.height / 2, GGS_ANCHOR_MIDDLE);
    title.upwards          = true;
    ggs_draw_text(page->canvas, &title, page->scale.title);
}

static int draw_data(struct page * page, struct ggs_error * error) {
    struct ggs_chart * chart = page->chart;
    uint32_t           colours[GGS_PALETTE_COLOURS];
    int                status = 0;
    if (chart->pixels != NULL) {
        ggs_palette_make(colours);
        ggs_draw_raster(page->canvas, page->plot,
                        &(struct ggs_raster){chart->columns, chart->rows, chart->pixels, colours, GGS_PALETTE_COLOURS});
    }
    ggs_draw_clip(page->canvas, page->plot);
    for (unsigned i = 0; status == 0 && i < chart->n_series; i++) {
        const struct ggs_series * series = &chart->series[i];
        if (series->kind == GGS_SERIES_BARS)
            draw_bars(page, series);
        else if (series->kind == GGS_SERIES_EDGES)
            draw_edges(page, series);
        else if (series->kind == GGS_SERIES_BOXES || series->kind == GGS_SERIES_SHADES)
            draw_boxes(page, series);
        else if (series->kind == GGS_SERIES_POINTS)
            draw_points(page, series);
        else
            status = draw_curve(page, series, error);
        if (series->kind == GGS_SERIES_MARKED) draw_points(page, series);
    }
    draw_rules(page);
    ggs_draw_unclip(page->canvas);
    return status;
}

// ---- layout ----

static double widest(const struct ggs_ticks * ticks, double font) {
    double most = 0;
    for (unsigned i = 0; i < ticks->n; i++) most = fmax(most, ggs_font_width(ticks->label[i], font, false));
    return most;
}

// Makes room for the half of the last label of the x axis that is beyond its tick.
static void keep_inside(struct page * page) {
    if (page->x.n == 0) return;
    unsigned last  = page->x.n - 1;
    double   share = ggs_axis_place(&page->chart->x, page->x.at[last]);
    double   half  = ggs_font_width(page->x.label[last], page->font, false) / 2 + 1;
    double   room  = page->width - page->plot.x - half;
    if (share * page->plot.width > room) page->plot.width = room / share;
}

static void make_rates(struct page * page) {
    struct ggs_chart * chart = page->chart;
    chart->right = chart->y, page->right = page->y;
    for (unsigned i = 0; i < page->right.n; i++)
        snprintf(page->right.label[i], GGS_AXIS_LABEL, "%.3g",
                 1 / (chart->rate.base + chart->rate.per * page->right.at[i]));
    snprintf(page->right.title, sizeof(page->right.title), "%s", chart->rate.title);
}

// Makes the ticks first, because their labels determine the size of the plot. Returns the total
// height.
static double lay_out(struct page * page, double height) {
    struct ggs_chart * chart = page->chart;
    double             font = page->font, top = font * 0.7;
    double own    = chart->lines > 0 ? chart->lines * font * 1.3 : page->width * 0.62 - font * 4.3; // of the plot
    double wanted = height > 0 ? height : chart->lines > 0 ? own : page->width * 0.62;
    ggs_axis_ticks(&chart->y, (unsigned) (wanted / font / 3.2), &page->y);
    if (chart->scale.title != NULL) ggs_axis_ticks(&chart->scale, (unsigned) (wanted / font / 4), &page->scale);
    page->plot.x = font * 2 + widest(&page->y, font) + 4;
    if (chart->right.title != NULL) ggs_axis_ticks(&chart->right, (unsigned) (wanted / font / 3.2), &page->right);
    if (chart->rate.title != NULL) make_rates(page);
    double right     = page->right.n > 0            ? font * 2.4 + widest(&page->right, font)
                       : chart->scale.title == NULL ? font
                                                    : font * 4.2 + widest(&page->scale, font);
    page->plot.width = page->width - page->plot.x - right;
    unsigned n       = (unsigned) (page->plot.width / font / 4.5);
    ggs_axis_ticks(&chart->x, n, &page->x);
    while (n > 2 && page->x.n * (widest(&page->x, font) + font) > page->plot.width)
        ggs_axis_ticks(&chart->x, --n, &page->x);
    keep_inside(page);
    double caption = font * 0.85;
    if (chart->title != NULL)
        top += font * 1.5 *
               put_lines(page, chart->title, (struct ggs_label){.size = font * 1.15, .bold = true}, page->width - font,
                         false);
    top += put_legend(page, top, false);
    double bottom = font * 2.8 + 6;
    if (chart->caption != NULL)
        bottom += caption * 1.25 *
                      put_lines(page, chart->caption, (struct ggs_label){.size = caption}, page->width - font, false) +
                  font * 0.4;
    page->plot.y      = top + font * 0.3;
    page->plot.height = height > 0 ? height - page->plot.y - bottom : own;
    if (page->plot.height < font * 6) page->plot.height = font * 6;
    return page->plot.y + page->plot.height + bottom;
}

static void draw_texts(struct page * page) {
    struct ggs_chart * chart = page->chart;
    double             font = page->font, y = font * 0.7, caption = font * 0.85;
    if (chart->title != NULL) {
        struct ggs_label label = label_at(page, font * 0.5, y + font, GGS_ANCHOR_START);
        label.size = font * 1.15, label.bold = true;
        y += font * 1.5 * put_lines(page, chart->title, label, page->width - font, true);
    }
    put_legend(page, y, true);
    if (chart->caption != NULL) {
        struct ggs_label label =
            label_at(page, font * 0.5, page->plot.y + page->plot.height + font * 3.6 + 5, GGS_ANCHOR_START);
        label.size = caption, label.colour = FAINT;
        put_lines(page, chart->caption, label, page->width - font, true);
    }
}

int ggs_chart_draw(struct ggs_chart * chart, const struct ggs_chart_size * size,
                   const struct ggs_canvas_output * output, struct ggs_text * out, struct ggs_error * error) {
    struct ggs_canvas canvas;
    struct page *     page = calloc(1, sizeof(*page));
    if (page == NULL || chart->out_of_memory || chart->texts.failed) {
        free(page);
        return ggs_fail_memory(error);
    }
    *page         = (struct page){.canvas = &canvas, .chart = chart, .font = size->font, .width = size->width};
    double height = lay_out(page, size->height);
    ggs_canvas_begin(&canvas, output, size->width, height);
    draw_texts(page);
    draw_x_axis(page);
    draw_y_axis(page);
    draw_right_axis(page);
    int status = draw_data(page, error);
    ggs_draw_rect(&canvas, page->plot, GGS_NO_COLOUR, INK);
    draw_scale(page);
    int ended = ggs_canvas_end(&canvas, error);
    free(page);
    *out = canvas.out;
    return status < 0 ? status : ended;
}
