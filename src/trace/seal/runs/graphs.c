#include "trace/seal/runs/graphs.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { VIEW_DEPTH = 8 }; // ggml flattens views of views; more is damage

static void free_graph(struct ggs_seal_graph * graph) {
    if (graph == NULL) return;
    free(graph->tensors);
    free(graph->names);
    free(graph->text);
    free(graph->ids);
    free(graph->kinds);
    free(graph->moves);
    free(graph);
}

void ggs_graphs_release(struct ggs_graphs * graphs) {
    for (size_t i = 0; i < graphs->n; i++) free_graph(graphs->list[i]);
    for (size_t i = 0; i < graphs->n_ops; i++) free(graphs->ops[i]);
    free(graphs->list);
    free(graphs->ops);
    ggs_map_release(&graphs->numbers);
    ggs_map_release(&graphs->tensors);
}

struct ggs_seal_graph * ggs_graphs_get(const struct ggs_graphs * graphs, uint64_t id) {
    uint64_t index = ggs_map_get(&graphs->numbers, ggs_map_key_number(id));
    return index == 0 ? NULL : graphs->list[index - 1];
}

// Takes ownership of the graph; returns false, and frees it, if its number is used or memory is
// short.
static bool keep(struct ggs_graphs * graphs, struct ggs_seal_graph * graph) {
    uint64_t * index = ggs_map_put(&graphs->numbers, ggs_map_key_number(graph->id));
    if (index == NULL || !ggs_array_reserve(graphs->list, graphs->capacity, graphs->n + 1)) {
        ggs_writer_fail_memory(graphs->writer);
    } else if (*index == 0) {
        graphs->list[graphs->n++] = graph;
        *index                    = graphs->n;
        return true;
    } else {
        graphs->damaged++;
    }
    free_graph(graph);
    return false;
}

// ---- names of ops and types ----

// Returns the next line of [*p, end) without its newline; false at the end.
static bool next_line(const char ** p, const char * end, const char ** line, size_t * length) {
    if (*p >= end) return false;
    const char * stop = memchr(*p, '\n', (size_t) (end - *p));
    *line             = *p;
    *length           = (size_t) ((stop == NULL ? end : stop) - *p);
    *p                = *line + *length + 1;
    return true;
}

void ggs_graphs_ops(struct ggs_graphs * graphs, const char * text, size_t length) {
    const char * p = text;
    const char * line;
    size_t       n;
    char **      more = realloc(graphs->ops, (graphs->n_ops + length + 1) * sizeof(*graphs->ops));
    if (more == NULL) {
        ggs_writer_fail_memory(graphs->writer);
        return;
    }
    graphs->ops = more;
    for (size_t i = 0; next_line(&p, text + length, &line, &n); i++) {
        if (i < graphs->n_ops) continue;
        struct ggs_op row = {graphs->n_ops, ggs_writer_string(graphs->writer, line, n)};
        ggs_writer_append(graphs->writer, GGS_TABLE_OPS, &row);
        graphs->ops[graphs->n_ops++] = strndup(line, n);
    }
}

static uint64_t decimal(const char ** p, const char * end) {
    uint64_t value = 0;
    while (*p < end && **p == ' ') ++*p;
    while (*p < end && **p >= '0' && **p <= '9') value = 10 * value + (uint64_t) (*(*p)++ - '0');
    return value;
}

void ggs_graphs_types(struct ggs_graphs * graphs, const char * text, size_t length) {
    const char *    p = text;
    const char *    line;
    size_t          n;
    struct ggs_type row = {0};
    for (; next_line(&p, text + length, &line, &n); row.type++) {
        const char * blank = memchr(line, ' ', n);
        if (blank == NULL || row.type < graphs->n_types) continue;
        row.name           = ggs_writer_string(graphs->writer, line, (uint64_t) (blank - line));
        row.block_elements = decimal(&blank, line + n);
        row.block_bytes    = decimal(&blank, line + n);
        ggs_writer_append(graphs->writer, GGS_TABLE_TYPES, &row);
    }
    if (row.type > graphs->n_types) graphs->n_types = row.type;
}

