#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cmd-graph.h"
#include "cli/verb.h"
#include "gguf/gguf-name.h"

// ---- tensors ----

static uint64_t producer_of(const struct ggs_graph_view * view, uint64_t tensor) {
    return tensor == 0 || tensor > view->trace->n_tensors ? 0 : view->producer[tensor];
}

bool ggs_graph_is_leaf(const struct ggs_graph_view * view, const struct ggs_tensor * tensor) {
    for (int depth = 0; tensor != NULL && depth < 16; depth++) {
        uint64_t producer = producer_of(view, tensor->tensor);
        if (producer != 0 && view->nodes[producer - 1].state != GGS_NODE_EMPTY) return false;
        if (tensor->view == 0) return true;
        tensor = ggs_trace_tensor(view->trace, tensor->view);
    }
    return true;
}

char * ggs_graph_shape(char buffer[GGS_SHAPE_LENGTH], const struct ggs_tensor * t) {
    int n = 4;
    while (n > 1 && t->ne[n - 1] == 1) n--;
    int used = snprintf(buffer, GGS_SHAPE_LENGTH, "%" PRId64, t->ne[0]);
    for (int i = 1; i < n; i++)
        used += snprintf(buffer + used, (size_t) (GGS_SHAPE_LENGTH - used), " x %" PRId64, t->ne[i]);
    return buffer;
}

char * ggs_graph_place(char buffer[GGS_PLACE_LENGTH], const struct ggs_tensor * t) {
    if (t->source == GGS_SOURCE_DISK) {
        snprintf(buffer, GGS_PLACE_LENGTH, "DISK %" PRIu64, t->file_offset);
    } else if (t->origin_file != 0) {
        snprintf(buffer, GGS_PLACE_LENGTH, "BUFFER %" PRIu64 " (from %" PRIu64 ")", t->buffer, t->origin_offset);
    } else if (t->buffer != 0) {
        snprintf(buffer, GGS_PLACE_LENGTH, "BUFFER %" PRIu64, t->buffer);
    } else {
        snprintf(buffer, GGS_PLACE_LENGTH, "BUFFER");
    }
    return buffer;
}

const char * ggs_graph_name(const struct ggs_graph_view * view, const struct ggs_tensor * tensor) {
    return tensor == NULL ? "" : ggs_reader_string(view->trace->reader, tensor->name);
}

const char * ggs_graph_type(const struct ggs_graph_view * view, const struct ggs_tensor * tensor) {
    const struct ggs_trace * trace = view->trace;
    return tensor->type < trace->n_types ? ggs_reader_string(trace->reader, trace->types[tensor->type].name) : "?";
}

// ---- text ----

enum { INDENT = 19, NAME = 60 };

// Appends a piece where the line has room, else on a new one.
static void wrap(struct ggs_text * line, size_t * column, unsigned width, const char * piece) {
    size_t taken = ggs_terminal_columns(piece);
    if (*column + 1 + taken > width && *column > INDENT) {
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
                       const struct ggs_tensor * t, bool more) {
    char name[4 * NAME], shape[GGS_SHAPE_LENGTH], place[GGS_PLACE_LENGTH], piece[600];
    ggs_verb_fit(name, sizeof(name), ggs_graph_name(view, t), NAME);
    if (!ggs_graph_is_leaf(view, t)) {
        snprintf(piece, sizeof(piece), "%s%s", name, more ? "," : "");
        wrap(line, column, width, piece);
        return;
    }
    snprintf(piece, sizeof(piece), "%s [%s] %s", name, ggs_graph_shape(shape, t), ggs_graph_type(view, t));
    wrap(line, column, width, piece);
    snprintf(piece, sizeof(piece), "%s%s", ggs_graph_place(place, t), more ? "," : "");
    wrap(line, column, width, piece);
}

static uint64_t buffer_class(const struct ggs_trace * trace, uint64_t buffer) {
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        if (trace->buffers[i].buffer == buffer) return trace->buffers[i].class_;
    }
    return GGS_CLASS_OTHER;
}

