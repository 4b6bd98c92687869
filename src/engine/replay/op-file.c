#include "engine/replay/op-file.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define KEY(name, ...) \
    char name[64];     \
    snprintf(name, sizeof(name), __VA_ARGS__)

static const char * text_of(const struct ggs_op_file * file, const char * key) {
    int64_t id = gguf_find_key(file->gguf, key);
    return id < 0 || gguf_get_kv_type(file->gguf, id) != GGUF_TYPE_STRING ? NULL : gguf_get_val_str(file->gguf, id);
}

static int64_t number_of(const struct ggs_op_file * file, const char * key) {
    int64_t id    = gguf_find_key(file->gguf, key);
    bool    there = id >= 0 && gguf_get_kv_type(file->gguf, id) == GGUF_TYPE_UINT32;
    return there ? (int64_t) gguf_get_val_u32(file->gguf, id) : -1;
}

static const void * array_of(const struct ggs_op_file * file, const char * key, enum gguf_type type, size_t n) {
    int64_t id = gguf_find_key(file->gguf, key);
    if (id < 0 || gguf_get_kv_type(file->gguf, id) != GGUF_TYPE_ARRAY || gguf_get_arr_type(file->gguf, id) != type ||
        gguf_get_arr_n(file->gguf, id) != n)
        return NULL;
    return gguf_get_arr_data(file->gguf, id);
}

int ggs_op_file_open(struct ggs_op_file * file, const char * path, struct ggs_error * error) {
    *file                          = (struct ggs_op_file){.path = path};
    struct gguf_init_params params = {.no_alloc = false, .ctx = &file->data};
    file->gguf                     = gguf_init_from_file(path, params);
    if (file->gguf == NULL) return ggs_fail(error, GGS_FORMAT, "%s is not a GGUF file that can be read", path);
    int64_t nodes = number_of(file, "op.nodes");
    file->key     = text_of(file, "op.key");
    if (file->key == NULL || nodes < 1 || nodes > GGS_OP_NODES)
        return ggs_fail(error, GGS_FORMAT, "%s holds no op: ggscope extract writes such files", path);
    file->n_nodes = (unsigned) nodes;
    return 0;
}

void ggs_op_file_close(struct ggs_op_file * file) {
    if (file->gguf != NULL) gguf_free(file->gguf);
    if (file->data != NULL) ggml_free(file->data);
}

static int damaged(const struct ggs_op_file * file, const char * key, struct ggs_error * error) {
    return ggs_fail(error, GGS_FORMAT, "%s is damaged: %s is missing or impossible", file->path, key);
}

static bool is_type(int64_t type) {
    return type >= 0 && type < GGML_TYPE_COUNT && ggml_type_name((enum ggml_type) type) != NULL &&
           ggml_blck_size((enum ggml_type) type) > 0;
}

static bool is_shape(const int64_t * ne, enum ggml_type type) {
    int64_t elements = 1;
    for (int d = 0; ne != NULL && d < 4; d++)
        if (ne[d] < 1 || ne[d] > (1ll << 40) || __builtin_mul_overflow(elements, ne[d], &elements)) return false;
    return ne != NULL && elements < (1ll << 40) && ne[0] % ggml_blck_size(type) == 0;
}

// True if the last byte reached by the strides is inside, counted like ggml does.
static bool is_inside(const int64_t * ne, const int64_t * nb, enum ggml_type type, size_t bytes) {
    if (nb == NULL || nb[0] != (int64_t) ggml_type_size(type)) return false;
    int64_t end = nb[0] * (ne[0] / ggml_blck_size(type)), more;
    for (int d = 1; d < 4; d++)
        if (nb[d] < 0 || __builtin_mul_overflow(ne[d] - 1, nb[d], &more) || __builtin_add_overflow(end, more, &end))
            return false;
    return end <= (int64_t) bytes;
}

// Makes a source with its original memory layout: a strided view of its bytes.
static struct ggml_tensor * make_source(const struct ggs_op_file * file, struct ggml_context * context,
                                        struct ggs_op_graph * graph, const char * key) {
    KEY(type_key, "%.40s.type", key);
    KEY(ne_key, "%.40s.ne", key);
    KEY(nb_key, "%.40s.nb", key);
    int64_t              type  = number_of(file, type_key);
    const int64_t *      ne    = array_of(file, ne_key, GGUF_TYPE_INT64, 4);
    const int64_t *      nb    = array_of(file, nb_key, GGUF_TYPE_INT64, 4);
    struct ggml_tensor * bytes = ggml_get_tensor(file->data, key);
    if (bytes == NULL || bytes->type != GGML_TYPE_I8 || !is_type(type) || !is_shape(ne, (enum ggml_type) type) ||
        !is_inside(ne, nb, (enum ggml_type) type, ggml_nbytes(bytes)))
        return NULL;
    enum ggml_type       kind    = (enum ggml_type) type;
    struct ggml_tensor * plain   = ggml_new_tensor(context, kind, 4, ne);
    graph->bytes[graph->n_blobs] = bytes;
    if (ggml_nbytes(plain) == ggml_nbytes(bytes) && memcmp(plain->nb, nb, sizeof(plain->nb)) == 0)
        return graph->blobs[graph->n_blobs++] = plain;
    int64_t              blocks    = (int64_t) ((ggml_nbytes(bytes) + ggml_type_size(kind) - 1) / ggml_type_size(kind));
    struct ggml_tensor * all       = ggml_new_tensor_1d(context, kind, blocks * ggml_blck_size(kind));
    graph->blobs[graph->n_blobs++] = all;
    return ggml_view_4d(context, all, ne[0], ne[1], ne[2], ne[3], (size_t) nb[1], (size_t) nb[2], (size_t) nb[3], 0);
}

