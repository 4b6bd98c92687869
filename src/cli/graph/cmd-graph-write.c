#include <inttypes.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "cli/graph/cmd-graph.h"
#include "cli/scaffold/verb.h"

// ---- tensors ----

enum { SHAPE_LENGTH = 96, PLACE_LENGTH = 80 };

// "256 x 5"
static char * shape_text(char buffer[SHAPE_LENGTH], const struct ggs_tensor * t) {
    int n = 4;
    while (n > 1 && t->ne[n - 1] == 1) n--;
    int used = snprintf(buffer, SHAPE_LENGTH, "%" PRId64, t->ne[0]);
    for (int i = 1; i < n; i++)
        used += snprintf(buffer + used, (size_t) (SHAPE_LENGTH - used), " x %" PRId64, t->ne[i]);
    return buffer;
}

// "DISK 742528"
static char * place_text(char buffer[PLACE_LENGTH], const struct ggs_tensor * t) {
    const char * word = t->source == GGS_SOURCE_NONE ? "BUFFER" : ggs_word_source(t->source);
    if (t->source == GGS_SOURCE_DISK) {
        snprintf(buffer, PLACE_LENGTH, "%s %" PRIu64, word, t->file_offset);
    } else if (t->origin_file != 0) {
        snprintf(buffer, PLACE_LENGTH, "%s %" PRIu64 " (from %" PRIu64 ")", word, t->buffer, t->origin_offset);
    } else if (t->buffer != 0) {
        snprintf(buffer, PLACE_LENGTH, "%s %" PRIu64, word, t->buffer);
    } else {
        snprintf(buffer, PLACE_LENGTH, "%s", word);
    }
    return buffer;
}

static const char * name_of(const struct ggs_graph_view * view, const struct ggs_tensor * tensor) {
    return tensor == NULL ? "" : ggs_reader_string(view->trace.reader, tensor->name);
}

static const char * type_of(const struct ggs_graph_view * view, const struct ggs_tensor * tensor) {
    const struct ggs_trace * trace = &view->trace;
    return tensor->type < trace->n_types ? ggs_reader_string(trace->reader, trace->types[tensor->type].name) : "?";
}

// True if an edge's data comes from outside of the graph, also through views: a weight, an input, a
// cache.
static bool from_outside(const struct ggs_graph_view * view, uint64_t edge) {
    return view->from[edge] == 0 || view->real[view->from[edge] - 1] == 0;
}

// ---- text ----

enum { INDENT = 19, NAME = 60 };

// Appends a piece if it fits the line, else on a new line; `width` 0: unlimited.
static void wrap(struct ggs_text * line, size_t * column, unsigned width, const char * piece) {
    size_t taken = ggs_terminal_columns(piece);
    if (width > 0 && *column + 1 + taken > width && *column > INDENT) {
        ggs_text_putc(line, '\n');
        ggs_text_repeat(line, " ", INDENT);
        *column = INDENT;
    } else {
        ggs_text_putc(line, ' ');
        ++*column;
    }
    ggs_text_puts(line, piece);
    *column += taken;
}

static void add_source(const struct ggs_graph_view * view, struct ggs_text * line, size_t * column, unsigned width,
                       const struct ggs_tensor * t, bool outside, bool more) {
    char            buffer[4 * NAME], shape[SHAPE_LENGTH], place[PLACE_LENGTH];
    const char *    name  = ggs_verb_fit(buffer, sizeof(buffer), name_of(view, t), NAME);
    struct ggs_text piece = {0};
    if (outside) {
        ggs_text_printf(&piece, "%s [%s] %s", name, shape_text(shape, t), type_of(view, t));
        wrap(line, column, width, ggs_text_string(&piece));
        ggs_text_clear(&piece);
        ggs_text_printf(&piece, "%s%s", place_text(place, t), more ? "," : "");
    } else {
        ggs_text_printf(&piece, "%s%s", name, more ? "," : "");
    }
    wrap(line, column, width, ggs_text_string(&piece));
    ggs_text_release(&piece);
}

