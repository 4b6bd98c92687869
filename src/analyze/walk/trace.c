#include "analyze/walk/trace.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/walk/words.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/search.h"
#include "base/uuid.h"
#include "gguf/gguf-name.h"

enum { MOST_NUMBER = 4096 }; // of an op or a type: larger numbers mean a damaged file

// Reads a whole table with rows of `size` bytes. Rows of a damaged chunk are zero.
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
    uint64_t row[64]; // more than the columns of any of these tables
    status = ggs_cursor_open(&cursor, reader, table, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, row, error)) > 0) {
        uint64_t at = ggs_cursor_row(cursor);
        if (at >= rows) break;
        memcpy(data + at * size, row, size);
        if (at >= *n) *n = at + 1;
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
        {"NONE", GGS_KIND_EMPTY},           {"VIEW", GGS_KIND_EMPTY},
        {"RESHAPE", GGS_KIND_EMPTY},        {"PERMUTE", GGS_KIND_EMPTY},
        {"TRANSPOSE", GGS_KIND_EMPTY},      {"GET_ROWS", GGS_KIND_GET_ROWS},
        {"SET_ROWS", GGS_KIND_SET_ROWS},    {"MUL_MAT_ID", GGS_KIND_MUL_MAT_ID},
        {"ADD_ID", GGS_KIND_ADD_ID},        {"CPY", GGS_KIND_CPY},
        {"IM2COL", GGS_KIND_IM2COL},        {"IM2COL_3D", GGS_KIND_IM2COL},
        {"OPT_STEP_ADAMW", GGS_KIND_ADAMW},
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

// ---- untrusted numbers ----

static int wrong(const char * what, uint64_t row, const char * member, uint64_t value, struct ggs_error * error) {
    return ggs_fail(error, GGS_FORMAT, "the trace is damaged: %s %llu has the impossible %s %llu", what,
                    (unsigned long long) row, member, (unsigned long long) value);
}

// Rows lost with a damaged chunk keep their numbers and nothing else.
static void number_lost_rows(struct ggs_trace * trace) {
    for (uint64_t i = 0; i < trace->n_tensors; i++)
        if (trace->tensors[i].tensor == 0) trace->tensors[i].tensor = i + 1;
    for (uint64_t i = 0; i < trace->n_files; i++)
        if (trace->files[i].file == 0) trace->files[i].file = i + 1;
    for (uint64_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].device == 0) trace->devices[i].device = i + 1;
}

static int check_numbers(const struct ggs_trace * trace, struct ggs_error * error) {
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        if (t->tensor != i + 1) return wrong("tensor", i + 1, "number", t->tensor, error);
        if (t->view > trace->n_tensors) return wrong("tensor", i + 1, "view", t->view, error);
        if (t->file > trace->n_files) return wrong("tensor", i + 1, "file", t->file, error);
        if (t->origin_file > trace->n_files) return wrong("tensor", i + 1, "origin", t->origin_file, error);
    }
    for (uint64_t i = 0; i < trace->n_files; i++)
        if (trace->files[i].file != i + 1) return wrong("file", i + 1, "number", trace->files[i].file, error);
    for (uint64_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].device != i + 1) return wrong("device", i + 1, "number", trace->devices[i].device, error);
    return 0;
}

static int check_graph(const struct ggs_trace * trace, const struct ggs_graph * graph, struct ggs_error * error) {
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        uint64_t tensor = graph->nodes[i].tensor;
        if (tensor == 0 || tensor > trace->n_tensors) return wrong("node", i, "tensor", tensor, error);
    }
    for (uint64_t e = 0; e < graph->n_edges; e++) {
        uint64_t tensor = graph->edges[e].tensor;
        if (tensor == 0 || tensor > trace->n_tensors)
            return wrong("a source of node", graph->edges[e].node, "tensor", tensor, error);
    }
    return 0;
}

// These are read on demand where failures are impossible, so damage is detected here.
static int check_small_tables(struct ggs_trace * trace, struct ggs_error * error) {
    static const enum ggs_trace_table tables[] = {GGS_TABLE_STRINGS, GGS_TABLE_EXPERIMENT, GGS_TABLE_PROCESSES,
                                                  GGS_TABLE_TOKENS};
    int                               status   = 0;
    for (size_t i = 0; status == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
        const uint64_t * const * words;
        uint64_t                 rows;
        struct ggs_cursor *      cursor;
        status = ggs_cursor_open(&cursor, trace->reader, tables[i], error);
        while (status >= 0 && (status = ggs_cursor_next_chunk(cursor, &words, &rows, error)) > 0) {}
        ggs_cursor_close(cursor);
    }
    return status;
}

