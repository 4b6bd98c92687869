// Figures over time with a row for each lane or slot: what threads and devices did, and the
// requests of a server.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lanes/timeline.h"
#include "analyze/requests/server-slots.h"
#include "base/error.h"
#include "figure/curves.h"
#include "figure/kinds.h"
#include "figure/palette.h"

static struct ggs_axis times(int64_t begin_ns, int64_t end_ns) {
    return (struct ggs_axis){
        .title = "time", .unit = GGS_AXIS_TIME, .fixed = true, .from = (double) begin_ns, .to = (double) end_ns};
}

static int find_window(struct ggs_timeline_window * window, struct ggs_trace * trace,
                       const struct ggs_figure_options * options, struct ggs_error * error) {
    int status = ggs_figure_window(trace, options, &window->begin_ns, &window->end_ns, error);
    if (status == 0 && window->end_ns <= window->begin_ns)
        status = ggs_fail(error, GGS_ABSENT, "nothing was recorded in this time: there is nothing to draw");
    return status;
}

// ---- families of ops, in the colours of the page ----

enum { WAIT = GGS_FIGURE_FAMILIES, STALL, DISK_WAIT, SERIES }; // behind the families

static const struct look {
    const char * name;
    unsigned     colour, pattern;
} looks[SERIES] = {{"matrix product", 0, 0},
                   {"attention", 5, 1},
                   {"norm", 2, 0},
                   {"element-wise", 4, 3},
                   {"rows and copies", 1, 4},
                   {"routing", 3, 5},
                   {"recurrent", GGS_PALETTE_YELLOW, 2},
                   {"other", GGS_PALETTE_DULL, 0},
                   [WAIT]      = {"waiting", GGS_PALETTE_PALE, 1},
                   [STALL]     = {"stalled by page faults", 6, 0},
                   [DISK_WAIT] = {"waiting for the disk", GGS_PALETTE_PALE, 3}};

static unsigned family_of(const char * op) {
    static const struct {
        unsigned     family;
        const char * begins; // separated by blanks
    } families[] = {{0, "MUL_MAT OUT_PROD"},
                    {1, "FLASH_ATTN SOFT_MAX ROPE DIAG_MASK ALIBI ADD_REL_POS GET_REL_POS"},
                    {5, "ARGSORT ARGMAX TOP_K SUM CUMSUM MEAN COUNT_EQUAL CLAMP DIV"},
                    {6, "SSM RWKV GATED CONV_ IM2COL POOL DELTA SOLVE TRI"},
                    {4, "GET_ROWS SET CPY DUP CONT CONCAT REPEAT PAD UPSCALE ARANGE FILL ROLL TRANSPOSE PERMUTE VIEW "
                        "RESHAPE ACC"},
                    {3, "ADD MUL SUB SCALE GLU UNARY SQR LOG SIN COS LEAKY SILU GELU RELU TANH EXP NEG ABS STEP "
                        "SIGMOID SWIGLU MAP CUSTOM"}};
    if (strstr(op, "NORM") != NULL) return 2;
    for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        for (const char * word = families[i].begins; *word != '\0'; word += strspn(word, " ")) {
            size_t length = strcspn(word, " ");
            if (strncmp(op, word, length) == 0) return families[i].family;
            word += length;
        }
    }
    return 7;
}

static struct ggs_series * series_of(struct ggs_chart * chart, struct ggs_series * series[], unsigned look) {
    if (series[look] == NULL) {
        series[look] = ggs_chart_series(chart, GGS_SERIES_BOXES, looks[look].colour, looks[look].name);
        if (series[look] != NULL) series[look]->pattern = looks[look].pattern;
    }
    return series[look];
}

struct ggs_series * ggs_figure_family(struct ggs_chart * chart, struct ggs_series * series[GGS_FIGURE_FAMILIES],
                                      const char * op) {
    return series_of(chart, series, family_of(op));
}

// ---- what threads and devices did ----

struct scene { // of one recording
    struct ggs_drawing *       figure;
    struct ggs_series **       series; // by look; NULL until it is needed
    uint64_t                   first;  // its first line
    double                     origin; // of its times
    struct ggs_trace *         trace;
    struct ggs_overview        overview;
    struct ggs_timeline_levels levels;
    struct ggs_node_ops        node_ops;
    struct ggs_timeline_window window;
    struct ggs_timeline_view   view;
};

static void add_box(struct scene * scene, unsigned look, struct ggs_datum box) {
    struct ggs_chart * chart = &scene->figure->chart;
    if (!(box.size > 0) || !(box.high > box.low)) return;
    ggs_chart_add(chart, series_of(chart, scene->series, look), box);
}

