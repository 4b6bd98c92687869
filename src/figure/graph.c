// The graph of a token step: the layers as columns, or one layer with the names of its nodes. The
// colour of a node is its time.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/graph-view.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "figure/graph-plan.h"
#include "figure/kinds.h"

enum { LINES_MOST = 200 }; // of text: more is no page

struct picture {
    struct ggs_drawing *          figure;
    const struct ggs_graph_view * view;
    struct ggs_graph_plan         plan;
    struct ggs_series *           edges, *boxes, *others; // others: nodes without a time of their own
    uint64_t                      longest_ns;
    double                        room; // part of a line that a node fills
};

static double place_x(const struct picture * picture, const struct ggs_plan_item * item, double half) {
    const struct ggs_plan_block * block = &picture->plan.blocks[item->block];
    double                        air   = picture->plan.layer < 0 ? 0.06 : 0.01;
    return item->block + air + (1 - 2 * air) * (item->x + half - block->from) / (block->to - block->from);
}

static void add_edges(struct picture * picture) {
    const struct ggs_graph_plan * plan = &picture->plan;
    for (uint64_t i = 0; i < plan->n_links; i++) {
        const struct ggs_plan_item *from = &plan->items[plan->links[i].from], *to = &plan->items[plan->links[i].to];
        double                      x     = place_x(picture, from, 0);
        double                      above = from->node != 0 ? 0.5 + picture->room / 2 : 0.5;
        double                      below = to->node != 0 ? 0.5 - picture->room / 2 : 0.5;
        ggs_chart_add(
            &picture->figure->chart, picture->edges,
            (struct ggs_datum){
                .x = x, .size = place_x(picture, to, 0) - x, .low = from->line + above, .high = to->line + below});
    }
}

static const char * name_of(const struct picture * picture, uint64_t node) {
    const struct ggs_tensor * result =
        ggs_trace_tensor(&picture->view->trace, picture->view->graph->nodes[node].tensor);
    return result == NULL ? "" : ggs_reader_string(picture->view->trace.reader, result->name);
}

static const char * state_of(const struct ggs_node_view * node) {
    return node->state == GGS_NODE_ABSORBED ? "fused" : ggs_node_state_name(node->state);
}

// In columns the box has the op; of one layer also the name and the time, one below the other.
static void add_node(struct picture * picture, const struct ggs_plan_item * item) {
    struct ggs_chart *           chart  = &picture->figure->chart;
    uint64_t                     node   = item->node - 1;
    const struct ggs_node_view * at     = &picture->view->nodes[node];
    bool                         timed  = at->state == GGS_NODE_EXECUTED;
    unsigned                     parts  = picture->plan.layer < 0 ? 1 : 3;
    double                       left   = place_x(picture, item, -0.46);
    struct ggs_series *          series = timed ? picture->boxes : picture->others;
    struct ggs_datum             box    = {.x = left, .size = place_x(picture, item, 0.46) - left};
    char                         took[GGS_AXIS_LABEL];
    const char *                 op = ggs_trace_op_name(&picture->view->trace, picture->view->graph->nodes[node].op);
    const char *                 texts[3] = {op, name_of(picture, node), state_of(at)};
    if (timed) texts[2] = ggs_axis_text(&chart->scale, (double) at->duration_ns, took);
    if (timed && at->duration_ns > 0) box.y = fmax(ggs_axis_place(&chart->scale, (double) at->duration_ns), 1e-6);
    for (unsigned i = 0; i < parts; i++) {
        box.low  = item->line + 0.5 + picture->room * ((double) i / parts - 0.5);
        box.high = box.low + picture->room / parts;
        box.text = ggs_chart_text(chart, texts[i]);
        ggs_chart_add(chart, series, box);
    }
    ggs_figure_row(&picture->figure->data, "%" PRIu64 ",%s,", node, op);
    ggs_figure_field(&picture->figure->data, texts[1]);
    ggs_figure_row(&picture->figure->data, ",%d,%u,%s,", at->layer, item->line, ggs_node_state_name(at->state));
    if (timed) ggs_figure_row(&picture->figure->data, "%" PRIu64, at->duration_ns);
    ggs_figure_row(&picture->figure->data, "\n");
}

// A line of the columns has the ops that the layer in the middle has there.
static void name_lines(const struct picture * picture, char (*names)[GGS_AXIS_LABEL]) {
    const struct ggs_graph_plan * plan = &picture->plan;
    for (uint64_t i = 0; i < plan->n_items; i++) {
        const struct ggs_plan_item * item = &plan->items[i];
        if (item->node == 0 || item->block != plan->n_blocks / 2) continue;
        char *       name = names[item->line];
        const char * op   = ggs_trace_op_name(&picture->view->trace, picture->view->graph->nodes[item->node - 1].op);
        size_t       used = strlen(name);
        if (strstr(name, op) == NULL && used + 2 + strlen(op) < GGS_AXIS_LABEL)
            snprintf(name + used, GGS_AXIS_LABEL - used, "%s%s", used > 0 ? ", " : "", op);
    }
}