// The header's id has no checksum; the experiment's description has one and repeats the id.
static int check_identity(const struct ggs_trace * trace, struct ggs_error * error) {
    const char * text = ggs_reader_experiment(trace->reader);
    char         id[GGS_UUID_LENGTH], own[GGS_UUID_LENGTH];
    ggs_json_to_buffer(ggs_json_member(ggs_json_read(text, strlen(text)), "experiment_id"), id, sizeof(id));
    ggs_uuid_format(own, ggs_reader_uuid(trace->reader));
    if (id[0] == '\0' || strcasecmp(id, own) == 0) return 0;
    return ggs_fail(error, GGS_FORMAT,
                    "the trace is damaged: its header says that it is of experiment %s, its contents %s", own, id);
}

// ---- kind of program ----

static bool is_program(const char * path) {
    const char * slash = strrchr(path, '/');
    const char * name  = slash == NULL ? path : slash + 1;
    size_t       n     = strlen(name);
    return strstr(name, ".so.") != NULL || (n > 3 && strcmp(name + n - 3, ".so") == 0);
}

// GGUF files, and other files with tensors, except for the program and its libraries, whose
// variables lie in files too.
static int find_models(struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_process process = {0};
    trace->models              = calloc(trace->n_files + 1, sizeof(*trace->models));
    if (trace->models == NULL) return ggs_fail_memory(error);
    if (ggs_reader_row(trace->reader, GGS_TABLE_PROCESSES, 0, &process, NULL) < 0) process.executable = 0;
    const char * executable = ggs_reader_string(trace->reader, process.executable);
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        uint64_t file, offset;
        if (ggs_trace_origin(&trace->tensors[i], &file, &offset)) trace->models[file - 1] = true;
    }
    for (uint64_t i = 0; i < trace->n_files; i++) {
        const char * path = ggs_reader_string(trace->reader, trace->files[i].path);
        if (is_program(path) || strcmp(path, executable) == 0) trace->models[i] = false;
        if (trace->files[i].gguf != 0) trace->models[i] = true;
    }
    return 0;
}

static void find_steps(struct ggs_trace * trace) {
    struct ggs_step step;
    trace->tokenless = ggs_reader_rows(trace->reader, GGS_TABLE_STEPS) > 0 &&
                       ggs_reader_row(trace->reader, GGS_TABLE_STEPS, 0, &step, NULL) == 0 &&
                       step.phase == GGS_PHASE_GRAPH;
}

// ---- opening ----

static int read_tables(struct ggs_trace * trace, struct ggs_error * error) {
    int status = check_small_tables(trace, error);
    if (status == 0)
        status = read_table(trace->reader, GGS_TABLE_TENSORS, sizeof(*trace->tensors), (void **) &trace->tensors,
                            &trace->n_tensors, error);
    if (status == 0)
        status = read_table(trace->reader, GGS_TABLE_BUFFERS, sizeof(*trace->buffers), (void **) &trace->buffers,
                            &trace->n_buffers, error);
    if (status == 0)
        status = read_table(trace->reader, GGS_TABLE_FILES, sizeof(*trace->files), (void **) &trace->files,
                            &trace->n_files, error);
    if (status == 0)
        status = read_table(trace->reader, GGS_TABLE_DEVICES, sizeof(*trace->devices), (void **) &trace->devices,
                            &trace->n_devices, error);
    if (status == 0) status = read_ops(trace, error);
    if (status == 0) status = read_types(trace, error);
    if (status == 0 && trace->damaged > 0) number_lost_rows(trace);
    if (status == 0) status = check_numbers(trace, error);
    if (status == 0) status = find_layers(trace, error);
    if (status == 0) status = find_models(trace, error);
    if (status == 0) find_steps(trace);
    return status;
}

static int open_trace(struct ggs_trace * trace, const char * path, bool damaged, struct ggs_error * error) {
    *trace     = (struct ggs_trace){0};
    int status = damaged ? ggs_reader_open_damaged(&trace->reader, path, &trace->damaged, error)
                         : ggs_reader_open(&trace->reader, path, error);
    if (status == 0) status = read_tables(trace, error);
    if (status == 0 && !damaged) status = check_identity(trace, error);
    if (status < 0) ggs_trace_close(trace);
    return status;
}

int ggs_trace_open(struct ggs_trace * trace, const char * path, struct ggs_error * error) {
    return open_trace(trace, path, false, error);
}