static const char * op_name(const struct scene * scene, uint16_t op) {
    return op == UINT16_MAX ? "" : ggs_trace_op_name(scene->trace, op);
}

static void add_op(struct scene * scene, const struct ggs_timeline_op * op) {
    double           x      = (double) scene->window.begin_ns - scene->origin + op->begin;
    double           bottom = (double) (scene->first + op->lane) + 0.9, top = bottom - 0.8;
    char             text[40];
    const char *     name  = op_name(scene, op->op);
    struct ggs_datum box   = {.x = x, .size = op->duration, .low = top, .high = bottom};
    const char *     label = op->label == UINT16_MAX ? name : ggs_names_text(scene->view.labels, op->label);
    if (op->layer >= 0)
        snprintf(text, sizeof(text), "%.24s %d", label, op->layer);
    else
        snprintf(text, sizeof(text), "%.31s", label);
    box.text = ggs_chart_text(&scene->figure->chart, text);
    add_box(scene, family_of(name), box);
    add_box(scene, WAIT, (struct ggs_datum){.x = x + op->duration, .size = op->wait, .low = top, .high = bottom});
    ggs_figure_row(&scene->figure->data, "%" PRIu64 ",%.0f,%.0f,%.0f,%.0f,%.0f,1,", scene->first + op->lane, x,
                   op->duration, op->wait, op->stalled, op->disk_wait);
    ggs_figure_field(&scene->figure->data, name), ggs_text_putc(&scene->figure->data, '\n');
}

// When the op was stalled is unknown: the stall is drawn at its begin, below its name.
static void add_op_stalls(struct scene * scene, const struct ggs_timeline_op * op) {
    double x      = (double) scene->window.begin_ns - scene->origin + op->begin;
    double bottom = (double) (scene->first + op->lane) + 0.9;
    add_box(scene, STALL, (struct ggs_datum){.x = x, .size = op->stalled, .low = bottom - 0.2, .high = bottom});
    add_box(scene, DISK_WAIT, (struct ggs_datum){.x = x, .size = op->disk_wait, .low = bottom - 0.2, .high = bottom});
}

static double bin_begin(const struct scene * scene, const struct ggs_timeline_bin * bin) {
    return (double) scene->window.begin_ns - scene->origin + bin->begin;
}

static double bin_bottom(const struct scene * scene, const struct ggs_timeline_bin * bin) {
    return (double) (scene->first + bin->lane) + 0.9;
}

// A box as high as the share of its time, in the colour of the longest op.
static void add_bin(struct scene * scene, const struct ggs_timeline_bin * bin) {
    double       wide = (double) (1ull << scene->view.level), x = bin_begin(scene, bin);
    double       bottom = bin_bottom(scene, bin), busy = bottom - 0.8 * bin->busy / wide;
    const char * name = op_name(scene, bin->longest_op);
    add_box(scene, family_of(name), (struct ggs_datum){.x = x, .size = wide, .low = busy, .high = bottom});
    add_box(scene, WAIT, (struct ggs_datum){.x = x, .size = wide, .low = busy - 0.8 * bin->wait / wide, .high = busy});
    ggs_figure_row(&scene->figure->data, "%" PRIu64 ",%.0f,%.0f,%.0f,%.0f,%.0f,%u,", scene->first + bin->lane, x,
                   bin->busy, bin->wait, bin->stalled, bin->disk_wait, bin->count);
    ggs_figure_field(&scene->figure->data, name), ggs_text_putc(&scene->figure->data, '\n');
}

static void add_bin_stalls(struct scene * scene, const struct ggs_timeline_bin * bin) {
    double wide = (double) (1ull << scene->view.level), x = bin_begin(scene, bin), bottom = bin_bottom(scene, bin);
    double stall = bottom - 0.8 * bin->stalled / wide;
    add_box(scene, STALL, (struct ggs_datum){.x = x, .size = wide, .low = stall, .high = bottom});
    add_box(scene, DISK_WAIT,
            (struct ggs_datum){.x = x, .size = wide, .low = stall - 0.8 * bin->disk_wait / wide, .high = stall});
}

static int open_scene(struct scene * scene, const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_timeline_source source = {scene->trace, &scene->overview, &scene->levels, &scene->node_ops};
    int                        status = find_window(&scene->window, scene->trace, options, error);
    if (status == 0) status = ggs_overview_compute(&scene->overview, scene->trace, error);
    if (status == 0) status = ggs_timeline_levels(&scene->levels, scene->trace->reader, error);
    if (status == 0) status = ggs_node_ops_read(&scene->node_ops, scene->trace, error);
    uint64_t lanes = scene->overview.n_lanes;
    if (status == 0 && lanes == 0) status = ggs_fail(error, GGS_ABSENT, "no op was recorded: there is nothing to draw");
    scene->window.pixels = lanes < 20 ? 600 : 12000 / lanes + 1;
    return status < 0 ? status : ggs_timeline_compute(&scene->view, &source, scene->window, error);
}

