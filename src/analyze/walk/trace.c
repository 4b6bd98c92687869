#include "analyze/walk/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gguf/gguf-name.h"

enum { MOST_NUMBER = 4096 }; // of an op or a type: beyond that the file is wrong

// Reads a whole table into memory; rows of `size` bytes.
static int read_table(struct ggs_reader * reader, enum ggs_trace_table table, size_t size, void ** out, uint64_t * n,
                      struct ggs_error * error) {
    uint64_t            rows   = ggs_reader_rows(reader, table);
    struct ggs_cursor * cursor = NULL;
    char *              data   = NULL;
    int                 status = 0;
    *out = NULL, *n = 0;
    if (rows == 0) return 0;
    data = calloc(rows, size);
    if (data == NULL) return ggs_fail_memory(error);
    status = ggs_cursor_open(&cursor, reader, table, error);
    while (status >= 0 && *n < rows) {
        status = ggs_cursor_next(cursor, data + *n * size, error);
        if (status <= 0) break;
        ++*n;
    }
    ggs_cursor_close(cursor);
    if (status < 0) {
        free(data);
        *n = 0;
        return status;
    }
    *out = data;
    return 0;
}

static enum ggs_op_kind kind_of(const char * name) {
    static const struct {
        const char *     name;
        enum ggs_op_kind kind;
    } table[] = {
        {"NONE", GGS_KIND_EMPTY},        {"VIEW", GGS_KIND_EMPTY},
        {"RESHAPE", GGS_KIND_EMPTY},     {"PERMUTE", GGS_KIND_EMPTY},
        {"TRANSPOSE", GGS_KIND_EMPTY},   {"GET_ROWS", GGS_KIND_GET_ROWS},
        {"SET_ROWS", GGS_KIND_SET_ROWS}, {"MUL_MAT_ID", GGS_KIND_MUL_MAT_ID},
        {"ADD_ID", GGS_KIND_ADD_ID},     {"CPY", GGS_KIND_CPY},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(name, table[i].name) == 0) return table[i].kind;
    }
    return GGS_KIND_DENSE;
}

static int read_ops(struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_op * rows;
    uint64_t        n;
    int             status = read_table(trace->reader, GGS_TABLE_OPS, sizeof(*rows), (void **) &rows, &n, error);
    if (status < 0) return status;
    for (uint64_t i = 0; i < n; i++) {
        if (rows[i].op < MOST_NUMBER && rows[i].op >= trace->n_ops) trace->n_ops = rows[i].op + 1;
    }
    trace->op_names = calloc(trace->n_ops + 1, sizeof(*trace->op_names));
    trace->op_kinds = calloc(trace->n_ops + 1, sizeof(*trace->op_kinds));
    if (trace->op_names == NULL || trace->op_kinds == NULL) {
        free(rows);
        return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < trace->n_ops; i++) trace->op_names[i] = "";
    for (uint64_t i = 0; i < n; i++) {
        if (rows[i].op >= trace->n_ops) continue;
        trace->op_names[rows[i].op] = ggs_reader_string(trace->reader, rows[i].name);
        trace->op_kinds[rows[i].op] = kind_of(trace->op_names[rows[i].op]);
    }
    free(rows);
    return 0;
}

static int read_types(struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_type * rows;
    uint64_t          n;
    int               status = read_table(trace->reader, GGS_TABLE_TYPES, sizeof(*rows), (void **) &rows, &n, error);
    if (status < 0) return status;
    for (uint64_t i = 0; i < n; i++) {
        if (rows[i].type < MOST_NUMBER && rows[i].type >= trace->n_types) trace->n_types = rows[i].type + 1;
    }
    trace->types = calloc(trace->n_types + 1, sizeof(*trace->types));
    for (uint64_t i = 0; trace->types != NULL && i < n; i++) {
        if (rows[i].type < trace->n_types) trace->types[rows[i].type] = rows[i];
    }
    free(rows);
    return trace->types == NULL ? ggs_fail_memory(error) : 0;
}

static int find_layers(struct ggs_trace * trace, struct ggs_error * error) {
    trace->layers = malloc((trace->n_tensors + 1) * sizeof(*trace->layers));
    if (trace->layers == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const char * name = ggs_reader_string(trace->reader, trace->tensors[i].name);
        trace->layers[i]  = ggs_name_layer(name, strlen(name));
    }
    return 0;
}

