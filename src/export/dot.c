// The graphs of token steps for Graphviz: a box per node, a cluster per layer.
//
// Other programs read these files line by line, so each node and each edge is one line in the form
// that ggml's own dump has: "ID" [... label="NAME (TYPE)|NUMBER [SHAPE]|<x>OP"], a leaf
// "<x>NAME (TYPE)|CONST NUMBER [SHAPE]", an edge "ID" -> "ID" [label="src N"]. Ids and numbers are
// those of the json format.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "export/export.h"
#include "export/formats.h"
#include "export/workers.h"

struct dot {
    struct ggs_export * export;
    struct ggs_target target;
    struct ggs_text   text;
    uint32_t *        node; // by tensor: its node + 1 in the current graph
    uint32_t *        leaf; // by tensor: its number + 1 among the leaves of the step
    uint32_t          leaves;
    uint64_t          first; // of the current graph: the id of its node 0
};

// Escapes what has a meaning in a record's label; control characters become blanks.
static void put_quoted(struct dot * d, const char * text) {
    ggs_text_clear(&d->text);
    for (; *text != '\0'; text++) {
        if (strchr("\"\\{}|<>", *text) != NULL) ggs_text_putc(&d->text, '\\');
        ggs_text_putc(&d->text, (unsigned char) *text < 0x20 ? ' ' : *text);
    }
    ggs_target_text(&d->target, ggs_text_string(&d->text));
}

// NAME (TYPE)
static void put_name(struct dot * d, uint64_t tensor) {
    const struct ggs_tensor * t = ggs_trace_tensor(&d->export->trace, tensor);
    put_quoted(d, ggs_tensor_name_of(d->export, tensor));
    if (t == NULL) return;
    ggs_target_text(&d->target, " (");
    put_quoted(d, ggs_word_type(d->export, t->type));
    ggs_target_text(&d->target, ")");
}

// [64, 2]
static void put_shape(struct dot * d, uint64_t tensor) {
    const struct ggs_tensor * t = ggs_trace_tensor(&d->export->trace, tensor);
    unsigned                  n = 4;
    if (t == NULL) return;
    while (n > 1 && t->ne[n - 1] == 1) n--;
    for (unsigned i = 0; i < n; i++) ggs_target_format(&d->target, "%s%" PRId64, i == 0 ? " [" : ", ", t->ne[i]);
    ggs_target_text(&d->target, "]");
}

static const char * colour_of(const char * category) {
    static const struct {
        const char *category, *colour;
    } table[] = {
        {"attention", "#dbe9f6"}, {"ffn", "#fde5d2"}, {"norm", "#e6e6e6"}, {"input", "#ddf1dd"}, {"output", "#f6dbe6"}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i].category, category) == 0) return table[i].colour;
    }
    return "#ffffff";
}

static void put_node(struct dot * d, const struct ggs_graph * graph, uint64_t n) {
    const struct ggs_node * node = &graph->nodes[n];
    ggs_target_format(&d->target, "  \"node_%" PRIu64 "\" [fillcolor=\"%s\" label=\"", d->first + n,
                      colour_of(ggs_node_category(d->export, graph, n)));
    put_name(d, node->tensor);
    ggs_target_format(&d->target, "|%" PRIu64, d->first + n);
    put_shape(d, node->tensor);
    ggs_target_text(&d->target, "|<x>");
    put_quoted(d, ggs_trace_op_name(&d->export->trace, node->op));
    ggs_target_text(&d->target, "\"]\n");
}

static void put_leaves(struct dot * d, const struct ggs_graph * graph) {
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        uint64_t tensor = graph->edges[e].tensor;
        if (tensor == 0 || tensor > d->export->trace.n_tensors || d->node[tensor] != 0 || d->leaf[tensor]) continue;
        d->leaf[tensor] = ++d->leaves;
        ggs_target_format(&d->target, "  \"leaf_%" PRIu32 "\" [shape=Mrecord label=\"<x>", d->leaves - 1);
        put_name(d, tensor);
        ggs_target_format(&d->target, "|CONST %" PRIu32, d->leaves - 1);
        put_shape(d, tensor);
        ggs_target_text(&d->target, "\"]\n");
    }
}

// Makes a cluster of the nodes of one layer.
static void put_layer(struct dot * d, const struct ggs_graph * graph, int layer) {
    bool any = false;
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        if (ggs_trace_node_layer(&d->export->trace, graph, n) != layer) continue;
        if (!any)
            ggs_target_format(&d->target, "  subgraph cluster_%" PRIu64 "_%d {\n    label=\"layer %d\"\n",
                              graph->row.graph, layer, layer);
        any = true;
        ggs_target_format(&d->target, "    \"node_%" PRIu64 "\"\n", d->first + n);
    }
    if (any) ggs_target_text(&d->target, "  }\n");
}