static const char * op_name(const struct ggs_graphs * graphs, int32_t op) {
    return op >= 0 && (size_t) op < graphs->n_ops && graphs->ops[op] != NULL ? graphs->ops[op] : "";
}

static bool is_empty(const struct ggs_graphs * graphs, const struct ggs_journal_tensor * tensor) {
    static const char * const names[] = {"NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(op_name(graphs, tensor->op), names[i]) == 0) return true;
    return tensor->ne[0] == 0 || tensor->ne[1] == 0 || tensor->ne[2] == 0 || tensor->ne[3] == 0;
}

// ---- tensors ----

// Tensors of one graph that are being turned into rows: ids[i] is 0 until tensor i has one.
struct resolver {
    struct ggs_graphs *               graphs;
    const struct ggs_journal_tensor * tensors;
    const char * const *              names;
    uint64_t *                        ids;
};

static uint64_t address_of(const struct resolver * resolver, int32_t i) {
    uint64_t address = resolver->tensors[i].address, offset = 0;
    for (int depth = 0; address == 0 && depth < VIEW_DEPTH; depth++) {
        offset += resolver->tensors[i].view_offset;
        i = resolver->tensors[i].view;
        if (i < 0) return 0;
        address = resolver->tensors[i].address;
        if (address != 0) return address + offset;
    }
    return address;
}

static uint64_t intern(struct ggs_graphs * graphs, struct ggs_tensor * row) {
    uint64_t * number = ggs_map_put(&graphs->tensors, ggs_map_key_of(row, sizeof(*row)));
    if (number == NULL) {
        ggs_writer_fail_memory(graphs->writer);
        return 0;
    }
    if (*number == 0) {
        *number = row->tensor = ++graphs->n_tensors;
        ggs_writer_append(graphs->writer, GGS_TABLE_TENSORS, row);
    }
    return *number;
}

static uint64_t resolve(struct resolver * resolver, int32_t i, int depth) {
    if (i < 0 || depth > VIEW_DEPTH) return 0;
    if (resolver->ids[i] != 0) return resolver->ids[i];
    struct ggs_writer *               writer  = resolver->graphs->writer;
    const struct ggs_journal_tensor * tensor  = &resolver->tensors[i];
    const char *                      name    = resolver->names[i];
    uint64_t                          address = address_of(resolver, i);
    struct ggs_place                  place   = ggs_places_find(resolver->graphs->places, tensor, address, name);
    struct ggs_tensor                 row     = {
                            .name          = ggs_writer_string(writer, name, strlen(name)),
                            .type          = (uint32_t) tensor->type,
                            .flags         = (uint32_t) tensor->flags,
                            .address       = address,
                            .source        = place.source,
                            .file          = place.file,
                            .file_offset   = place.file_offset,
                            .buffer        = place.buffer,
                            .buffer_offset = place.buffer_offset,
                            .origin_file   = place.origin_file,
                            .origin_offset = place.origin_offset,
                            .view          = resolve(resolver, tensor->view, depth + 1),
                            .view_offset   = tensor->view_offset,
                            .packed_bytes  = tensor->packed_bytes,
    };
    memcpy(row.ne, tensor->ne, sizeof(row.ne));
    memcpy(row.nb, tensor->nb, sizeof(row.nb));
    return resolver->ids[i] = intern(resolver->graphs, &row);
}

// ---- graphs ----

static void write_node(struct ggs_graphs * graphs, uint64_t graph, uint32_t i, const struct ggs_journal_tensor * tensor,
                       uint64_t id) {
    struct ggs_node row = {graph,
                           i,
                           id,
                           (uint32_t) tensor->op,
                           (uint32_t) tensor->flags,
                           ggs_writer_string(graphs->writer, tensor->parameters, sizeof(tensor->parameters))};
    ggs_writer_append(graphs->writer, GGS_TABLE_NODES, &row);
}

static void write_edge(struct ggs_graphs * graphs, uint64_t graph, uint32_t node, uint32_t slot, uint64_t id) {
    struct ggs_edge row = {graph, node, slot, id};
    ggs_writer_append(graphs->writer, GGS_TABLE_EDGES, &row);
}

// A scheduler's copy of "x" for a backend is named "BACKEND#x#0".
static bool is_named(const char * name, const char * wanted) {
    const char * found = strstr(name, wanted);
    if (found == NULL || (found != name && found[-1] != '#')) return false;
    char after = found[strlen(wanted)];
    return after == '\0' || after == '#' || after == ' ';
}

// True if this tensor comes from outside: a leaf of 32-bit integers that is marked as an input.
static bool is_index_input(const struct ggs_seal_graph * graph, int32_t tensor) {
    enum { I32 = 26, INPUT = 1 }; // ggml's numbers, fixed by GGUF
    return tensor >= (int64_t) graph->n_nodes && graph->tensors[tensor].type == I32 &&
           (graph->tensors[tensor].flags & INPUT) != 0;
}

// Some builds of the engine leave inputs without a name. Positions are inputs of ropes, or of the
// lookup in a table of positions; outputs select rows of a computed tensor.
static void find_unnamed_inputs(const struct ggs_graphs * graphs, struct ggs_seal_graph * graph) {
    int32_t tokens = graph->tokens.node < 0 ? -1 : graph->tensors[graph->tokens.node].source[1];
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct ggs_journal_tensor * node = &graph->tensors[i];
        int32_t                           from = node->source[1], table = node->source[0];
        if (!is_index_input(graph, from) || from == tokens || table < 0) continue;
        const char * op   = op_name(graphs, node->op);
        bool         rows = strcmp(op, "GET_ROWS") == 0;
        if (graph->positions.node < 0 &&
            (strcmp(op, "ROPE") == 0 || (rows && is_named(graph->names[table], "position_embd.weight"))))
            graph->positions = (struct ggs_graph_input){i, 1};
        else if (graph->outputs.node < 0 && rows && table < (int64_t) graph->n_nodes)
            graph->outputs = (struct ggs_graph_input){i, 1};
    }
}