int ggs_trace_open_damaged(struct ggs_trace * trace, const char * path, struct ggs_error * error) {
    return open_trace(trace, path, true, error);
}

const char * ggs_trace_missing(const struct ggs_trace * trace) {
    return ggs_reader_warning(trace->reader);
}

void ggs_trace_close(struct ggs_trace * trace) {
    ggs_graph_free(trace->graph);
    free(trace->tensors);
    free(trace->op_names);
    free(trace->op_kinds);
    free(trace->types);
    free(trace->buffers);
    free(trace->files);
    free(trace->devices);
    free(trace->layers);
    free(trace->models);
    ggs_reader_close(trace->reader);
    *trace = (struct ggs_trace){0};
}

struct ggs_trace ggs_trace_borrow(const struct ggs_trace * trace) {
    struct ggs_trace borrowed = *trace;
    borrowed.graph            = NULL;
    borrowed.watch            = NULL;
    return borrowed;
}

void ggs_trace_return(struct ggs_trace * borrowed) {
    ggs_graph_free(borrowed->graph);
    *borrowed = (struct ggs_trace){0};
}

int ggs_trace_progress(struct ggs_trace * trace, uint64_t op_runs, struct ggs_error * error) {
    if (trace->watch == NULL) return 0;
    atomic_fetch_add_explicit(&trace->watch->done, op_runs, memory_order_relaxed);
    if (!atomic_load_explicit(&trace->watch->stop, memory_order_relaxed)) return 0;
    return ggs_fail(error, GGS_USAGE, "the analysis was stopped before its end");
}

int ggs_trace_graph(struct ggs_trace * trace, uint64_t graph, const struct ggs_graph ** out, struct ggs_error * error) {
    if (trace->graph == NULL || trace->graph->row.graph != graph) {
        ggs_graph_free(trace->graph);
        trace->graph = NULL;
        int status   = ggs_reader_graph(trace->reader, graph, &trace->graph, error);
        if (status == 0) status = check_graph(trace, trace->graph, error);
        if (status < 0) {
            ggs_graph_free(trace->graph);
            trace->graph = NULL;
            return status;
        }
    }
    *out = trace->graph;
    return 0;
}

const struct ggs_tensor * ggs_trace_tensor(const struct ggs_trace * trace, uint64_t tensor) {
    return tensor == 0 || tensor > trace->n_tensors ? NULL : &trace->tensors[tensor - 1];
}

const struct ggs_buffer * ggs_trace_buffer(const struct ggs_trace * trace, uint64_t buffer) {
    uint64_t i = ggs_search(trace->n_buffers, at, trace->buffers[at].buffer < buffer);
    return i < trace->n_buffers && trace->buffers[i].buffer == buffer ? &trace->buffers[i] : NULL;
}

uint64_t ggs_trace_buffer_device(const struct ggs_trace * trace, uint64_t number) {
    const struct ggs_buffer * buffer = number == 0 ? NULL : ggs_trace_buffer(trace, number);
    return buffer == NULL || buffer->device > trace->n_devices ? 0 : buffer->device;
}

const char * ggs_trace_device_name(const struct ggs_trace * trace, uint64_t device) {
    return device == 0 || device > trace->n_devices ? ""
                                                    : ggs_reader_string(trace->reader, trace->devices[device - 1].name);
}

bool ggs_trace_is_device(const struct ggs_trace * trace, uint64_t device) {
    return device != 0 && device <= trace->n_devices && trace->devices[device - 1].type != GGS_DEVICE_CPU;
}

const char * ggs_trace_tensor_name(const struct ggs_trace * trace, uint64_t tensor) {
    const struct ggs_tensor * row = ggs_trace_tensor(trace, tensor);
    return row == NULL ? "" : ggs_reader_string(trace->reader, row->name);
}

const char * ggs_trace_op_name(const struct ggs_trace * trace, uint64_t op) {
    return op < trace->n_ops ? trace->op_names[op] : "";
}

enum ggs_op_kind ggs_trace_op_kind(const struct ggs_trace * trace, uint64_t op) {
    return op < trace->n_ops ? trace->op_kinds[op] : GGS_KIND_DENSE;
}

// ---- nodes ----

uint64_t ggs_trace_source(const struct ggs_graph * graph, uint64_t node, uint64_t slot) {
    if (node >= graph->n_nodes) return 0;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        if (graph->edges[e].slot == slot) return graph->edges[e].tensor;
    }
    return 0;
}