static int find_op(const char * name) {
    for (int i = 0; name != NULL && i < GGML_OP_COUNT; i++)
        if (strcmp(ggml_op_name((enum ggml_op) i), name) == 0) return i;
    return -1;
}

// Makes the output of node `i`: a tensor, or the source that it writes into. NULL if that source
// has another shape.
static struct ggml_tensor * make_output(const struct ggs_op_file * file, struct ggml_context * context, unsigned i,
                                        struct ggml_tensor ** sources, enum ggml_type type, const int64_t * ne) {
    KEY(into_key, "op.%u.into", i);
    int64_t into = number_of(file, into_key);
    if (into < 0) return ggml_new_tensor(context, type, 4, ne);
    struct ggml_tensor * source = into < GGML_MAX_SRC ? sources[into] : NULL;
    if (source == NULL || source->type != type || memcmp(source->ne, ne, sizeof(source->ne)) != 0) return NULL;
    return ggml_view_tensor(context, source);
}

static int build_node(const struct ggs_op_file * file, struct ggml_context * context, struct ggs_op_graph * graph,
                      unsigned i, struct ggs_error * error) {
    KEY(op_key, "op.%u.op", i);
    KEY(type_key, "op.%u.type", i);
    KEY(ne_key, "op.%u.ne", i);
    KEY(params_key, "op.%u.params", i);
    int             op     = find_op(text_of(file, op_key));
    int64_t         type   = number_of(file, type_key);
    const int64_t * ne     = array_of(file, ne_key, GGUF_TYPE_INT64, 4);
    const void *    params = array_of(file, params_key, GGUF_TYPE_INT32, 16);
    if (op < 0)
        return ggs_fail(error, GGS_UNSUPPORTED, "this engine has no op %s",
                        text_of(file, op_key) == NULL ? "of that name" : text_of(file, op_key));
    if (!is_type(type) || !is_shape(ne, (enum ggml_type) type) || params == NULL) return damaged(file, ne_key, error);
    struct ggml_tensor * sources[GGML_MAX_SRC] = {NULL};
    for (unsigned s = 0; s < GGML_MAX_SRC; s++) {
        KEY(key, "op.%u.src.%u", i, s);
        const char * from = text_of(file, key);
        unsigned     other;
        if (from == NULL) continue;
        if (sscanf(from, "node.%u", &other) == 1 && other < i)
            sources[s] = graph->nodes[other];
        else
            sources[s] = make_source(file, context, graph, key);
        if (sources[s] == NULL) return damaged(file, key, error);
    }
    struct ggml_tensor * node = make_output(file, context, i, sources, (enum ggml_type) type, ne);
    if (node == NULL) return damaged(file, ne_key, error);
    node->op = (enum ggml_op) op;
    memcpy(node->op_params, params, sizeof(node->op_params));
    memcpy(node->src, sources, sizeof(node->src));
    graph->nodes[i] = node;
    return 0;
}

int ggs_op_file_build(const struct ggs_op_file * file, struct ggml_context * context, struct ggs_op_graph * graph,
                      struct ggs_error * error) {
    int status = 0;
    *graph     = (struct ggs_op_graph){.n_blobs = 0};
    for (unsigned i = 0; status == 0 && i < file->n_nodes; i++) status = build_node(file, context, graph, i, error);
    return status;
}

void ggs_op_file_fill(const struct ggs_op_graph * graph) {
    for (unsigned i = 0; i < graph->n_blobs; i++)
        ggml_backend_tensor_set(graph->blobs[i], graph->bytes[i]->data, 0, ggml_nbytes(graph->bytes[i]));
}

const struct ggml_tensor * ggs_op_file_output(const struct ggs_op_file * file, unsigned node) {
    KEY(key, "op.%u.out", node);
    const struct ggml_tensor * bytes = ggml_get_tensor(file->data, key);
    return bytes != NULL && bytes->type == GGML_TYPE_I8 ? bytes : NULL;
}