static void find_inputs(const struct ggs_graphs * graphs, struct ggs_seal_graph * graph) {
    graph->tokens.node = graph->positions.node = graph->outputs.node = -1;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct ggs_journal_tensor * node = &graph->tensors[i];
        int32_t                           from = node->source[1], table = node->source[0];
        if (from < 0) continue;
        const char * name      = graph->names[from];
        bool         rows      = strcmp(op_name(graphs, node->op), "GET_ROWS") == 0;
        bool         embedding = table >= 0 && is_named(graph->names[table], "token_embd.weight");
        if (rows && graph->tokens.node < 0 && (is_named(name, "inp_tokens") || embedding))
            graph->tokens = (struct ggs_graph_input){i, 1};
        if (graph->positions.node < 0 && is_named(name, "inp_pos")) graph->positions = (struct ggs_graph_input){i, 1};
        if (rows && graph->outputs.node < 0 && (is_named(name, "out_ids") || is_named(name, "inp_out_ids")))
            graph->outputs = (struct ggs_graph_input){i, 1};
    }
    find_unnamed_inputs(graphs, graph);
}

// Copies the record's arrays and checks every number in them.
static bool copy_graph(struct ggs_seal_graph * graph, const struct ggs_journal_graph * header, const uint8_t * body,
                       size_t length) {
    uint64_t tensors_size = (uint64_t) header->tensors * sizeof(struct ggs_journal_tensor);
    uint64_t needed;
    if (header->nodes > header->tensors || header->tensors > INT32_MAX ||
        !ggs_add(sizeof(*header) + tensors_size, header->text_bytes, &needed) || needed > length)
        return false;
    graph->n_nodes   = header->nodes;
    graph->n_tensors = header->tensors;
    graph->tensors   = malloc(tensors_size + 1);
    graph->text      = calloc(1, header->text_bytes + 1);
    graph->names     = calloc(header->tensors + 1ull, sizeof(*graph->names));
    graph->ids       = calloc(header->tensors + 1ull, sizeof(*graph->ids));
    graph->kinds     = calloc(header->nodes + 1ull, sizeof(*graph->kinds));
    if (graph->tensors == NULL || graph->text == NULL || graph->names == NULL || graph->ids == NULL ||
        graph->kinds == NULL)
        return false;
    memcpy(graph->tensors, body + sizeof(*header), tensors_size);
    memcpy(graph->text, body + sizeof(*header) + tensors_size, header->text_bytes);
    const char * name = graph->text;
    for (uint32_t i = 0; i < header->tensors; i++) {
        struct ggs_journal_tensor * tensor = &graph->tensors[i];
        graph->names[i]                    = name;
        if (name < graph->text + header->text_bytes) name += strlen(name) + 1;
        if (name > graph->text + header->text_bytes) name = graph->text + header->text_bytes;
        if (tensor->view < -1 || tensor->view >= (int64_t) header->tensors || tensor->view == (int64_t) i) return false;
        for (unsigned s = 0; s < GGS_GRAPH_SOURCES; s++)
            if (tensor->source[s] < -1 || tensor->source[s] >= (int64_t) header->tensors) return false;
    }
    return true;
}

