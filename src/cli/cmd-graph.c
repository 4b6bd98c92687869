// ggscope graph DIR: the graph of a token step, layer by layer.
#include "cli/cmd-graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"

enum form { FORM_TEXT, FORM_DOT, FORM_JSON };

struct arguments {
    struct ggs_input input;
    int64_t          token;
    bool             all, dot;
};
#define AT(member) offsetof(struct arguments, member)

// ---- looking at a run ----

static void view_release(struct ggs_graph_view * view) {
    free(view->nodes);
    free(view->producer);
    view->nodes    = NULL;
    view->producer = NULL;
}

static void mark_op(struct ggs_graph_view * view, const struct ggs_op_seen * op) {
    view->nodes[op->node].state       = GGS_NODE_EXECUTED;
    view->nodes[op->node].begin_ns    = op->begin_ns;
    view->nodes[op->node].duration_ns = op->end_ns > op->begin_ns ? (uint64_t) (op->end_ns - op->begin_ns) : 0;
    uint64_t left                     = op->absorbed;
    for (uint64_t i = op->node + 1; left > 0 && i < view->graph->n_nodes; i++) {
        if (view->nodes[i].state == GGS_NODE_EMPTY) continue;
        view->nodes[i].state = GGS_NODE_ABSORBED;
        left--;
    }
}

// The layer that a node stands in. One whose name the engine made up has that of what it reads, but does not go back: the rows
// that the last layer takes from the result of the one before belong to the last.
static int layer_at(const struct ggs_graph_view * view, uint64_t node) {
    const struct ggs_tensor * result = ggs_trace_tensor(view->trace, view->graph->nodes[node].tensor);
    int                       layer  = ggs_trace_node_layer(view->trace, view->graph, node);
    int                       before = node == 0 ? -1 : view->nodes[node - 1].layer;
    return layer < before && strncmp(ggs_graph_name(view, result), "node_", 5) == 0 ? before : layer;
}

// Looks at the run that the walk is at.
static int view_run(struct ggs_graph_view * view, struct ggs_walk * walk, struct ggs_error * error) {
    struct ggs_trace * trace  = walk->trace;
    int                status = ggs_trace_graph(trace, walk->run.graph, &view->graph, error);
    if (status < 0) return status;
    const struct ggs_graph * graph = view->graph;
    view->trace                    = trace;
    view->run                      = walk->run;
    view->nodes                    = calloc(graph->n_nodes + 1, sizeof(*view->nodes));
    view->producer                 = calloc(trace->n_tensors + 1, sizeof(*view->producer));
    if (view->nodes == NULL || view->producer == NULL) return ggs_fail_memory(error);
    bool opaque = (walk->run.flags & GGS_RUN_OPAQUE) != 0;
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        bool empty           = ggs_trace_op_kind(trace, graph->nodes[i].op) == GGS_KIND_EMPTY;
        view->nodes[i].state = empty ? GGS_NODE_EMPTY : opaque ? GGS_NODE_OPAQUE : GGS_NODE_MISSING;
        view->nodes[i].layer = layer_at(view, i);
    }
    uint64_t made = 0;
    ggs_trace_make(trace, graph, view->producer, &made, graph->n_nodes);
    while (ggs_walk_op(walk)) mark_op(view, &walk->op);
    return 0;
}

// ---- all graphs of the token step ----

struct output {
    enum form       form;
    bool            all;
    struct ggs_json json;
    bool            edges;   // JSON: nodes were written, now come the edges
    bool *          written; // by tensor - 1: leaves
    uint64_t        graphs, nodes, n_edges;
    int             layers;
};

static void write_view(struct output * output, struct ggs_graph_view * view) {
    view->written = output->written;
    switch (output->form) {
        case FORM_TEXT:
            if (output->graphs > 0) putchar('\n');
            ggs_graph_text(view, stdout, output->all);
            break;
        case FORM_DOT:
            ggs_graph_dot(view, stdout);
            break;
        case FORM_JSON:
            if (output->edges) {
                ggs_graph_json_edges(view, &output->json);
            } else {
                ggs_graph_json_nodes(view, &output->json);
            }
            break;
    }
    output->graphs++;
    output->nodes += view->graph->n_nodes;
    output->n_edges += view->graph->n_edges;
    for (uint64_t i = 0; i < view->graph->n_nodes; i++) {
        if (view->nodes[i].layer >= output->layers) output->layers = view->nodes[i].layer + 1;
    }
}