static void close_scene(struct scene * scene) {
    ggs_timeline_release(&scene->view);
    ggs_node_ops_release(&scene->node_ops);
    ggs_overview_release(&scene->overview);
}

static void draw_scene(struct scene * scene, char (*names)[GGS_AXIS_LABEL], const char * letter) {
    for (uint64_t i = 0; names != NULL && i < scene->overview.n_lanes; i++) {
        char name[160];
        ggs_overview_lane_name(scene->trace, &scene->overview.lanes[i], name, sizeof(name));
        // Of a long name the end says which lane of its process it is.
        size_t length = strlen(name), most = 27;
        snprintf(names[scene->first + i], GGS_AXIS_LABEL, "%s%s%.28s", letter, length > most ? ".." : "",
                 length > most ? name + length - most + 2 : name);
    }
    bool one_by_one = scene->view.one_by_one;
    for (uint64_t i = 0; one_by_one && i < scene->view.n_ops; i++) add_op(scene, &scene->view.ops[i]);
    for (uint64_t i = 0; !one_by_one && i < scene->view.n_bins; i++) add_bin(scene, &scene->view.bins[i]);
}

static void draw_stalls(struct scene * scene) {
    bool one_by_one = scene->view.one_by_one;
    for (uint64_t i = 0; one_by_one && i < scene->view.n_ops; i++) add_op_stalls(scene, &scene->view.ops[i]);
    for (uint64_t i = 0; !one_by_one && i < scene->view.n_bins; i++) add_bin_stalls(scene, &scene->view.bins[i]);
}

// Two recordings have one time scale, which starts at the begin of the requested part of each.
// `curves`: of one recording; NULL: none.
static void describe(struct ggs_drawing * figure, struct scene * scenes, unsigned n,
                     const struct ggs_figure_curves * curves) {
    static const char * const letters[] = {"A: ", "B: "};
    uint64_t                  lanes     = 0;
    double                    longest   = 0;
    struct ggs_chart *        chart     = &figure->chart;
    for (unsigned i = 0; i < n; i++) {
        double took      = (double) (scenes[i].window.end_ns - scenes[i].window.begin_ns);
        scenes[i].first  = lanes;
        scenes[i].origin = n > 1 ? (double) scenes[i].window.begin_ns : 0;
        lanes += scenes[i].overview.n_lanes, longest = took > longest ? took : longest;
    }
    uint64_t below = curves == NULL ? 0 : curves->n, all = lanes + below;
    char(*names)[GGS_AXIS_LABEL] = ggs_chart_names(chart, "", all);
    chart->x     = n > 1 ? times(0, (int64_t) longest) : times(scenes[0].window.begin_ns, scenes[0].window.end_ns);
    chart->lines = 3 * (double) (all < 4 ? 4 : all < 20 ? all : 20);
    ggs_figure_row(&figure->data, "lane,begin_ns,busy_ns,wait_ns,stalled_ns,disk_wait_ns,op_runs,op\n");
    for (unsigned i = 0; i < n; i++) draw_scene(&scenes[i], names, n > 1 ? letters[i] : "");
    for (unsigned i = 0; i < n; i++) draw_stalls(&scenes[i]); // last, because later shapes cover earlier ones
    for (uint64_t i = 0; names != NULL && i < below; i++)
        snprintf(names[lanes + i], GGS_AXIS_LABEL, "%s", curves->curve[i].name);
    if (curves != NULL) ggs_figure_curves_add(curves, chart, lanes);
}

int ggs_figure_timeline(struct ggs_drawing * figure, struct ggs_trace * trace,
                        const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_series *        series[SERIES] = {0};
    unsigned                   n              = options->n_traces == 2 ? 2 : 1;
    struct scene *             scenes         = calloc(n, sizeof(*scenes));
    int                        status         = scenes == NULL ? ggs_fail_memory(error) : 0;
    struct ggs_figure_curves * curves         = n == 1 ? calloc(1, sizeof(*curves)) : NULL;
    if (n == 1 && curves == NULL) status = ggs_fail_memory(error);
    for (unsigned i = 0; status == 0 && i < n; i++) {
        scenes[i].figure = figure, scenes[i].series = series, scenes[i].trace = &trace[i];
        status = open_scene(&scenes[i], options, error);
    }
    if (status == 0 && curves != NULL)
        status = ggs_figure_curves_read(curves, trace, &scenes->overview, scenes->window, error);
    if (status == 0) describe(figure, scenes, n, curves);
    for (unsigned i = 0; scenes != NULL && i < n; i++) close_scene(&scenes[i]);
    free(scenes);
    free(curves);
    return status;
}