uint64_t ggs_trace_next_node(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    do node++;
    while (node < graph->n_nodes && ggs_trace_op_kind(trace, graph->nodes[node].op) == GGS_KIND_EMPTY);
    return node < graph->n_nodes ? node : graph->n_nodes;
}

bool ggs_trace_is_indexed(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node,
                          uint64_t absorbed) {
    static const bool indexed[GGS_KINDS] = {
        [GGS_KIND_GET_ROWS] = true, [GGS_KIND_SET_ROWS] = true, [GGS_KIND_MUL_MAT_ID] = true, [GGS_KIND_ADD_ID] = true};
    for (; node < graph->n_nodes; node = ggs_trace_next_node(trace, graph, node)) {
        if (indexed[ggs_trace_op_kind(trace, graph->nodes[node].op)]) return true;
        if (absorbed-- == 0) break;
    }
    return false;
}

static int layer_of(const struct ggs_trace * trace, uint64_t tensor) {
    return tensor == 0 || tensor > trace->n_tensors ? -1 : trace->layers[tensor - 1];
}

int ggs_trace_node_layer(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    int own = layer_of(trace, graph->nodes[node].tensor), last = -1;
    if (own >= 0) return own;
    // A node that the engine named without a layer (the output norm) has none, even if its source
    // has one; an unnamed node takes that of its sources.
    const char * name    = ggs_trace_tensor_name(trace, graph->nodes[node].tensor);
    bool         unnamed = name[0] == '\0' || strncmp(name, "node_", 5) == 0;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        int layer = layer_of(trace, graph->edges[e].tensor);
        if (layer < 0) continue;
        if (strncmp(ggs_trace_tensor_name(trace, graph->edges[e].tensor), "blk.", 4) == 0) return layer;
        if (unnamed && layer > last) last = layer;
    }
    return last;
}

void ggs_trace_make(const struct ggs_trace * trace, const struct ggs_graph * graph, uint32_t * maker, uint64_t * made,
                    uint64_t node) {
    for (; *made < node && *made < graph->n_nodes; (*made)++) {
        uint64_t tensor = graph->nodes[*made].tensor;
        if (tensor <= trace->n_tensors) maker[tensor] = (uint32_t) (*made + 1);
    }
}

// ---- tensors ----

bool ggs_trace_origin(const struct ggs_tensor * tensor, uint64_t * file, uint64_t * offset) {
    bool disk = tensor->source == GGS_SOURCE_DISK;
    *file     = disk ? tensor->file : tensor->origin_file;
    *offset   = disk ? tensor->file_offset : tensor->origin_offset;
    return *file != 0;
}

// By name: for an engine linked into its program the purpose of buffers is unknown. What is made
// for a weight has words before its name: gradients, an optimizer's moments.
static bool is_named_weight(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    enum { INPUT = 1, COMPUTE = 16 };
    const char * name = ggs_reader_string(trace->reader, tensor->name);
    const char * end  = strrchr(name, '.');
    return (tensor->flags & (INPUT | COMPUTE)) == 0 && end != NULL && strchr(name, ' ') == NULL &&
           (strcmp(end, ".weight") == 0 || strcmp(end, ".bias") == 0);
}

struct ggs_stray_weights ggs_trace_stray_weights(const struct ggs_trace * trace) {
    struct ggs_stray_weights stray     = {0};
    bool                     has_model = false;
    uint64_t                 file, offset;
    for (uint64_t i = 0; i < trace->n_files; i++) has_model |= trace->models[i];
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t      = &trace->tensors[i];
        const struct ggs_buffer * buffer = ggs_trace_buffer(trace, t->buffer);
        bool                      weight =
            (buffer != NULL && buffer->class_ == GGS_CLASS_WEIGHTS) || (has_model && is_named_weight(trace, t));
        if (t->view != 0 || !weight || ggs_trace_origin(t, &file, &offset)) continue;
        stray.n++;
        stray.bytes += ggs_trace_extent(trace, t);
    }
    return stray;
}

const struct ggs_tensor * ggs_trace_root(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    for (int depth = 0; tensor->view != 0 && depth < 16; depth++) { // a damaged trace may have a cycle
        const struct ggs_tensor * parent = ggs_trace_tensor(trace, tensor->view);
        if (parent == NULL) break;
        tensor = parent;
    }
    return tensor;
}

uint64_t ggs_trace_row_bytes(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    uint64_t bytes;
    if (tensor->type >= trace->n_types || tensor->ne[0] <= 0) return 0;
    const struct ggs_type * type = &trace->types[tensor->type];
    if (type->block_elements == 0) return 0;
    return ggs_mul((uint64_t) tensor->ne[0] / type->block_elements, type->block_bytes, &bytes) ? bytes : 0;
}

