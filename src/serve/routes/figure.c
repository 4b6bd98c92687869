// /api/x/N/figure: the output of `ggscope figure`: SVG, PDF, or the data as CSV. /api/figure: of
// several recordings.
#include "figure/figure.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/experts/domains.h"
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
    const char * by     = ggs_query_text(&request->query, "by");
    const char * value  = ggs_query_text(&request->query, "value");
    options->kind       = kind == NULL ? NULL : ggs_figure_kind_named(kind);
    if (options->kind == NULL) return ggs_fail(error, GGS_USAGE, "kind must be one that ggscope figure knows");
    *output = format == NULL ? NULL : ggs_canvas_output_named(format);
    if (*output == NULL && (!GGS_FIGURE_HAS_DATA || format == NULL || strcmp(format, "csv") != 0))
        return ggs_fail(error, GGS_USAGE, "format must be svg, pdf or csv, in a report svg or pdf");
    if (marks != NULL) options->marks = strcmp(marks, "disk") == 0 ? GGS_MARKS_DISK : GGS_MARKS_FAULTS;
    options->by_layer = by != NULL && strcmp(by, "layer") == 0;
    options->largest  = value != NULL && strcmp(value, "largest") == 0;
    int status        = ggs_query_i64(&request->query, "context", 0, UINT32_MAX, &options->context, error);
    if (status == 0) status = ggs_query_u64(&request->query, "run", 1, UINT32_MAX, &options->run, error);
    if (status == 0) status = ggs_query_u64(&request->query, "readahead", 0, 1ull << 30, &options->readahead, error);
    if (status == 0) status = ggs_query_tokens(&request->query, &options->first_step, &options->last_step, error);
    if (status == 0) status = read_size(request, options, error);
    return status < 0 ? status : ggs_query_finish(&request->query, error);
}

static int draw(struct ggs_question * request, struct ggs_trace * traces, unsigned n,
                const struct ggs_canvas_output * output, struct ggs_figure_options * options,
                struct ggs_error * error) {
    struct ggs_drawing figure = {0};
    uint64_t           rows   = 0;
    options->n_traces         = n;
    options->directory        = request->snapshot->directory;
    options->since_ns = request->ops.since_ns, options->until_ns = request->ops.until_ns;
    if (options->kind->takes_layer) options->layer = request->ops.layer;
    for (unsigned i = 0; i < n; i++) rows += ggs_reader_rows(traces[i].reader, GGS_TABLE_OP_RUNS);
    ggs_request_expect(request, rows);
    int status = ggs_figure_make(&figure, traces, options, error);
    if (status == 0) {
        request->answer->type = output == NULL ? "text/csv; charset=utf-8" : output->type;
        if (output == NULL) {
            request->answer->body = figure.data;
            figure.data           = (struct ggs_text){0};
        } else {
            status = ggs_figure_draw(&figure, options, output, &request->answer->body, error);
        }
    }
    ggs_figure_release(&figure);
    return status;
}

int ggs_route_figure(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_figure_options        options = GGS_FIGURE_DEFAULTS;
    const struct ggs_canvas_output * output;
    int                              status = read_query(request, &options, &output, error);
    return status < 0 ? status : draw(request, &request->trace, 1, output, &options, error);
}

// ---- several recordings ----

struct recordings {
    struct ggs_trace      traces[GGS_DOMAINS_MOST];
    struct ggs_snapshot * snapshots[GGS_DOMAINS_MOST];
    unsigned              n;
};

// Acquires those of "of", which the caller releases.
static int acquire(struct recordings * all, struct ggs_question * request, struct ggs_error * error) {
    unsigned indices[GGS_DOMAINS_MOST], n = 0;
    int      status = ggs_query_indices(&request->query, "of", 2, GGS_DOMAINS_MOST, indices, &n, error);
    while (status == 0 && all->n < n) {
        struct ggs_snapshot ** snapshot = &all->snapshots[all->n];
        status = ggs_experiments_acquire(request->experiments, indices[all->n], snapshot, error);
        if (status < 0) break;
        all->traces[all->n]         = ggs_trace_borrow(&(*snapshot)->trace);
        all->traces[all->n++].watch = &request->progress->watch;
    }
    return status;
}

static int draw_all(struct recordings * all, struct ggs_question * request, struct ggs_error * error) {
    struct ggs_figure_options        options = GGS_FIGURE_DEFAULTS;
    const struct ggs_canvas_output * output;
    struct ggs_question              first  = *request; // about the first of them
    int                              status = acquire(all, request, error);
    if (status < 0) return status;
    first.query = request->query, first.trace = all->traces[0], first.snapshot = all->snapshots[0];
    status = ggs_query_ops(&first, &first.ops, error);
    if (status == 0) status = read_query(&first, &options, &output, error);
    if (status == 0 && all->n > options.kind->most)
        status = ggs_fail(error, GGS_USAGE, "a figure of this kind cannot show %u recordings", all->n);
    if (status < 0) return status;
    if (!ggs_op_filter_is_all(&first.ops)) all->traces[0].filter = &first.ops;
    return draw(&first, all->traces, all->n, output, &options, error);
}

int ggs_route_figures(struct ggs_question * request, struct ggs_error * error) {
    struct recordings * all    = calloc(1, sizeof(*all));
    int                 status = all == NULL ? ggs_fail_memory(error) : draw_all(all, request, error);
    for (unsigned i = 0; all != NULL && i < all->n; i++) {
        ggs_trace_return(&all->traces[i]);
        ggs_snapshot_release(all->snapshots[i]);
    }
    free(all);
    return status;
}