static void write_root(struct ggs_graphs * graphs, struct ggs_seal_graph * graph, uint64_t hash, int64_t ns) {
    struct ggs_graph_row row = {
        .graph = graph->id, .hash = hash, .nodes = graph->n_nodes, .tensors = graph->n_tensors, .begin_ns = ns};
    struct resolver resolver = {graphs, graph->tensors, graph->names, graph->ids};
    ggs_writer_append(graphs->writer, GGS_TABLE_GRAPHS, &row);
    for (uint32_t i = 0; i < graph->n_tensors; i++) resolve(&resolver, (int32_t) i, 0);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct ggs_journal_tensor * node = &graph->tensors[i];
        write_node(graphs, graph->id, i, node, graph->ids[i]);
        for (uint32_t s = 0; s < GGS_GRAPH_SOURCES; s++)
            if (node->source[s] >= 0) write_edge(graphs, graph->id, i, s, graph->ids[node->source[s]]);
        bool computes = (node->flags & 16) != 0; // GGML_TENSOR_FLAG_COMPUTE of newer releases
        graph->kinds[i] =
            (uint8_t) ((is_empty(graphs, node) ? GGS_NODE_IS_EMPTY : 0) | (computes ? GGS_NODE_IS_COMPUTE : 0));
        graph->computes |= computes;
    }
    graphs->computes |= graph->computes;
}

void ggs_graphs_define(struct ggs_graphs * graphs, const void * body, size_t length, int64_t ns) {
    struct ggs_journal_graph header = {0};
    struct ggs_seal_graph *  graph  = calloc(1, sizeof(*graph));
    if (graph == NULL) {
        ggs_writer_fail_memory(graphs->writer);
        return;
    }
    if (length >= sizeof(header)) memcpy(&header, body, sizeof(header));
    if (length < sizeof(header) || !copy_graph(graph, &header, body, length)) {
        graphs->damaged++;
        free_graph(graph);
        return;
    }
    graph->id   = header.id;
    graph->root = graph;
    if (!keep(graphs, graph)) return;
    find_inputs(graphs, graph);
    write_root(graphs, graph, header.hash, ns);
}

// ---- graphs at other addresses ----

// Differences from the root: those of the base, replaced by the new moves.
static bool compose(struct ggs_seal_graph * graph, const struct ggs_seal_graph * base, const uint8_t * moves,
                    uint64_t n) {
    struct ggs_map places = {0};
    bool           good   = true;
    graph->moves          = calloc(base->n_moves + n + 1, sizeof(*graph->moves));
    if (graph->moves == NULL) return false;
    for (uint64_t i = 0; good && i < base->n_moves + n; i++) {
        struct ggs_journal_move move;
        if (i < base->n_moves)
            move = base->moves[i];
        else
            memcpy(&move, moves + (i - base->n_moves) * sizeof(move), sizeof(move));
        uint64_t * place = ggs_map_put(&places, (struct ggs_map_key){move.tensor, move.what});
        good             = place != NULL && move.tensor < graph->root->n_tensors && move.what < 3 + GGS_GRAPH_PARAMS;
        if (!good) break;
        if (*place == 0) *place = ++graph->n_moves;
        graph->moves[*place - 1] = move;
    }
    ggs_map_release(&places);
    return good;
}

