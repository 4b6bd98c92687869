// A canvas as PDF 1.4: a catalog, one page, its content, two fonts, rasters.
#include <math.h>

#include "figure/canvas.h"
#include "figure/font.h"
#include "figure/pack.h"

enum { CATALOG = 1, PAGES, PAGE, CONTENT, FONT, BOLD, FIRST_RASTER }; // object numbers

static void begin(struct ggs_canvas * c) {
    ggs_text_printf(&c->out, "1 0 0 -1 0 %.2f cm\n1 1 1 rg 0 0 %.2f %.2f re f\n", c->height, c->width, c->height);
}

static void put_colour(struct ggs_text * out, uint32_t colour, const char * operation) {
    ggs_text_printf(out, "%.3f %.3f %.3f %s\n", (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                    (colour & 255) / 255.0, operation);
}

static void path(struct ggs_canvas * c, const struct ggs_point * points, uint64_t n, const struct ggs_pen * pen) {
    bool filled = pen->fill != GGS_NO_COLOUR, stroked = pen->stroke != GGS_NO_COLOUR, moves = true;
    if (!filled && !stroked) return;
    if (filled) put_colour(&c->out, pen->fill, "rg");
    if (stroked) {
        put_colour(&c->out, pen->stroke, "RG");
        ggs_text_printf(&c->out, "%.2f w\n", pen->width);
        if (pen->dash > 0) ggs_text_printf(&c->out, "[%.2f] 0 d\n", pen->dash);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!isnan(points[i].x))
            ggs_text_printf(&c->out, "%.2f %.2f %c\n", points[i].x, points[i].y, moves ? 'm' : 'l');
        moves = isnan(points[i].x);
    }
    if (pen->closed) ggs_text_puts(&c->out, "h ");
    ggs_text_puts(&c->out, filled && stroked ? "B\n" : filled ? "f\n" : "S\n");
    if (stroked && pen->dash > 0) ggs_text_puts(&c->out, "[] 0 d\n");
}

static void text(struct ggs_canvas * c, const struct ggs_label * label, const char * words) {
    double shift = ggs_font_width(words, label->size, label->bold) * label->anchor / 2;
    double x = label->x - (label->upwards ? 0 : shift), y = label->y + (label->upwards ? shift : 0);
    put_colour(&c->out, label->colour, "rg");
    ggs_text_printf(&c->out, "BT /F%d %.2f Tf %s %.2f %.2f Tm (", label->bold ? BOLD : FONT, label->size,
                    label->upwards ? "0 -1 -1 0" : "1 0 0 -1", x, y);
    while (*words != '\0') {
        uint8_t letter = ggs_font_next(&words);
        if (letter == '(' || letter == ')' || letter == '\\') ggs_text_putc(&c->out, '\\');
        ggs_text_putc(&c->out, (char) letter);
    }
    ggs_text_puts(&c->out, ") Tj ET\n");
}

static void clip(struct ggs_canvas * c, const struct ggs_box * box) {
    if (box != NULL)
        ggs_text_printf(&c->out, "q %.2f %.2f %.2f %.2f re W n\n", box->x, box->y, box->width, box->height);
    else
        ggs_text_puts(&c->out, "Q\n");
}

static void put_stream(struct ggs_text * out, const void * data, size_t length, const char * more) {
    struct ggs_text packed = {0};
    ggs_pack(&packed, data, length);
    ggs_text_printf(out, "<< %s/Length %zu /Filter /FlateDecode >>\nstream\n", more, packed.length);
    ggs_text_append(out, ggs_text_string(&packed), packed.length);
    ggs_text_puts(out, "\nendstream\n");
    out->failed |= packed.failed;
    ggs_text_release(&packed);
}