int ggs_trace_open(struct ggs_trace * trace, const char * path, struct ggs_error * error) {
    *trace     = (struct ggs_trace){0};
    int status = ggs_reader_open(&trace->reader, path, error);
    if (status == 0)
        status = read_table(trace->reader, GGS_TABLE_TENSORS, sizeof(*trace->tensors), (void **) &trace->tensors,
                            &trace->n_tensors, error);
    if (status == 0)
        status = read_table(trace->reader, GGS_TABLE_BUFFERS, sizeof(*trace->buffers), (void **) &trace->buffers,
                            &trace->n_buffers, error);
    if (status == 0)
        status = read_table(trace->reader, GGS_TABLE_FILES, sizeof(*trace->files), (void **) &trace->files,
                            &trace->n_files, error);
    if (status == 0) status = read_ops(trace, error);
    if (status == 0) status = read_types(trace, error);
    if (status == 0) status = find_layers(trace, error);
    if (status < 0) ggs_trace_close(trace);
    return status;
}

void ggs_trace_close(struct ggs_trace * trace) {
    ggs_graph_free(trace->graph);
    free(trace->tensors);
    free(trace->op_names);
    free(trace->op_kinds);
    free(trace->types);
    free(trace->buffers);
    free(trace->files);
    free(trace->layers);
    ggs_reader_close(trace->reader);
    *trace = (struct ggs_trace){0};
}

struct ggs_trace ggs_trace_borrow(const struct ggs_trace * trace) {
    struct ggs_trace borrowed = *trace;
    borrowed.graph            = NULL;
    borrowed.watch            = NULL;
    return borrowed;
}

void ggs_trace_give_back(struct ggs_trace * borrowed) {
    ggs_graph_free(borrowed->graph);
    *borrowed = (struct ggs_trace){0};
}

int ggs_trace_graph(struct ggs_trace * trace, uint64_t graph, const struct ggs_graph ** out, struct ggs_error * error) {
    if (trace->graph == NULL || trace->graph->row.graph != graph) {
        ggs_graph_free(trace->graph);
        trace->graph = NULL;
        int status   = ggs_reader_graph(trace->reader, graph, &trace->graph, error);
        if (status < 0) return status;
    }
    *out = trace->graph;
    return 0;
}

const struct ggs_tensor * ggs_trace_tensor(const struct ggs_trace * trace, uint64_t tensor) {
    return tensor == 0 || tensor > trace->n_tensors ? NULL : &trace->tensors[tensor - 1];
}

const char * ggs_trace_op_name(const struct ggs_trace * trace, uint64_t op) {
    return op < trace->n_ops ? trace->op_names[op] : "";
}

enum ggs_op_kind ggs_trace_op_kind(const struct ggs_trace * trace, uint64_t op) {
    return op < trace->n_ops ? trace->op_kinds[op] : GGS_KIND_DENSE;
}

static int layer_of(const struct ggs_trace * trace, uint64_t tensor) {
    return tensor == 0 || tensor > trace->n_tensors ? -1 : trace->layers[tensor - 1];
}

static const char * name_of(const struct ggs_trace * trace, uint64_t tensor) {
    const struct ggs_tensor * row = ggs_trace_tensor(trace, tensor);
    return row == NULL ? "" : ggs_reader_string(trace->reader, row->name);
}

int ggs_trace_node_layer(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    int own = layer_of(trace, graph->nodes[node].tensor), last = -1;
    if (own >= 0) return own;
    // A node that the engine gave a name without a layer (the output's norm) has none, though its source may; one that it
    // left without a name goes with what it reads.
    const char * name    = name_of(trace, graph->nodes[node].tensor);
    bool         unnamed = name[0] == '\0' || strncmp(name, "node_", 5) == 0;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        int layer = layer_of(trace, graph->edges[e].tensor);
        if (layer < 0) continue;
        if (strncmp(name_of(trace, graph->edges[e].tensor), "blk.", 4) == 0) return layer;
        if (unnamed && layer > last) last = layer;
    }
    return last;
}

int ggs_trace_lost(struct ggs_trace * trace, uint64_t reason, uint64_t * count, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_loss     loss;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LOSSES, error);
    *count                     = 0;
    while (status >= 0 && (status = ggs_cursor_next(cursor, &loss, error)) > 0)
        if (loss.reason == reason) *count += loss.count;
    ggs_cursor_close(cursor);
    return status;
}

bool ggs_loss_is_of_machine(uint64_t reason) {
    return reason == GGS_LOSS_FAULTS || reason == GGS_LOSS_BLOCK_REQUESTS || reason == GGS_LOSS_PAGES;
}

uint64_t ggs_trace_row_bytes(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    if (tensor->type >= trace->n_types || tensor->ne[0] <= 0) return 0;
    const struct ggs_type * type = &trace->types[tensor->type];
    if (type->block_elements == 0) return 0;
    return (uint64_t) tensor->ne[0] / type->block_elements * type->block_bytes;
}

void ggs_trace_make(const struct ggs_trace * trace, const struct ggs_graph * graph, uint32_t * maker, uint64_t * made,
                    uint64_t node) {
    for (; *made < node && *made < graph->n_nodes; (*made)++) {
        uint64_t tensor = graph->nodes[*made].tensor;
        if (tensor <= trace->n_tensors) maker[tensor] = (uint32_t) (*made + 1);
    }
}
