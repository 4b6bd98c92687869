// A canvas as SVG.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "figure/canvas.h"
#include "figure/font.h"
#include "figure/pack.h"

static void begin(struct ggs_canvas * c) {
    ggs_text_printf(&c->out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.2fmm\" height=\"%.2fmm\" viewBox=\"0 0 %.2f "
                    "%.2f\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n"
                    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                    c->width * 25.4 / 72, c->height * 25.4 / 72, c->width, c->height);
}

static void put_colour(struct ggs_text * out, const char * name, uint32_t colour) {
    if (colour == GGS_NO_COLOUR)
        ggs_text_printf(out, " %s=\"none\"", name);
    else
        ggs_text_printf(out, " %s=\"#%06x\"", name, (unsigned) colour);
}

static void path(struct ggs_canvas * c, const struct ggs_point * points, uint64_t n, const struct ggs_pen * pen) {
    bool moves = true;
    ggs_text_puts(&c->out, "<path d=\"");
    for (uint64_t i = 0; i < n; i++) {
        if (!isnan(points[i].x)) ggs_text_printf(&c->out, "%c%.2f %.2f", moves ? 'M' : 'L', points[i].x, points[i].y);
        moves = isnan(points[i].x);
    }
    ggs_text_puts(&c->out, pen->closed ? "Z\"" : "\"");
    put_colour(&c->out, "fill", pen->fill);
    if (pen->stroke != GGS_NO_COLOUR) {
        put_colour(&c->out, "stroke", pen->stroke);
        ggs_text_printf(&c->out, " stroke-width=\"%.2f\"", pen->width);
    }
    if (pen->dash > 0) ggs_text_printf(&c->out, " stroke-dasharray=\"%.2f\"", pen->dash);
    ggs_text_puts(&c->out, "/>\n");
}

static void put_escaped(struct ggs_text * out, const char * text) {
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            ggs_text_printf(out, "&#%d;", *text);
        else
            ggs_text_putc(out, (unsigned char) *text < ' ' ? ' ' : *text);
    }
}

// True if the width of every character is known: ASCII, and the sign of microseconds.
static bool is_measured(const char * words) {
    while (*words != '\0') {
        bool other = strncmp(words, "µ", 2) == 0 || strncmp(words, "·", 2) == 0;
        if (!other && (*words < ' ' || *words > '~')) return false;
        words += other ? 2 : 1;
    }
    return true;
}

static void text(struct ggs_canvas * c, const struct ggs_label * label, const char * words) {
    static const char * const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    ggs_text_printf(&c->out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.2f\"%s", label->x, label->y, label->size,
                    anchors[label->anchor]);
    if (label->bold) ggs_text_puts(&c->out, " font-weight=\"bold\"");
    if (label->upwards) ggs_text_printf(&c->out, " transform=\"rotate(-90 %.2f %.2f)\"", label->x, label->y);
    // The layout has Helvetica's widths: a font in its place is squeezed to them.
    if (!label->bold && is_measured(words))
        ggs_text_printf(&c->out, " textLength=\"%.2f\" lengthAdjust=\"spacingAndGlyphs\"",
                        ggs_font_width(words, label->size, false));
    put_colour(&c->out, "fill", label->colour);
    ggs_text_putc(&c->out, '>');
    put_escaped(&c->out, words);
    ggs_text_puts(&c->out, "</text>\n");
}

static void clip(struct ggs_canvas * c, const struct ggs_box * box) {
    // A nested svg element clips without needing an id for a clipping path.
    if (box != NULL)
        ggs_text_printf(&c->out,
                        "<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" viewBox=\"%.2f %.2f %.2f %.2f\" "
                        "preserveAspectRatio=\"none\">\n",
                        box->x, box->y, box->width, box->height, box->x, box->y, box->width, box->height);
    else
        ggs_text_puts(&c->out, "</svg>\n");
}

// ---- rasters: PNG, base64 ----

static uint32_t crc(uint32_t sum, const char * data, size_t length) {
    for (size_t i = 0; i < length; i++) {
        sum ^= (uint8_t) data[i];
        for (unsigned bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return sum;
}

static void put_u32(struct ggs_text * out, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) ggs_text_putc(out, (char) (value >> (24 - 8 * i)));
}

static void put_chunk(struct ggs_text * png, const char * name, const struct ggs_text * data) {
    put_u32(png, (uint32_t) data->length);
    size_t from = png->length;
    ggs_text_append(png, name, 4);
    ggs_text_append(png, ggs_text_string(data), data->length);
    if (!png->failed) put_u32(png, ~crc(~0u, png->data + from, png->length - from));
}

static void make_png(struct ggs_text * png, const struct ggs_raster * raster) {
    struct ggs_text data = {0}, rows = {0};
    ggs_text_append(png, "\x89PNG\r\n\x1a\n", 8);
    put_u32(&data, raster->columns), put_u32(&data, raster->rows);
    ggs_text_append(&data, "\x08\x03\0\0\0", 5); // 8 bits per pixel, with a palette
    put_chunk(png, "IHDR", &data);
    ggs_text_clear(&data);
    for (unsigned i = 0; i < raster->n_colours; i++)
        for (unsigned k = 0; k < 3; k++) ggs_text_putc(&data, (char) (raster->colours[i] >> (16 - 8 * k)));
    put_chunk(png, "PLTE", &data);
    ggs_text_clear(&data);
    for (uint32_t y = 0; y < raster->rows; y++) {
        ggs_text_putc(&rows, 0);
        ggs_text_append(&rows, (const char *) raster->pixels + (size_t) y * raster->columns, raster->columns);
    }
    if (!rows.failed) ggs_pack(&data, rows.data, rows.length);
    png->failed |= rows.failed || data.failed;
    put_chunk(png, "IDAT", &data);
    ggs_text_clear(&data);
    put_chunk(png, "IEND", &data);
    ggs_text_release(&data), ggs_text_release(&rows);
}

static void put_base64(struct ggs_text * out, const struct ggs_text * data) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < data->length; i += 3) {
        uint32_t three = 0;
        size_t   left  = data->length - i < 3 ? data->length - i : 3;
        for (size_t k = 0; k < 3; k++) three = three << 8 | (k < left ? (uint8_t) data->data[i + k] : 0);
        for (size_t k = 0; k < 4; k++) ggs_text_putc(out, k <= left ? digits[three >> (18 - 6 * k) & 63] : '=');
    }
}

static void raster(struct ggs_canvas * c, const struct ggs_box * box, const struct ggs_raster * pixels) {
    struct ggs_text png = {0};
    make_png(&png, pixels);
    ggs_text_printf(&c->out,
                    "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" preserveAspectRatio=\"none\" "
                    "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
                    box->x, box->y, box->width, box->height);
    put_base64(&c->out, &png);
    ggs_text_puts(&c->out, "\"/>\n");
    c->out.failed |= png.failed;
    ggs_text_release(&png);
}

static void end(struct ggs_canvas * c) {
    ggs_text_puts(&c->out, "</svg>\n");
}

const struct ggs_canvas_output ggs_canvas_svg = {.name   = "svg",
                                                 .type   = "image/svg+xml",
                                                 .begin  = begin,
                                                 .path   = path,
                                                 .text   = text,
                                                 .clip   = clip,
                                                 .raster = raster,
                                                 .end    = end};