static void print_node(const struct ggs_graph_view * view, FILE * file, unsigned width, uint64_t node) {
    const struct ggs_graph *  graph  = view->graph;
    const struct ggs_tensor * result = ggs_trace_tensor(view->trace, graph->nodes[node].tensor);
    struct ggs_text           line   = {0};
    char                      name[4 * NAME], shape[GGS_SHAPE_LENGTH], place[GGS_PLACE_LENGTH], piece[600];
    size_t                    column = INDENT - 1;
    if (result == NULL) return;
    ggs_verb_fit(name, sizeof(name), ggs_graph_name(view, result), NAME);
    ggs_text_printf(&line, "%s %-15s", view->nodes[node].state == GGS_NODE_ABSORBED ? " +" : "  ",
                    ggs_trace_op_name(view->trace, graph->nodes[node].op));
    snprintf(piece, sizeof(piece), "%s [%s] %s", name, ggs_graph_shape(shape, result), ggs_graph_type(view, result));
    wrap(&line, &column, width, piece);
    // Results lie in the compute buffer, unless they are told to lie elsewhere.
    if (view->nodes[node].state != GGS_NODE_EMPTY && buffer_class(view->trace, result->buffer) != GGS_CLASS_COMPUTE) {
        snprintf(piece, sizeof(piece), "in %s", ggs_graph_place(place, result));
        wrap(&line, &column, width, piece);
    }
    if (graph->first_edge[node] < graph->first_edge[node + 1]) wrap(&line, &column, width, "=");
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        const struct ggs_tensor * t = ggs_trace_tensor(view->trace, graph->edges[e].tensor);
        if (t != NULL) add_source(view, &line, &column, width, t, e + 1 < graph->first_edge[node + 1]);
    }
    fprintf(file, "%s\n", ggs_text_string(&line));
    ggs_text_release(&line);
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
        fprintf(file, "\n%s", seen ? "output" : "input");
    }
    if (ops > 0) fprintf(file, ": %" PRIu64 " op%s, %s", ops, ops == 1 ? "" : "s", ggs_format_nanoseconds(number, ns));
    fputc('\n', file);
}

void ggs_graph_text(const struct ggs_graph_view * view, FILE * file, bool all) {
    const struct ggs_run * run   = &view->run;
    unsigned               width = ggs_terminal_width(file);
    bool                   seen  = false;
    fprintf(file, "graph %" PRIu64 " on %s, run %" PRIu64, run->graph,
            ggs_reader_string(view->trace->reader, run->backend), run->run);
    if (view->again > 0) fprintf(file, " (and %" PRIu64 " more of this token)", view->again);
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
    char shape[GGS_SHAPE_LENGTH];
    fputs("label=\"", file);
    if (title != NULL) {
        put_escaped(file, title);
        fputs("\\n", file);
    }
    put_escaped(file, ggs_graph_name(view, t));
    if (t != NULL) fprintf(file, "\\n%s %s", ggs_graph_shape(shape, t), ggs_graph_type(view, t));
    fputc('"', file);
}

// The name of a tensor in the drawing: the node that computes it, or a leaf of its own.
static void put_id(const struct ggs_graph_view * view, FILE * file, uint64_t tensor) {
    uint64_t producer = producer_of(view, tensor);
    if (producer != 0) {
        fprintf(file, "node_%" PRIu64, view->first + producer - 1);
    } else {
        fprintf(file, "leaf_%" PRIu64, tensor);
    }
}

// Is what this edge reads a leaf that was not written yet?
static bool is_new_leaf(struct ggs_graph_view * view, uint64_t edge) {
    uint64_t tensor = view->graph->edges[edge].tensor;
    if (tensor == 0 || tensor > view->trace->n_tensors || view->producer[tensor] != 0) return false;
    if (view->written[tensor - 1]) return false;
    view->written[tensor - 1] = true;
    return true;
}

static void dot_leaves(struct ggs_graph_view * view, FILE * file) {
    char place[GGS_PLACE_LENGTH];
    for (uint64_t e = 0; e < view->graph->n_edges; e++) {
        const struct ggs_tensor * t = ggs_trace_tensor(view->trace, view->graph->edges[e].tensor);
        if (t == NULL || !is_new_leaf(view, e)) continue;
        fputs("  ", file);
        put_id(view, file, t->tensor);
        fprintf(file, " [shape=box, style=filled, fillcolor=\"%s\", tooltip=\"%s\", ",
                t->source == GGS_SOURCE_DISK ? "#cfe2f3" : "#eeeeee", ggs_graph_place(place, t));
        put_label(view, file, NULL, t);
        fputs("];\n", file);
    }
}

void ggs_graph_dot(struct ggs_graph_view * view, FILE * file) {
    const struct ggs_graph * graph = view->graph;
    dot_leaves(view, file);
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        int layer = view->nodes[i].layer;
        if (layer >= 0 && (i == 0 || layer != view->nodes[i - 1].layer))
            fprintf(file, "  subgraph cluster_%" PRIu64 "_%d {\n    label=\"layer %d\";\n", graph->row.graph, layer,
                    layer);
        fprintf(file, "  %snode_%" PRIu64 " [shape=ellipse%s, ", layer >= 0 ? "  " : "", view->first + i,
                view->nodes[i].state == GGS_NODE_EMPTY ? ", style=dashed" : "");
        put_label(view, file, ggs_trace_op_name(view->trace, graph->nodes[i].op),
                  ggs_trace_tensor(view->trace, graph->nodes[i].tensor));
        fputs("];\n", file);
        if (layer >= 0 && (i + 1 == graph->n_nodes || view->nodes[i + 1].layer != layer)) fputs("  }\n", file);
    }
    uint64_t made = 0;
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        ggs_trace_make(view->trace, graph, view->producer, &made, graph->edges[e].node);
        fputs("  ", file);
        put_id(view, file, graph->edges[e].tensor);
        fprintf(file, " -> node_%" PRIu64 ";\n", view->first + graph->edges[e].node);
    }
}