static void raster(struct ggs_canvas * c, const struct ggs_box * box, const struct ggs_raster * pixels) {
    struct ggs_text   facts  = {0};
    struct ggs_text * object = &c->raster[c->n_rasters];
    ggs_text_printf(&facts,
                    "/Type /XObject /Subtype /Image /Width %u /Height %u /BitsPerComponent 8 /ColorSpace [/Indexed "
                    "/DeviceRGB %u <",
                    (unsigned) pixels->columns, (unsigned) pixels->rows, pixels->n_colours - 1);
    for (unsigned i = 0; i < pixels->n_colours; i++) ggs_text_printf(&facts, "%06x", (unsigned) pixels->colours[i]);
    ggs_text_puts(&facts, ">] ");
    put_stream(object, pixels->pixels, (size_t) pixels->columns * pixels->rows, ggs_text_string(&facts));
    object->failed |= facts.failed;
    ggs_text_release(&facts);
    ggs_text_printf(&c->out, "q %.2f 0 0 %.2f %.2f %.2f cm /I%u Do Q\n", box->width, -box->height, box->x,
                    box->y + box->height, c->n_rasters++);
}

struct file {
    struct ggs_text text;
    size_t          at[FIRST_RASTER + GGS_CANVAS_RASTERS]; // offsets of objects
};

static void open_object(struct file * file, unsigned number) {
    file->at[number] = file->text.length;
    ggs_text_printf(&file->text, "%u 0 obj\n", number);
}

static void put_object(struct file * file, unsigned number, const char * data, size_t length) {
    open_object(file, number);
    ggs_text_append(&file->text, data, length);
    ggs_text_puts(&file->text, "endobj\n");
}

static void put_page(struct file * file, const struct ggs_canvas * c) {
    open_object(file, PAGE);
    ggs_text_printf(&file->text,
                    "<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %.2f %.2f] /Contents %d 0 R /Resources << /Font << "
                    "/F%d %d 0 R /F%d %d 0 R >> /XObject <<",
                    PAGES, c->width, c->height, CONTENT, FONT, FONT, BOLD, BOLD);
    for (unsigned i = 0; i < c->n_rasters; i++) ggs_text_printf(&file->text, " /I%u %u 0 R", i, FIRST_RASTER + i);
    ggs_text_puts(&file->text, " >> >> >>\nendobj\n");
}

static void put_font(struct file * file, unsigned number, const char * name) {
    open_object(file, number);
    ggs_text_printf(&file->text, "<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>\nendobj\n",
                    name);
}

static void end(struct ggs_canvas * c) {
    struct file file = {0};
    ggs_text_puts(&file.text, "%PDF-1.4\n%\xc3\xa4\xc3\xb6\n");
    open_object(&file, CATALOG);
    ggs_text_printf(&file.text, "<< /Type /Catalog /Pages %d 0 R >>\nendobj\n", PAGES);
    open_object(&file, PAGES);
    ggs_text_printf(&file.text, "<< /Type /Pages /Kids [%d 0 R] /Count 1 >>\nendobj\n", PAGE);
    put_page(&file, c);
    open_object(&file, CONTENT);
    put_stream(&file.text, c->out.data, c->out.length, "");
    ggs_text_puts(&file.text, "endobj\n");
    put_font(&file, FONT, "Helvetica");
    put_font(&file, BOLD, "Helvetica-Bold");
    for (unsigned i = 0; i < c->n_rasters; i++)
        put_object(&file, FIRST_RASTER + i, ggs_text_string(&c->raster[i]), c->raster[i].length);
    size_t   xref = file.text.length;
    unsigned n    = FIRST_RASTER + c->n_rasters;
    ggs_text_printf(&file.text, "xref\n0 %u\n0000000000 65535 f \n", n);
    for (unsigned i = 1; i < n; i++) ggs_text_printf(&file.text, "%010zu 00000 n \n", file.at[i]);
    ggs_text_printf(&file.text, "trailer\n<< /Size %u /Root %d 0 R >>\nstartxref\n%zu\n%%%%EOF\n", n, CATALOG, xref);
    ggs_text_release(&c->out);
    c->out = file.text;
}

const struct ggs_canvas_output ggs_canvas_pdf = {.name   = "pdf",
                                                 .type   = "application/pdf",
                                                 .begin  = begin,
                                                 .path   = path,
                                                 .text   = text,
                                                 .clip   = clip,
                                                 .raster = raster,
                                                 .end    = end};