static void name_columns(const struct picture * picture, char (*names)[GGS_AXIS_LABEL]) {
    const struct ggs_graph_plan * plan = &picture->plan;
    for (uint64_t i = 0; i < plan->n_blocks; i++) {
        if (plan->blocks[i].layer >= 0)
            snprintf(names[i], GGS_AXIS_LABEL, "%d", plan->blocks[i].layer);
        else if (plan->n_blocks > 1 && (i == 0 || i + 1 == plan->n_blocks))
            snprintf(names[i], GGS_AXIS_LABEL, i == 0 ? "in" : "out");
    }
}

static void describe(struct picture * picture) {
    struct ggs_chart *            chart = &picture->figure->chart;
    const struct ggs_graph_plan * plan  = &picture->plan;
    bool                          all   = plan->layer < 0;
    char                          text[64];
    snprintf(text, sizeof(text), "read by the node below, in %s %" PRId64, ggs_word_step(&picture->view->trace),
             picture->view->run.step);
    char(*lines)[GGS_AXIS_LABEL] = ggs_chart_names(chart, "", plan->lines);
    if (lines != NULL && all) name_lines(picture, lines);
    chart->x       = (struct ggs_axis){.title = "layer", .fixed = true, .n_names = all ? plan->n_blocks : 1};
    chart->x.names = calloc(chart->x.n_names + 1, sizeof(*chart->x.names));
    if (chart->x.names == NULL)
        chart->out_of_memory = true;
    else
        name_columns(picture, chart->x.names);
    chart->lines  = fmin(plan->lines * (all ? 1.7 : 3.6), LINES_MOST);
    picture->room = all ? 0.7 : 0.75;
    if (picture->longest_ns > 0) // a time below a thousandth of the longest has the lightest colour
        chart->scale = (struct ggs_axis){.title = "time of a node",
                                         .unit  = GGS_AXIS_TIME,
                                         .log   = true,
                                         .fixed = true,
                                         .from  = (double) picture->longest_ns / 1000,
                                         .to    = (double) picture->longest_ns};
    picture->edges = ggs_chart_series(chart, GGS_SERIES_EDGES, 0, text);
    picture->boxes = ggs_chart_series(chart, GGS_SERIES_SHADES, 0, "");
}

static int draw_view(struct picture * picture, int layer, struct ggs_error * error) {
    const struct ggs_graph_view * view = picture->view;
    picture->plan                      = (struct ggs_graph_plan){.view = view, .layer = layer};
    int status                         = ggs_graph_plan_make(&picture->plan, error);
    if (status < 0) return status;
    bool others = false;
    for (uint64_t i = 0; i < picture->plan.n_items; i++) {
        uint32_t node = picture->plan.items[i].node;
        if (node == 0) continue;
        others |= view->nodes[node - 1].state != GGS_NODE_EXECUTED;
        if (view->nodes[node - 1].duration_ns > picture->longest_ns)
            picture->longest_ns = view->nodes[node - 1].duration_ns;
    }
    if (picture->plan.n_items == 0) {
        ggs_graph_plan_release(&picture->plan);
        if (layer < 0) return ggs_fail(error, GGS_ABSENT, "this graph computes nothing: there is nothing to draw");
        return ggs_fail(error, GGS_ABSENT, "this graph computes nothing in layer %d: there is nothing to draw", layer);
    }
    describe(picture);
    if (others) picture->others = ggs_chart_series(&picture->figure->chart, GGS_SERIES_BOXES, 9, "no time of its own");
    ggs_figure_row(&picture->figure->data, "node,op,name,layer,line,state,duration_ns\n");
    add_edges(picture);
    for (uint64_t i = 0; i < picture->plan.n_items; i++)
        if (picture->plan.items[i].node != 0) add_node(picture, &picture->plan.items[i]);
    ggs_graph_plan_release(&picture->plan);
    return 0;
}

// Draws the first of the token steps, or the graph run that is asked for. If all are: token 1, if
// there is one, because 0 is the prompt.
int ggs_figure_graph(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                     struct ggs_error * error) {
    bool                  all = options->first_step == 0 && options->last_step == INT64_MAX;
    struct ggs_graph_view view;
    struct ggs_run *      runs   = NULL;
    uint64_t              n      = 0;
    int64_t               step   = all && ggs_reader_rows(trace->reader, GGS_TABLE_STEPS) > 1 ? 1 : options->first_step;
    int                   status = ggs_trace_check_layer(trace, options->layer, error);
    if (status != 0) return status;
    status = ggs_graph_runs(trace, step, options->run, &runs, &n, error);
    if (status == GGS_ABSENT && all && step == 1) status = ggs_graph_runs(trace, 0, 0, &runs, &n, error);
    if (status != 0) return status;
    status = ggs_graph_view_compute(&view, trace, ggs_graph_main_run(runs, n), true, error);
    free(runs);
    if (status < 0) return status;
    struct picture picture = {.figure = figure, .view = &view};
    status                 = draw_view(&picture, options->layer, error);
    ggs_graph_view_release(&view);
    return status;
}
