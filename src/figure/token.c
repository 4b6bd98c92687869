// One token: its ops in order, by layer and purpose, as wide as they took or as they have bytes.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/walk/walk.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "figure/kinds.h"
#include "figure/palette.h"

enum { TOKEN, LAYER, PURPOSE, OP, ROWS };

struct boxes {
    struct ggs_drawing * figure;
    struct ggs_series *  series[OP], *families[GGS_FIGURE_FAMILIES];
    struct ggs_datum     open[PURPOSE + 1]; // of each row: neighbours with the same name are one
    char                 name[PURPOSE + 1][24];
    double               at; // end of the last op
    bool                 by_bytes;
};

static void close_row(struct boxes * boxes, unsigned row) {
    struct ggs_chart * chart = &boxes->figure->chart;
    struct ggs_datum * box   = &boxes->open[row];
    if (box->size > 0) {
        box->text = ggs_chart_text(chart, boxes->name[row]);
        ggs_chart_add(chart, boxes->series[row], *box);
    }
    box->size = 0;
}

// Extends the open box of a row, or begins another one there and below.
static void extend(struct boxes * boxes, unsigned row, const char * name, double wide) {
    struct ggs_datum * box = &boxes->open[row];
    if (strcmp(boxes->name[row], name) != 0 || !(box->size > 0)) {
        for (unsigned below = row; below <= PURPOSE; below++) close_row(boxes, below);
        *box = (struct ggs_datum){.x = boxes->at, .low = row, .high = row + 0.95};
        snprintf(boxes->name[row], sizeof(boxes->name[row]), "%s", name);
    }
    box->size += wide;
}

// `amount`: nanoseconds or bytes.
static void add_op(struct boxes * boxes, const struct ggs_walk * walk, uint64_t amount) {
    const struct ggs_op_seen * op      = &walk->op;
    double                     wide    = (double) amount;
    const char *               purpose = ggs_word_category(walk->trace, walk->graph, op->node);
    const char * name = op->result == NULL ? "" : ggs_reader_string(walk->trace->reader, op->result->name);
    char         token[24], layer[24] = "no layer";
    if (op->layer >= 0) snprintf(layer, sizeof(layer), "layer %d", op->layer);
    snprintf(token, sizeof(token), "%s %" PRId64, ggs_word_step(walk->trace), walk->run.step);
    extend(boxes, TOKEN, token, wide);
    extend(boxes, LAYER, layer, wide);
    extend(boxes, PURPOSE, purpose == NULL ? "other" : purpose, wide);
    struct ggs_datum box = {.x = boxes->at, .size = wide * 0.97, .low = OP, .high = OP + 0.95};
    box.text             = ggs_chart_text(&boxes->figure->chart, op->name);
    ggs_chart_add(&boxes->figure->chart, ggs_figure_family(&boxes->figure->chart, boxes->families, op->name), box);
    ggs_figure_row(&boxes->figure->data, "%" PRId64 ",%d,%s,%s,", walk->run.step, op->layer,
                   purpose == NULL ? "" : purpose, op->name);
    ggs_figure_field(&boxes->figure->data, name);
    ggs_figure_row(&boxes->figure->data, ",%" PRIu64 "\n", amount);
    boxes->at += wide;
}

static int amount_of(const struct boxes * boxes, struct ggs_walk * walk, uint64_t * amount, struct ggs_error * error) {
    const struct ggs_access_list * list;
    *amount = walk->op.wall_ns;
    if (!boxes->by_bytes) return 0;
    int status = ggs_walk_accesses(walk, &list, error);
    if (status < 0) return status;
    struct ggs_access_bytes bytes = ggs_access_sum(list);
    *amount                       = bytes.read + bytes.written;
    return 0;
}

static int walk_token(struct boxes * boxes, struct ggs_trace * trace, int64_t step, struct ggs_error * error) {
    struct ggs_walk * walk;
    uint64_t          amount;
    int               status = ggs_walk_open(&walk, trace, step, step, error);
    if (status < 0) return status;
    walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0)
        while (status >= 0 && ggs_walk_op(walk)) {
            status = amount_of(boxes, walk, &amount, error);
            if (status == 0 && amount > 0) add_op(boxes, walk, amount);
        }
    ggs_walk_close(walk);
    return status;
}

// Draws the first of the steps that are asked for. If all are: token 1, if there is one, because 0
// is the prompt.
static int draw_token(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                      bool by_bytes, struct ggs_error * error) {
    static const char * const rows[ROWS] = {"", "layer", "purpose", "op"};
    struct ggs_chart *        chart      = &figure->chart;
    bool                      all        = options->first_step == 0 && options->last_step == INT64_MAX;
    struct boxes              boxes      = {.figure   = figure,
                                            .by_bytes = by_bytes,
                                            .series   = {ggs_chart_series(chart, GGS_SERIES_BOXES, GGS_PALETTE_PALE, ""),
                                                         ggs_chart_series(chart, GGS_SERIES_BOXES, GGS_PALETTE_DULL, ""),
                                                         ggs_chart_series(chart, GGS_SERIES_BOXES, GGS_PALETTE_PALE, "")}};
    ggs_figure_row(&figure->data, "token,layer,purpose,op,name,%s\n", by_bytes ? "bytes" : "duration_ns");
    int status = walk_token(&boxes, trace, all ? 1 : options->first_step, error);
    if (status == 0 && all && !(boxes.at > 0)) status = walk_token(&boxes, trace, 0, error);
    if (status < 0) return status;
    if (!(boxes.at > 0))
        return ggs_fail(error, GGS_ABSENT, "this token has no op with %s: there is nothing to draw",
                        by_bytes ? "bytes" : "times");
    for (unsigned row = TOKEN; row <= PURPOSE; row++) close_row(&boxes, row);
    char(*names)[GGS_AXIS_LABEL] = ggs_chart_names(chart, "", ROWS);
    for (unsigned i = 0; names != NULL && i < ROWS; i++) snprintf(names[i], sizeof(names[i]), "%s", rows[i]);
    chart->x     = (struct ggs_axis){.title = by_bytes ? "bytes read and written" : "time in ops",
                                     .unit  = by_bytes ? GGS_AXIS_BYTES : GGS_AXIS_TIME,
                                     .fixed = true,
                                     .to    = boxes.at};
    chart->lines = 3 * ROWS;
    return 0;
}

int ggs_figure_token_ops(struct ggs_drawing * figure, struct ggs_trace * trace,
                         const struct ggs_figure_options * options, struct ggs_error * error) {
    return draw_token(figure, trace, options, false, error);
}

int ggs_figure_token_bytes(struct ggs_drawing * figure, struct ggs_trace * trace,
                           const struct ggs_figure_options * options, struct ggs_error * error) {
    return draw_token(figure, trace, options, true, error);
}
