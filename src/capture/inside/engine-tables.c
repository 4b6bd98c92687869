#include "capture/inside/engine-tables.h"

#include <string.h>

// ---- ops: an array of names ----

enum { MOST_OPS = 256, MOST_TYPES = 128, MOST_NAME = 40 };

static const char * op_names[MOST_OPS];
static int          n_ops;

// Returns a name in the object, of letters, digits and underscores; NULL if there is none.
static const char * name_at(const struct ggs_view * view, uint64_t address) {
    for (unsigned i = 0; i < MOST_NAME; i++) {
        const uint8_t * c = ggs_view_at(view, address + i, 1);
        if (c == NULL || (*c == '\0' && i == 0)) return NULL;
        if (*c == '\0') return (const char *) ggs_view_at(view, address, i + 1);
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && *c != '_' && (*c < '0' || *c > '9')) return NULL;
    }
    return NULL;
}

static bool has_op(const char * name) {
    for (int i = 0; i < n_ops; i++)
        if (strcmp(op_names[i], name) == 0) return true;
    return false;
}

// Checks the first three names and those that graphs are read by. Data after the array may look
// like names; no graph has such numbers.
static bool read_ops(const struct ggs_view * view, const uint64_t * words, size_t n) {
    static const char * const needed[] = {"VIEW", "RESHAPE", "PERMUTE",  "TRANSPOSE", "GET_ROWS", "MUL_MAT", "MUL",
                                          "ADD",  "ROPE",    "RMS_NORM", "SCALE",     "SOFT_MAX", "CPY",     "CONT"};
    if (n < 3 || !ggs_view_has_text(view, words[0], "NONE") || !ggs_view_has_text(view, words[1], "DUP") ||
        !ggs_view_has_text(view, words[2], "ADD"))
        return false;
    for (n_ops = 0; n_ops < MOST_OPS && (size_t) n_ops < n; n_ops++)
        if ((op_names[n_ops] = name_at(view, words[n_ops])) == NULL) break;
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!has_op(needed[i])) return false;
    return true;
}

// ---- types: an array of structures ----

struct traits {
    uint64_t name;
    int64_t  block, interleaved;
    uint64_t size;
    uint64_t quantized, to_float, from_float;
};

static struct {
    const char * name;
    int64_t      block;
    size_t       size;
} types[MOST_TYPES];
static int n_types;

static bool is_type(const struct ggs_view * view, const struct traits * t, const char * name, int64_t block,
                    uint64_t size) {
    return t->block == block && t->size == size && ggs_view_has_text(view, t->name, name);
}

// The GGUF format defines their numbers, block sizes and bytes.
static bool read_types(const struct ggs_view * view, const uint64_t * words, size_t n) {
    enum { F32, F16, Q4_0, Q8_0 = 8, I32 = 26, LAST = I32 };
    const struct traits * t = (const struct traits *) words;
    size_t                m = n / (sizeof(*t) / sizeof(*words));
    if (m <= LAST || !is_type(view, &t[F32], "f32", 1, 4) || !is_type(view, &t[F16], "f16", 1, 2) ||
        !is_type(view, &t[Q4_0], "q4_0", 32, 18) || !is_type(view, &t[Q8_0], "q8_0", 32, 34) ||
        !is_type(view, &t[I32], "i32", 1, 4))
        return false;
    for (n_types = 0; n_types < MOST_TYPES && (size_t) n_types < m; n_types++) {
        const struct traits * one  = &t[n_types];
        const char *          name = one->name == 0 ? NULL : name_at(view, one->name);
        bool good = name != NULL && one->block > 0 && one->size > 0 && one->block <= 1 << 16 && one->size <= 1 << 16 &&
                    one->quantized <= UINT8_MAX;
        if (!good && n_types > LAST && one->name != 0) break; // removed types have no name
        types[n_types].name  = good ? name : NULL;
        types[n_types].block = good ? one->block : 0;
        types[n_types].size  = good ? one->size : 0;
    }
    return true;
}

// ---- search ----

static bool find(const struct ggs_view * view, bool (*read)(const struct ggs_view *, const uint64_t *, size_t)) {
    for (unsigned i = 0; i < view->n; i++) {
        const struct ggs_view_segment * segment = &view->segments[i];
        uintptr_t                       first   = ((uintptr_t) segment->bytes + 7) & ~(uintptr_t) 7;
        size_t                          skipped = first - (uintptr_t) segment->bytes;
        const uint64_t *                words   = (const uint64_t *) first;
        size_t                          n = segment->size < skipped ? 0 : (segment->size - skipped) / sizeof(*words);
        for (size_t at = 0; !segment->executable && at < n; at++)
            if (ggs_view_at(view, words[at], 1) != NULL && read(view, words + at, n - at)) return true;
    }
    return false;
}

bool ggs_engine_tables_find(const struct ggs_view * view) {
    bool found = find(view, read_ops) && find(view, read_types);
    if (!found) n_ops = n_types = 0;
    return found;
}

// ---- answers ----

bool ggs_engine_tables_has_op(int op) {
    return op >= 0 && op < n_ops;
}

bool ggs_engine_tables_has_type(int type) {
    return type >= 0 && type < n_types && types[type].name != NULL;
}

static const char * op_name(int op) {
    return ggs_engine_tables_has_op(op) ? op_names[op] : NULL;
}
static const char * type_name(int type) {
    return ggs_engine_tables_has_type(type) ? types[type].name : NULL;
}
static size_t type_size(int type) {
    return ggs_engine_tables_has_type(type) ? types[type].size : 0;
}
static int64_t block_size(int type) {
    return ggs_engine_tables_has_type(type) ? types[type].block : 0;
}
static int graph_n_nodes(void * graph) {
    return ((const struct abi_graph *) graph)->n_nodes;
}
static struct abi_tensor * graph_node(void * graph, int i) {
    return ((const struct abi_graph *) graph)->nodes[i];
}
static const char * cpu(void * unused) {
    (void) unused;
    return "CPU";
}
static void * no_pointer(void * unused) {
    (void) unused;
    return NULL;
}
static size_t no_size(void * unused) {
    (void) unused;
    return 0;
}
static _Bool not_known(void * unused) {
    (void) unused;
    return 0;
}

const struct abi_functions ggs_engine_tables = {
    .op_name          = op_name,
    .type_name        = type_name,
    .type_size        = type_size,
    .block_size       = block_size,
    .graph_n_nodes    = graph_n_nodes,
    .graph_node       = graph_node,
    .backend_name     = cpu,
    .buffer_base      = no_pointer,
    .buffer_size      = no_size,
    .buffer_type      = no_pointer,
    .buffer_is_host   = not_known,
    .buffer_type_name = cpu,
};