// Runs of the same graph one after the other (ubatches) are one view.
static int each_view(struct output * output, struct ggs_trace * trace, int64_t token, struct ggs_error * error) {
    struct ggs_walk *     walk;
    struct ggs_graph_view view = {0};
    bool                  open = false;
    output->graphs = output->nodes = output->n_edges = 0;
    int status                                       = ggs_walk_open(&walk, trace, token, token, error);
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        if (open && view.run.graph == walk->run.graph) {
            view.again++;
            continue;
        }
        if (open) {
            // The walk has moved on to the next graph; take this one back for writing.
            status = ggs_trace_graph(trace, view.run.graph, &view.graph, error);
            if (status < 0) break;
            write_view(output, &view);
            view_release(&view);
            status = ggs_trace_graph(trace, walk->run.graph, &walk->graph, error);
            if (status < 0) break;
        }
        view   = (struct ggs_graph_view){.first = output->nodes};
        open   = true;
        status = view_run(&view, walk, error);
    }
    if (status >= 0 && open) {
        status = ggs_trace_graph(trace, view.run.graph, &view.graph, error);
        if (status >= 0) write_view(output, &view);
    }
    view_release(&view);
    ggs_walk_close(walk);
    return status < 0 ? status : 0;
}

static int find_token(struct ggs_trace * trace, int64_t token, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    status = ggs_cursor_steps(cursor, token, token, error);
    if (status == 0) status = ggs_cursor_next(cursor, &run, error);
    ggs_cursor_close(cursor);
    if (status == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "there is no graph of token step %" PRId64
                        "; the experiment's steps count from 0 and are %" PRIu64,
                        token, ggs_reader_rows(trace->reader, GGS_TABLE_STEPS));
    return status < 0 ? status : 0;
}

static int write_json(struct output * output, struct ggs_trace * trace, int64_t token, struct ggs_error * error) {
    struct ggs_json * json = &output->json;
    char              id[GGS_UUID_LENGTH];
    ggs_json_init(json, ggs_json_to_file, stdout, true);
    ggs_json_object(json, NULL);
    ggs_json_string(json, "experiment_id", ggs_verb_uuid(id, trace));
    ggs_json_i64(json, "token_id", token);
    ggs_json_array(json, "nodes");
    int status = each_view(output, trace, token, error);
    ggs_json_end(json);
    if (status < 0) return status;
    ggs_json_object_inline(json, "metadata");
    ggs_json_u64(json, "total_graphs", output->graphs);
    ggs_json_u64(json, "total_nodes", output->nodes);
    ggs_json_u64(json, "total_edges", output->n_edges);
    ggs_json_i64(json, "layers", output->layers);
    ggs_json_end(json);
    output->edges = true;
    ggs_json_array(json, "edges");
    status = each_view(output, trace, token, error);
    ggs_json_end(json);
    ggs_json_end(json);
    if (status == 0 && ggs_json_finish(json) != 0) return ggs_fail_errno(error, "could not write the graph");
    return status;
}

static int write_graphs(struct output * output, struct ggs_trace * trace, int64_t token, struct ggs_error * error) {
    if (output->form == FORM_JSON) return write_json(output, trace, token, error);
    if (output->form == FORM_DOT)
        printf("digraph token_%" PRId64 " {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=10];\n", token);
    int status = each_view(output, trace, token, error);
    if (output->form == FORM_DOT) puts("}");
    return status;
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    struct output            output    = {
                      .form    = arguments->input.json ? FORM_JSON
                                 : arguments->dot      ? FORM_DOT
                                                       : FORM_TEXT,
                      .all     = arguments->all,
                      .written = calloc(traces->n_tensors + 1, sizeof(*output.written)),
    };
    int status = output.written == NULL ? ggs_fail_memory(error) : find_token(traces, arguments->token, error);
    if (status == 0) status = write_graphs(&output, traces, arguments->token, error);
    free(output.written);
    return status;
}

int cmd_graph(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        {"token", 0, "N", "Of this token step; 0, the prompt, if not given", 1, AT(token), ggs_take_index,
         "the number of a token step, from 0, the prompt"},
        {"all", 0, NULL, "Views, reshapes and the like too", 1, AT(all), NULL, NULL},
        {"dot", 0, NULL, "As Graphviz, a cluster for each layer", 2, AT(dot), NULL, NULL},
        GGS_OPTION_JSON(2),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[DIR]",
        .most     = 1,
        .opens    = true,
        .options  = options,
        .run      = show,
        .text =
            "Show the compute graph of a token step, layer by layer: ops, their shapes and types, and where their operands lie."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