static uint64_t buffer_class(const struct ggs_trace * trace, uint64_t buffer) {
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        if (trace->buffers[i].buffer == buffer) return trace->buffers[i].class_;
    }
    return GGS_CLASS_OTHER;
}

static void print_node(const struct ggs_graph_view * view, FILE * file, unsigned width, uint64_t node) {
    const struct ggs_graph *  graph  = view->graph;
    const struct ggs_tensor * result = ggs_trace_tensor(&view->trace, graph->nodes[node].tensor);
    struct ggs_text           line = {0}, piece = {0};
    char                      buffer[4 * NAME], shape[SHAPE_LENGTH], place[PLACE_LENGTH];
    size_t                    column = INDENT - 1;
    if (result == NULL) return;
    const char * name = ggs_verb_fit(buffer, sizeof(buffer), name_of(view, result), NAME);
    ggs_text_printf(&line, "%s %-15s", view->nodes[node].state == GGS_NODE_ABSORBED ? " +" : "  ",
                    ggs_trace_op_name(&view->trace, graph->nodes[node].op));
    ggs_text_printf(&piece, "%s [%s] %s", name, shape_text(shape, result), type_of(view, result));
    wrap(&line, &column, width, ggs_text_string(&piece));
    // Results lie in the compute buffer unless stated otherwise.
    if (view->nodes[node].state != GGS_NODE_EMPTY && buffer_class(&view->trace, result->buffer) != GGS_CLASS_COMPUTE) {
        ggs_text_clear(&piece);
        ggs_text_printf(&piece, "in %s", place_text(place, result));
        wrap(&line, &column, width, ggs_text_string(&piece));
    }
    if (graph->first_edge[node] < graph->first_edge[node + 1]) wrap(&line, &column, width, "=");
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        const struct ggs_tensor * t = ggs_trace_tensor(&view->trace, graph->edges[e].tensor);
        if (t != NULL)
            add_source(view, &line, &column, width, t, from_outside(view, e), e + 1 < graph->first_edge[node + 1]);
    }
    fprintf(file, "%s\n", ggs_text_string(&line));
    ggs_text_release(&line);
    ggs_text_release(&piece);
}

static void print_layer(const struct ggs_graph_view * view, FILE * file, uint64_t node, bool seen) {
    uint64_t ns = 0, ops = 0;
    char     number[GGS_NUMBER_LENGTH];
    int      layer = view->nodes[node].layer;
    for (uint64_t i = node; i < view->graph->n_nodes && view->nodes[i].layer == layer; i++) {
        ns += view->nodes[i].duration_ns;
        ops += view->nodes[i].state == GGS_NODE_EXECUTED;
    }
    if (layer >= 0) {
        fprintf(file, "\nlayer %d", layer);
    } else {
        bool layers = seen;
        for (uint64_t i = node; !layers && i < view->graph->n_nodes; i++) layers = view->nodes[i].layer >= 0;
        fprintf(file, "\n%s", seen ? "output" : layers ? "input" : "no layers");
    }
    if (ops > 0) fprintf(file, ": %" PRIu64 " op%s, %s", ops, ops == 1 ? "" : "s", ggs_format_nanoseconds(number, ns));
    fputc('\n', file);
}