// ---- JSON ----

static void write_id(const struct ggs_graph_view * view, struct ggs_json * json, const char * key, uint64_t tensor) {
    uint64_t producer = producer_of(view, tensor);
    char     id[40];
    if (producer != 0) {
        snprintf(id, sizeof(id), "node_%" PRIu64, view->first + producer - 1);
    } else {
        snprintf(id, sizeof(id), "leaf_%" PRIu64, tensor);
    }
    ggs_json_string(json, key, id);
}

static void write_tensor(const struct ggs_graph_view * view, struct ggs_json * json, const struct ggs_tensor * t,
                         const char * op, int layer) {
    char            text[40];
    const char *    name = ggs_graph_name(view, t);
    struct ggs_name what = ggs_name_parse(name, strlen(name));
    snprintf(text, sizeof(text), "0x%" PRIx64, t->address);
    ggs_json_string(json, "address", text);
    ggs_json_string(json, "label", name);
    ggs_json_string(json, "operation", op);
    ggs_json_array_inline(json, "shape");
    for (int i = 0; i < 4; i++) ggs_json_i64(json, NULL, t->ne[i]);
    ggs_json_end(json);
    ggs_json_string(json, "dtype", ggs_graph_type(view, t));
    if (layer < 0) {
        ggs_json_null(json, "layer_id");
    } else {
        ggs_json_i64(json, "layer_id", layer);
    }
    ggs_json_string(json, "category", ggs_category_name(what.category));
    ggs_json_string(json, "memory_source", t->source == GGS_SOURCE_DISK ? "DISK" : "BUFFER");
    if (t->source == GGS_SOURCE_DISK) ggs_json_u64(json, "disk_offset", t->file_offset);
    if (t->buffer != 0) ggs_json_u64(json, "buffer_id", t->buffer);
    if (t->origin_file != 0) ggs_json_u64(json, "origin_offset", t->origin_offset);
}

void ggs_graph_json_nodes(struct ggs_graph_view * view, struct ggs_json * json) {
    static const char * const states[] = {[GGS_NODE_OPAQUE]   = "opaque",
                                          [GGS_NODE_EMPTY]    = "empty",
                                          [GGS_NODE_EXECUTED] = "executed",
                                          [GGS_NODE_ABSORBED] = "absorbed",
                                          [GGS_NODE_MISSING]  = "not seen"};
    for (uint64_t i = 0; i < view->graph->n_nodes; i++) {
        const struct ggs_tensor *    t    = ggs_trace_tensor(view->trace, view->graph->nodes[i].tensor);
        const struct ggs_node_view * node = &view->nodes[i];
        char                         id[40];
        if (t == NULL) continue;
        snprintf(id, sizeof(id), "node_%" PRIu64, view->first + i);
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "id", id);
        write_tensor(view, json, t, ggs_trace_op_name(view->trace, view->graph->nodes[i].op), node->layer);
        ggs_json_string(json, "state", states[node->state]);
        if (node->state == GGS_NODE_EXECUTED) {
            ggs_json_i64(json, "begin_ns", node->begin_ns);
            ggs_json_u64(json, "duration_ns", node->duration_ns);
        }
        ggs_json_end(json);
    }
    for (uint64_t e = 0; e < view->graph->n_edges; e++) {
        const struct ggs_tensor * t = ggs_trace_tensor(view->trace, view->graph->edges[e].tensor);
        if (t == NULL || !is_new_leaf(view, e)) continue;
        ggs_json_object_inline(json, NULL);
        write_id(view, json, "id", t->tensor);
        write_tensor(view, json, t, "NONE", view->trace->layers[t->tensor - 1]);
        ggs_json_string(json, "state", "leaf");
        ggs_json_end(json);
    }
}

void ggs_graph_json_edges(const struct ggs_graph_view * view, struct ggs_json * json) {
    uint64_t made = 0;
    for (uint64_t e = 0; e < view->graph->n_edges; e++) {
        const struct ggs_edge * edge = &view->graph->edges[e];
        ggs_trace_make(view->trace, view->graph, view->producer, &made, edge->node);
        char text[40];
        ggs_json_object_inline(json, NULL);
        write_id(view, json, "source", edge->tensor);
        snprintf(text, sizeof(text), "node_%" PRIu64, view->first + edge->node);
        ggs_json_string(json, "target", text);
        snprintf(text, sizeof(text), "src %" PRIu64, edge->slot);
        ggs_json_string(json, "label", text);
        ggs_json_end(json);
    }
}
