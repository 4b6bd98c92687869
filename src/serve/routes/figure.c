// /api/x/N/figure: the output of `ggscope figure`: SVG, PDF, or the data as CSV.
#include "figure/figure.h"

#include <string.h>

#include "base/error.h"
#include "serve/routes/routes.h"

static int read_size(struct ggs_question * request, struct ggs_figure_options * options, struct ggs_error * error) {
    uint64_t width = (uint64_t) options->width, height = 0, font = (uint64_t) options->font, caption = 0;
    int      status = ggs_query_u64(&request->query, "width", 30, 1000, &width, error);
    if (status == 0) status = ggs_query_u64(&request->query, "height", 30, 1000, &height, error);
    if (status == 0) status = ggs_query_u64(&request->query, "font", 4, 36, &font, error);
    if (status == 0) status = ggs_query_u64(&request->query, "caption", 0, 1, &caption, error);
    options->width = (double) width, options->height = (double) height, options->font = (double) font;
    options->caption = caption != 0;
    return status;
}

static int read_query(struct ggs_question * request, struct ggs_figure_options * options,
                      const struct ggs_canvas_output ** output, struct ggs_error * error) {
    const char * kind   = ggs_query_text(&request->query, "kind");
    const char * format = ggs_query_text(&request->query, "format");
    const char * marks  = ggs_query_text(&request->query, "marks");
    options->kind       = kind == NULL ? NULL : ggs_figure_kind_named(kind);
    if (options->kind == NULL) return ggs_fail(error, GGS_USAGE, "kind must be one that ggscope figure knows");
    *output = format == NULL ? NULL : ggs_canvas_output_named(format);
    if (*output == NULL && (format == NULL || strcmp(format, "csv") != 0))
        return ggs_fail(error, GGS_USAGE, "format must be svg, pdf or csv");
    if (marks != NULL) options->marks = strcmp(marks, "disk") == 0 ? GGS_MARKS_DISK : GGS_MARKS_FAULTS;
    int status = ggs_query_u64(&request->query, "readahead", 0, 1ull << 30, &options->readahead, error);
    if (status == 0) status = ggs_query_tokens(&request->query, &options->first_step, &options->last_step, error);
    if (status == 0) status = read_size(request, options, error);
    return status < 0 ? status : ggs_query_finish(&request->query, error);
}

int ggs_route_figure(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_figure_options        options = GGS_FIGURE_DEFAULTS;
    struct ggs_drawing               figure  = {0};
    const struct ggs_canvas_output * output;
    int                              status = read_query(request, &options, &output, error);
    if (status < 0) return status;
    options.directory = request->snapshot->directory;
    if (options.kind->takes_layer) options.layer = request->ops.layer;
    ggs_request_expect(request, ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_figure_make(&figure, &request->trace, &options, error);
    if (status == 0) {
        request->answer->type = output == NULL ? "text/csv; charset=utf-8" : output->type;
        if (output == NULL) {
            request->answer->body = figure.data;
            figure.data           = (struct ggs_text){0};
        } else {
            status = ggs_figure_draw(&figure, &options, output, &request->answer->body, error);
        }
    }
    ggs_figure_release(&figure);
    return status;
}