void ggs_graph_text(const struct ggs_graph_view * view, FILE * file, bool all) {
    const struct ggs_run * run   = &view->run;
    unsigned               width = ggs_terminal_limit(file);
    bool                   seen  = false;
    fprintf(file, "graph %" PRIu64 " on %s, run %" PRIu64, run->graph,
            ggs_reader_string(view->trace.reader, run->backend), run->run);
    if (view->runs > 1)
        fprintf(file, " (and %" PRIu64 " more of this %s)", view->runs - 1, ggs_word_step(&view->trace));
    fprintf(file, ": %" PRIu64 " nodes: %" PRIu64 " executed,\n%" PRIu64 " absorbed (+), %" PRIu64 " empty%s",
            run->nodes, run->executed, run->absorbed, run->empty, all || run->empty == 0 ? "" : " (hidden)");
    if (run->skipped > 0) fprintf(file, ", %" PRIu64 " skipped", run->skipped);
    if (run->opaque > 0) fprintf(file, ", %" PRIu64 " opaque", run->opaque);
    if (run->unseen > 0) fprintf(file, ", %" PRIu64 " unseen", run->unseen);
    if (run->cut > 0) fprintf(file, ", %" PRIu64 " cut off", run->cut);
    fputc('\n', file);
    for (uint64_t i = 0; i < view->graph->n_nodes; i++) {
        int layer = view->nodes[i].layer;
        if (i == 0 || layer != view->nodes[i - 1].layer) print_layer(view, file, i, seen);
        seen |= layer >= 0;
        if (all || view->nodes[i].state != GGS_NODE_EMPTY) print_node(view, file, width, i);
    }
}

// ---- dot ----

static void put_escaped(FILE * file, const char * text) {
    for (const char * p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') fputc('\\', file);
        fputc((unsigned char) *p < 0x20 ? '?' : *p, file);
    }
}

static void put_label(const struct ggs_graph_view * view, FILE * file, const char * title,
                      const struct ggs_tensor * t) {
    char shape[SHAPE_LENGTH];
    fputs("label=\"", file);
    if (title != NULL) {
        put_escaped(file, title);
        fputs("\\n", file);
    }
    put_escaped(file, name_of(view, t));
    if (t != NULL) fprintf(file, "\\n%s %s", shape_text(shape, t), type_of(view, t));
    fputc('"', file);
}

// Names of nodes and leaves include the graph's number, because a token step may have several
// graphs.
static void put_source(const struct ggs_graph_view * view, FILE * file, uint64_t edge) {
    uint32_t from = view->from[edge];
    if (from != 0)
        fprintf(file, "node_%" PRIu64 "_%" PRIu32, view->run.graph, from - 1);
    else
        fprintf(file, "leaf_%" PRIu64, view->graph->edges[edge].tensor);
}

static void dot_leaves(const struct ggs_graph_view * view, FILE * file) {
    char place[PLACE_LENGTH];
    for (uint64_t i = 0; i < view->n_leaves; i++) {
        const struct ggs_tensor * t = &view->trace.tensors[view->leaves[i] - 1];
        fprintf(file, "  leaf_%" PRIu64 " [shape=box, style=filled, fillcolor=\"%s\", tooltip=\"%s\", ", t->tensor,
                t->source == GGS_SOURCE_DISK ? "#cfe2f3" : "#eeeeee", place_text(place, t));
        put_label(view, file, NULL, t);
        fputs("];\n", file);
    }
}

void ggs_graph_dot(const struct ggs_graph_view * view, FILE * file) {
    const struct ggs_graph * graph = view->graph;
    dot_leaves(view, file);
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        int layer = view->nodes[i].layer;
        if (layer >= 0 && (i == 0 || layer != view->nodes[i - 1].layer))
            fprintf(file, "  subgraph cluster_%" PRIu64 "_%d {\n    label=\"layer %d\";\n", view->run.graph, layer,
                    layer);
        fprintf(file, "  %snode_%" PRIu64 "_%" PRIu64 " [shape=ellipse%s, ", layer >= 0 ? "  " : "", view->run.graph, i,
                view->nodes[i].state == GGS_NODE_EMPTY ? ", style=dashed" : "");
        put_label(view, file, ggs_trace_op_name(&view->trace, graph->nodes[i].op),
                  ggs_trace_tensor(&view->trace, graph->nodes[i].tensor));
        fputs("];\n", file);
        if (layer >= 0 && (i + 1 == graph->n_nodes || view->nodes[i + 1].layer != layer)) fputs("  }\n", file);
    }
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        fputs("  ", file);
        put_source(view, file, e);
        fprintf(file, " -> node_%" PRIu64 "_%" PRIu64 ";\n", view->run.graph, graph->edges[e].node);
    }
}