// ---- requests of a server ----

enum { PALE, PROMPT, TOKENS, FIRST, PARTS };

static void put_requests(struct ggs_text * data, const struct ggs_slots * slots) {
    ggs_figure_row(data, "request,context,sequence,begin_ns,first_output_ns,end_ns,prompt_ns,tokens_ns,wait_ns\n");
    for (uint64_t i = 0; i < slots->n_requests; i++) {
        const struct ggs_request * r = &slots->request[i].request;
        ggs_figure_row(data, "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",", r->request, r->context, r->sequence,
                       r->begin_ns);
        if (r->first_output_ns >= 0) ggs_figure_row(data, "%" PRId64, r->first_output_ns);
        ggs_figure_row(data, ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", r->end_ns,
                       slots->request[i].prompt_ns, slots->request[i].tokens_ns, r->wait_ns);
    }
}

static uint64_t slot_of(const struct ggs_slots * slots, const struct ggs_request * request) {
    uint64_t i = 0;
    while (i < slots->n && (slots->slot[i].context != request->context || slots->slot[i].sequence != request->sequence))
        i++;
    return i;
}

// A request is hatched from its begin to its end; its computation is drawn on top.
static void add_requests(struct ggs_chart * chart, const struct ggs_slots * slots, double wide) {
    struct ggs_series * series[PARTS] = {
        [PALE]   = ggs_chart_series(chart, GGS_SERIES_BOXES, GGS_PALETTE_PALE, "the request waits"),
        [PROMPT] = ggs_chart_series(chart, GGS_SERIES_BOXES, 5, "prompt"),
        [TOKENS] = ggs_chart_series(chart, GGS_SERIES_BOXES, 4, "generated tokens"),
        [FIRST]  = ggs_chart_series(chart, GGS_SERIES_BOXES, 6, "first token")};
    series[PALE]->pattern = 1;
    for (uint64_t i = 0; i < slots->n_requests; i++) {
        const struct ggs_request * r    = &slots->request[i].request;
        double                     line = (double) slot_of(slots, r);
        if (line >= (double) slots->n) continue;
        ggs_chart_add(chart, series[PALE],
                      (struct ggs_datum){.x    = (double) r->begin_ns,
                                         .size = (double) (r->end_ns - r->begin_ns),
                                         .low  = line + 0.15,
                                         .high = line + 0.85});
        if (r->first_output_ns >= 0)
            ggs_chart_add(
                chart, series[FIRST],
                (struct ggs_datum){
                    .x = (double) r->first_output_ns, .size = wide / 400, .low = line + 0.05, .high = line + 0.95});
    }
    for (uint64_t i = 0; i < slots->n_pieces; i++) {
        const struct ggs_slot_piece * piece = &slots->piece[i];
        ggs_chart_add(chart, series[piece->prompt_ns > piece->tokens_ns ? PROMPT : TOKENS],
                      (struct ggs_datum){.x    = (double) piece->begin_ns,
                                         .size = (double) (piece->end_ns - piece->begin_ns),
                                         .low  = (double) piece->slot + 0.15,
                                         .high = (double) piece->slot + 0.85});
    }
}

int ggs_figure_requests(struct ggs_drawing * figure, struct ggs_trace * trace,
                        const struct ggs_figure_options * options, struct ggs_error * error) {
    struct ggs_timeline_window window = {.pixels = 600};
    struct ggs_slots           slots;
    struct ggs_chart *         chart  = &figure->chart;
    int                        status = find_window(&window, trace, options, error);
    if (status == 0) status = ggs_slots_compute(&slots, trace, window, error);
    if (status < 0) return status;
    if (slots.n == 0) {
        status = ggs_fail(error, GGS_ABSENT, "this recording has a single request: there is nothing to draw");
    } else {
        char(*names)[GGS_AXIS_LABEL] = ggs_chart_names(chart, "", slots.n);
        for (uint64_t i = 0; names != NULL && i < slots.n; i++)
            snprintf(names[i], sizeof(names[i]), "slot %" PRId64, slots.slot[i].sequence);
        chart->x     = times(window.begin_ns, window.end_ns);
        chart->lines = 2.5 * (double) (slots.n < 4 ? 4 : slots.n);
        add_requests(chart, &slots, (double) (window.end_ns - window.begin_ns));
        put_requests(&figure->data, &slots);
    }
    ggs_slots_release(&slots);
    return status;
}