static void apply(struct ggs_journal_tensor * tensor, const struct ggs_journal_move * move) {
    if (move->what == 0)
        tensor->address = move->value;
    else if (move->what == 1)
        tensor->view_offset = move->value;
    else if (move->what == 2)
        tensor->buffer = move->value;
    else
        tensor->parameters[move->what - 3] = (int32_t) move->value;
}

// Writes the nodes and edges that differ from the root's, with the current `tensors` and `ids`.
static void write_differences(struct ggs_graphs * graphs, const struct ggs_seal_graph * graph,
                              const struct ggs_journal_tensor * tensors, const uint64_t * ids) {
    const struct ggs_seal_graph * root = graph->root;
    for (uint32_t i = 0; i < root->n_nodes; i++) {
        if (ids[i] != root->ids[i] ||
            memcmp(tensors[i].parameters, root->tensors[i].parameters, sizeof(tensors[i].parameters)) != 0)
            write_node(graphs, graph->id, i, &tensors[i], ids[i]);
        for (uint32_t s = 0; s < GGS_GRAPH_SOURCES; s++) {
            int32_t source = tensors[i].source[s];
            if (source >= 0 && ids[source] != root->ids[source]) write_edge(graphs, graph->id, i, s, ids[source]);
        }
    }
}

static bool write_delta(struct ggs_graphs * graphs, struct ggs_seal_graph * graph, int64_t ns) {
    const struct ggs_seal_graph * root    = graph->root;
    struct ggs_journal_tensor *   tensors = malloc(root->n_tensors * sizeof(*tensors) + 1);
    uint64_t *                    ids     = malloc(root->n_tensors * sizeof(*ids) + 1);
    bool                          good    = tensors != NULL && ids != NULL;
    if (good) {
        memcpy(tensors, root->tensors, root->n_tensors * sizeof(*tensors));
        memcpy(ids, root->ids, root->n_tensors * sizeof(*ids));
        for (uint64_t i = 0; i < graph->n_moves; i++) {
            apply(&tensors[graph->moves[i].tensor], &graph->moves[i]);
            ids[graph->moves[i].tensor] = 0;
        }
        for (uint32_t i = 0; i < root->n_tensors; i++)
            if (tensors[i].view >= 0 && ids[tensors[i].view] == 0) ids[i] = 0;
        struct ggs_graph_row row = {
            .graph = graph->id, .base = root->id, .nodes = root->n_nodes, .tensors = root->n_tensors, .begin_ns = ns};
        struct resolver resolver = {graphs, tensors, root->names, ids};
        ggs_writer_append(graphs->writer, GGS_TABLE_GRAPHS, &row);
        for (uint32_t i = 0; i < root->n_tensors; i++) resolve(&resolver, (int32_t) i, 0);
        write_differences(graphs, graph, tensors, ids);
    }
    free(tensors);
    free(ids);
    return good;
}

void ggs_graphs_define_delta(struct ggs_graphs * graphs, const void * body, size_t length, int64_t ns) {
    struct ggs_journal_delta header = {0};
    if (length >= sizeof(header)) memcpy(&header, body, sizeof(header));
    const struct ggs_seal_graph * base = length < sizeof(header) ? NULL : ggs_graphs_get(graphs, header.base);
    if (base == NULL || header.count > (length - sizeof(header)) / sizeof(struct ggs_journal_move)) {
        graphs->damaged++;
        return;
    }
    struct ggs_seal_graph * graph = calloc(1, sizeof(*graph));
    if (graph == NULL) {
        ggs_writer_fail_memory(graphs->writer);
        return;
    }
    *graph = (struct ggs_seal_graph){
        .id = header.id, .root = base->root, .n_nodes = base->n_nodes, .n_tensors = base->n_tensors};
    if (!compose(graph, base, (const uint8_t *) body + sizeof(header), header.count)) {
        graphs->damaged++;
        free_graph(graph);
        return;
    }
    if (keep(graphs, graph) && !write_delta(graphs, graph, ns)) ggs_writer_fail_memory(graphs->writer);
}