uint64_t ggs_trace_extent(const struct ggs_trace * trace, const struct ggs_tensor * t) {
    uint64_t                reach, extent;
    const struct ggs_type * type = t->type < trace->n_types ? &trace->types[t->type] : NULL;
    if (type == NULL || type->block_elements == 0 || t->ne[0] <= 0) return 0;
    uint64_t blocks = (uint64_t) t->ne[0] / type->block_elements;
    if (blocks == 0 || !ggs_mul(blocks - 1, t->nb[0], &reach) || !ggs_add(type->block_bytes, reach, &extent)) return 0;
    for (int i = 1; i < 4; i++) {
        if (t->ne[i] <= 0 || !ggs_mul((uint64_t) t->ne[i] - 1, t->nb[i], &reach) || !ggs_add(extent, reach, &extent))
            return 0;
    }
    return extent;
}

uint64_t ggs_trace_expert_bytes(const struct ggs_tensor * tensor, const char * name, uint64_t extent) {
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    if (!parsed.experts || parsed.expert_dimension > 3) return 0;
    uint64_t n = (uint64_t) tensor->ne[parsed.expert_dimension], bytes = tensor->nb[parsed.expert_dimension];
    return n < 2 || n > GGS_EXPERTS_MAX || bytes > extent / n ? 0 : bytes;
}

// ---- the recording ----

int ggs_trace_span(struct ggs_trace * trace, int64_t * begin_ns, int64_t * end_ns, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_process  row;
    bool                any    = false;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_PROCESSES, error);
    *begin_ns = *end_ns = 0;
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (!any || row.begin_ns < *begin_ns) *begin_ns = row.begin_ns;
        if (!any || row.end_ns > *end_ns) *end_ns = row.end_ns;
        any = true;
    }
    ggs_cursor_close(cursor);
    if (*end_ns < *begin_ns) *end_ns = *begin_ns;
    return status;
}

uint64_t ggs_trace_page_size(struct ggs_trace * trace) {
    struct ggs_process process;
    bool               known = ggs_reader_row(trace->reader, GGS_TABLE_PROCESSES, 0, &process, NULL) == 0;
    // A power of two that some machine has; other values are rejected.
    bool sane = known && process.page_size >= 4096 && process.page_size <= 2 << 20 &&
                (process.page_size & (process.page_size - 1)) == 0;
    return sane ? process.page_size : 4096;
}

int ggs_trace_check_steps(struct ggs_trace * trace, int64_t first_step, int64_t last_step, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     step;
    int64_t             most = -1;
    if (first_step <= 0 && last_step == INT64_MAX) return 0;
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &step, error)) > 0)
        if (step.step > most) most = step.step;
    ggs_cursor_close(cursor);
    if (status < 0) return status;
    if (first_step <= most && last_step >= 0) return 0; // some of it exists
    if (most < 0) return ggs_fail(error, GGS_ABSENT, "this recording has no tokens");
    const char * word = ggs_word_step(trace);
    return ggs_fail(error, GGS_ABSENT, "there is no %s %lld: this recording has %ss 0 to %lld", word,
                    (long long) (first_step > most ? first_step : last_step), word, (long long) most);
}

int ggs_trace_check_layer(struct ggs_trace * trace, int layer, struct ggs_error * error) {
    int most = -1;
    if (layer < 0) return 0;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        if (trace->layers[i] == layer) return 0;
        if (trace->layers[i] > most) most = trace->layers[i];
    }
    if (most < 0) return ggs_fail(error, GGS_ABSENT, "this recording has no layers");
    return ggs_fail(error, GGS_ABSENT, "there is no layer %d: this recording has layers 0 to %d", layer, most);
}

int ggs_trace_lost(struct ggs_trace * trace, uint64_t reason, uint64_t * count, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_loss     loss;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LOSSES, error);
    *count                     = 0;
    while (status >= 0 && (status = ggs_cursor_next(cursor, &loss, error)) > 0)
        if (reason == 0 ? !ggs_loss_is_of_machine(loss.reason) : loss.reason == reason) *count += loss.count;
    ggs_cursor_close(cursor);
    return status;
}

bool ggs_loss_is_of_machine(uint64_t reason) {
    return reason == GGS_LOSS_FAULTS || reason == GGS_LOSS_BLOCK_REQUESTS || reason == GGS_LOSS_PAGES ||
           reason == GGS_LOSS_SWITCHES;
}