static void put_edges(struct dot * d, const struct ggs_graph * graph) {
    uint64_t made = 0;
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        const struct ggs_edge * edge = &graph->edges[e];
        ggs_trace_make(&d->export->trace, graph, d->node, &made, edge->node);
        if (edge->tensor == 0 || edge->tensor > d->export->trace.n_tensors) continue;
        if (d->node[edge->tensor] != 0) {
            ggs_target_format(&d->target, "  \"node_%" PRIu64 "\"", d->first + d->node[edge->tensor] - 1);
        } else {
            ggs_target_format(&d->target, "  \"leaf_%" PRIu32 "\"", d->leaf[edge->tensor] - 1);
        }
        ggs_target_format(&d->target, " -> \"node_%" PRIu64 "\" [label=\"src %" PRIu64 "\"]\n", d->first + edge->node,
                          edge->slot);
    }
}

static void put_graph(struct dot * d, const struct ggs_graph * graph) {
    uint64_t most = d->export->trace.n_tensors;
    int      last = -1;
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        int layer = ggs_trace_node_layer(&d->export->trace, graph, n);
        if (layer > last) last = layer;
        if (graph->nodes[n].tensor <= most) d->node[graph->nodes[n].tensor] = (uint32_t) (n + 1);
    }
    for (uint64_t n = 0; n < graph->n_nodes; n++) put_node(d, graph, n);
    put_leaves(d, graph);
    for (int layer = 0; layer <= last; layer++) put_layer(d, graph, layer);
    put_edges(d, graph);
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        if (graph->nodes[n].tensor <= most) d->node[graph->nodes[n].tensor] = 0;
    }
    d->first += graph->n_nodes;
}

// The distinct graphs of a step in order of its runs.
struct graphs {
    uint64_t * graph;
    uint64_t   n, capacity;
};

static int graphs_of(struct ggs_cursor * runs, const struct ggs_step * step, struct graphs * graphs,
                     struct ggs_error * error) {
    struct ggs_run run;
    int            status = 0;
    graphs->n             = 0;
    ggs_cursor_keys(runs, (int64_t) step->first_run, (int64_t) step->last_run);
    while ((status = ggs_cursor_next(runs, &run, error)) > 0) {
        bool known = run.step != step->step;
        for (uint64_t i = 0; i < graphs->n && !known; i++) known = graphs->graph[i] == run.graph;
        if (known) continue;
        if (!ggs_array_push(graphs->graph, graphs->n, graphs->capacity, run.graph)) return ggs_fail_memory(error);
    }
    return status;
}

static int write_step(struct dot * d, const struct ggs_step * step, const struct graphs * graphs, bool alone,
                      struct ggs_error * error) {
    char name[40];
    snprintf(name, sizeof(name), "token%c%05" PRId64 ".dot", d->export->options->underscores ? '_' : '-', step->step);
    int status = ggs_export_open(d->export, &d->target, alone ? NULL : name, error);
    if (status < 0) return status;
    d->first  = 0;
    d->leaves = 0;
    memset(d->leaf, 0, (d->export->trace.n_tensors + 1) * sizeof(*d->leaf));
    ggs_target_format(&d->target,
                      "// experiment %s\ndigraph \"token %" PRId64 "\" {\n"
                      "  node [shape=record style=filled fillcolor=\"#ffffff\" fontname=\"sans-serif\" fontsize=10]\n"
                      "  edge [fontname=\"sans-serif\" fontsize=8 color=\"#555555\"]\n",
                      d->export->id, step->step);
    for (uint64_t i = 0; status == 0 && i < graphs->n; i++) {
        const struct ggs_graph * graph;
        status = ggs_trace_graph(&d->export->trace, graphs->graph[i], &graph, error);
        if (status == 0) put_graph(d, graph);
    }
    ggs_target_text(&d->target, "}\n");
    if (status == 0 && d->text.failed) status = ggs_fail_memory(error);
    return ggs_export_close(d->export, &d->target, status, error);
}

static int write_steps(struct ggs_export * export, void * alone, struct ggs_error * error) {
    struct dot         d     = {.export = export};
    struct ggs_cursor *steps = NULL, *runs = NULL;
    struct ggs_step    step;
    struct graphs      graphs = {0};
    d.node                    = calloc(export->trace.n_tensors + 1, sizeof(*d.node));
    d.leaf                    = calloc(export->trace.n_tensors + 1, sizeof(*d.leaf));
    int status                = d.node == NULL || d.leaf == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = ggs_export_steps(export, &steps, error);
    if (status == 0) status = ggs_cursor_open(&runs, export->trace.reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_export_next_step(export, steps, &step, error)) > 0) {
        status = graphs_of(runs, &step, &graphs, error);
        if (status == 0) status = write_step(&d, &step, &graphs, *(const bool *) alone, error);
        ggs_export_step(export);
    }
    ggs_cursor_close(steps);
    ggs_cursor_close(runs);
    ggs_text_release(&d.text);
    free(graphs.graph);
    free(d.node);
    free(d.leaf);
    return status;
}

int ggs_export_dot(struct ggs_export * export, struct ggs_error * error) {
    bool alone  = export->options->steps && export->options->first_step == export->options->last_step;
    int  status = ggs_workers_steps(export, write_steps, &alone, error);
    if (status == 0 && !alone) ggs_export_sweep(export, NULL, ".dot");
    return status;
}
