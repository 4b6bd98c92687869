#include "capture/graphs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/fills.h"
#include "capture/memory/mapped-files.h"
#include "trace/spool.h"

enum { FLAG_COMPUTE = 16, MOST_COPY = 4 << 20 };

// A graph as the journal has it: enough to recognise it, and to write a similar one as differences.
// A similar graph shares memory with its base, because old releases make a new graph for every
// token.
struct variant {
    struct ggs_captured_graph   graph;
    uint64_t                    hash;       // of everything
    uint64_t                    topology;   // of everything but addresses
    struct variant *            base;       // the variant that was written in full, or itself
    uint64_t *                  moved;      // addresses of the leaves, NULL if as the base's
    struct abi_tensor **        leaves;     // base only: tensors beyond the nodes, as defined
    uint32_t                    n_leaves;   // base only
    struct ggs_journal_tensor * definition; // base only: the definition as written
    struct variant *            next;       // in its bucket
};

enum { BUCKETS = 4096 };
static struct variant *     buckets[BUCKETS];    // by hash
static struct variant *     topologies[BUCKETS]; // the newest base by topology
static pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t             n_graphs;
static struct ggs_graph_ops ops;
static int                  highest_op = -1, highest_type = -1; // highest names in the journal

// ---- hashing ----
//
// Two words at a time: each is xored with a constant of its position, the two are multiplied to 128
// bits, and the product is folded. The products do not depend on each other, so hashing a node
// costs about as much as reading it.

static inline uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128) a * b;
    return (uint64_t) product ^ (uint64_t) (product >> 64);
}

static inline uint64_t mix(const void * data, unsigned pairs, uint64_t key) {
    const uint8_t * bytes = data;
    uint64_t        sum   = 0;
    for (unsigned i = 0; i < pairs; i++) {
        uint64_t word[2];
        memcpy(word, bytes + 16 * i, 16);
        sum += fold(word[0] ^ (key + i * 0x9e3779b97f4a7c15u), word[1] ^ (key + i * 0xd1342543de82ef95u + 1));
    }
    return sum;
}

// The same for data whose words are mostly zero after the first `common` pairs.
static inline uint64_t mix_rare(const void * data, unsigned common, unsigned pairs, uint64_t key) {
    const uint8_t * rest = (const uint8_t *) data + 16 * common;
    uint64_t        any = 0, sum = mix(data, common, key);
    for (unsigned i = 0; i < 2 * (pairs - common); i++) {
        uint64_t word;
        memcpy(&word, rest + 8 * i, 8);
        any |= word;
    }
    return any == 0 ? sum : sum + mix(rest, pairs - common, ~key);
}

// What defines a node apart from addresses and names: type, op, flags, view parent, shape, strides,
// sources. All of it lies in the first four cache lines of the tensor.
static inline uint64_t mix_topology(const struct abi_tensor * node) {
    uint64_t head[2] = {(uint64_t) (uint32_t) node->type << 32 | (uint32_t) node->op,
                        (uint64_t) (uint32_t) node->flags << 32 ^ (uint64_t) node->view_src};
    return mix(head, 1, 0x243f6a8885a308d3u) + mix(node->ne, 2, 0x13198a2e03707344u) +
           mix(node->nb, 2, 0xa4093822299f31d0u) + mix_rare(node->src, 2, ABI_SOURCES / 2, 0x082efa98ec4e6c89u);
}

static inline uint64_t mix_params(const struct abi_tensor * node) {
    return mix_rare(node->op_params, 2, ABI_PARAMS / 4, 0x452821e638d01377u);
}

// The weights of a token evict the graph from near caches between runs.
static inline void prefetch_node(const struct abi_graph * graph, int i) {
    if (i >= graph->n_nodes) return;
    const char * node = (const char *) graph->nodes[i];
    for (int line = 0; line < 4; line++) __builtin_prefetch(node + 64 * line);
}

static uint64_t hash_graph(const struct abi_graph * graph) {
    uint64_t hash = (uint64_t) graph->n_nodes;
    for (int i = 0; i < graph->n_nodes; i++) {
        prefetch_node(graph, i + 8);
        const struct abi_tensor * node       = graph->nodes[i];
        uint64_t                  address[2] = {(uint64_t) node->data, node->view_offs};
        uint64_t                  sum = mix_topology(node) + mix_params(node) + mix(address, 1, 0xbe5466cf34e90c6cu);
        hash                          = fold(hash ^ 0xc0ac29b7c97c50ddu, sum ^ 0x3f84d5b5b5470917u) + sum;
    }
    return hash;
}

// A view's parameters contain its offset, which is an address too.
static uint64_t hash_topology(const struct abi_graph * graph) {
    uint64_t hash = (uint64_t) graph->n_nodes;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        uint64_t                  sum  = mix_topology(node) + (node->op == ops.view ? 0 : mix_params(node));
        hash                           = fold(hash ^ 0xc0ac29b7c97c50ddu, sum ^ 0x3f84d5b5b5470917u) + sum;
    }
    return hash;
}

// Leaves are reached through the nodes' source pointers, which the hash covers.
static bool leaves_equal(const struct variant * v) {
    const struct variant *            base   = v->base;
    const struct ggs_journal_tensor * leaves = base->definition + base->graph.n_nodes;
    for (uint32_t i = 0; i < base->n_leaves; i++) {
        if (i + 8 < base->n_leaves) {
            __builtin_prefetch(base->leaves[i + 8]->ne);
            __builtin_prefetch(&base->leaves[i + 8]->data);
        }
        const struct abi_tensor * leaf    = base->leaves[i];
        uint64_t                  address = v->moved == NULL ? leaves[i].address : v->moved[i];
        if ((uint64_t) leaf->data != address || memcmp(leaf->ne, leaves[i].ne, sizeof(leaf->ne)) != 0) return false;
    }
    return true;
}

// ---- collecting tensors ----

// The tensors of a graph: its nodes, followed by what they use.
struct tensors {
    struct abi_tensor ** tensor;
    uint32_t             n, capacity;
    struct ggs_map       numbers; // tensor -> index + 1
};

static int32_t index_of(const struct tensors * all, const struct abi_tensor * tensor) {
    return tensor == NULL ? -1 : (int32_t) ggs_map_get(&all->numbers, ggs_map_key_pointer(tensor)) - 1;
}

// Returns false if out of memory.
static bool add_tensor(struct tensors * all, struct abi_tensor * tensor) {
    if (tensor == NULL) return true;
    uint64_t * number = ggs_map_put(&all->numbers, ggs_map_key_pointer(tensor));
    if (number == NULL) return false;
    if (*number != 0) return true;
    *number = all->n + 1;
    return ggs_array_push(all->tensor, all->n, all->capacity, tensor);
}

static bool collect_tensors(struct tensors * all, const struct abi_graph * graph) {
    uint32_t n    = (uint32_t) graph->n_nodes;
    bool     good = true;
    for (uint32_t i = 0; good && i < n; i++) good = add_tensor(all, graph->nodes[i]);
    if (all->n != n) return false; // a node twice: not a valid graph
    for (uint32_t i = 0; good && i < n; i++) {
        for (int s = 0; good && s < ABI_SOURCES; s++) good = add_tensor(all, graph->nodes[i]->src[s]);
        good = good && add_tensor(all, graph->nodes[i]->view_src);
    }
    for (uint32_t i = n; good && i < all->n; i++) good = add_tensor(all, all->tensor[i]->view_src);
    return good;
}

static void release_tensors(struct tensors * all) {
    free(all->tensor);
    ggs_map_release(&all->numbers);
}

static uint64_t dense_bytes(const struct abi_tensor * t, const struct abi_functions * f) {
    int64_t  block = f->block_size(t->type);
    uint64_t bytes = block <= 0 ? 0 : (uint64_t) (t->ne[0] / block) * f->type_size(t->type);
    for (int d = 1; d < ABI_DIMS; d++) bytes *= (uint64_t) t->ne[d];
    return bytes;
}

// The bytes of a weight that the CPU backend repacked (AMX); 0 if its type and shape give the size.
// A larger allocation of a device is padding, which nothing reads.
static uint64_t packed_bytes(const struct abi_tensor * t, const struct abi_functions * f) {
    enum { CPU = 0 };
    if (t->op != ops.none || t->view_src != NULL || t->buffer == NULL || f->buffer_type_alloc_size == NULL ||
        f->buffer_type_device == NULL || f->device_type == NULL || f->buffer_is_host(t->buffer))
        return 0;
    void * type   = f->buffer_type(t->buffer);
    void * device = type == NULL ? NULL : f->buffer_type_device(type);
    if (device == NULL || f->device_type(device) != CPU) return 0;
    uint64_t bytes = f->buffer_type_alloc_size(type, t);
    return bytes == dense_bytes(t, f) ? 0 : bytes;
}

static void describe(struct ggs_journal_tensor * out, const struct abi_tensor * t, const struct tensors * all,
                     const struct abi_functions * f) {
    memset(out, 0, sizeof(*out));
    out->address = (uint64_t) t->data;
    out->buffer  = ggs_buffer_of_tensor(t->buffer != NULL     ? t->buffer
                                        : t->view_src != NULL ? t->view_src->buffer
                                                              : NULL);
    out->pointer = (uint64_t) t;
    for (int d = 0; d < ABI_DIMS; d++) out->ne[d] = t->ne[d], out->nb[d] = t->nb[d];
    out->type        = t->type;
    out->op          = t->op;
    out->flags       = t->flags;
    out->view        = index_of(all, t->view_src);
    out->view_offset = t->view_offs;
    for (int s = 0; s < ABI_SOURCES; s++) out->source[s] = index_of(all, t->src[s]);
    memcpy(out->parameters, t->op_params, sizeof(out->parameters));
    out->packed_bytes = packed_bytes(t, f);
}

// ---- sources that are copied when ops begin ----

static bool is_empty_op(int op) {
    return op == ops.none || op == ops.view || op == ops.reshape || op == ops.permute || op == ops.transpose;
}

static const struct abi_tensor * root_of(const struct abi_tensor * t) {
    while (t != NULL && t->view_src != NULL) t = t->view_src;
    return t;
}

static uint64_t elements(const struct abi_tensor * t) {
    return (uint64_t) (t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}

struct copies {
    struct ggs_captured_graph * graph;
    const struct abi_tensor **  copied; // sources that a node copies
    uint32_t                    n_copied, capacity;
};

static void want_copy(struct copies * c, uint32_t node, int source, const struct abi_tensor * tensor) {
    if (tensor == NULL || tensor->data == NULL) return;
    for (uint32_t i = 0; i < c->n_copied; i++) {
        if (c->copied[i] == tensor) return;
    }
    if (c->n_copied < c->capacity) c->copied[c->n_copied++] = tensor;
    uint64_t bytes = elements(tensor) * 8;
    c->graph->copies[node] |= (uint8_t) (1u << source);
    c->graph->index_bytes += (bytes > MOST_COPY ? MOST_COPY : bytes) + sizeof(struct ggs_spool_index) + GGS_SPOOL_UNIT;
}

// Routing weights multiply the experts' outputs and have one value per chosen expert and token.
static bool is_routing(const struct abi_tensor * weights, const struct abi_tensor * ids) {
    return weights != NULL && weights->ne[0] == 1 && weights->ne[1] == ids->ne[0] && weights->ne[2] == ids->ne[1] &&
           weights->ne[3] == 1;
}

static void plan_routing(struct copies * c, const struct abi_tensor * node, uint32_t i, const struct abi_tensor * ids) {
    if (ids == NULL || is_empty_op(node->op)) return;
    for (int s = 0; s < 2; s++) {
        const struct abi_tensor * source = node->src[s];
        const struct abi_tensor * root   = root_of(source);
        if (source == NULL || elements(source) != elements(ids)) continue;
        // The factor of an output, and the raw probability if the next op still reads it.
        bool multiplies = node->op == ops.mul && is_routing(source, ids);
        bool raw        = root->op == ops.get_rows && root->src[1] != NULL && root_of(root->src[1]) == root_of(ids);
        if (multiplies || raw) want_copy(c, i, s, source);
    }
}

static bool plan_copies(struct ggs_captured_graph * g, const struct abi_graph * graph) {
    struct copies              c    = {.graph = g, .capacity = g->n_nodes * 2};
    const struct abi_tensor ** next = calloc(g->n_nodes + 1, sizeof(*next)); // next choice
    c.copied                        = malloc((c.capacity + 1) * sizeof(*c.copied));
    if (c.copied == NULL || next == NULL) {
        free(c.copied);
        free(next);
        return false;
    }
    for (uint32_t i = g->n_nodes; i-- > 0;)
        next[i] = graph->nodes[i]->op == ops.mul_mat_id ? graph->nodes[i]->src[2] : next[i + 1];
    const struct abi_tensor * last = NULL;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        if (node->op == ops.get_rows || node->op == ops.set_rows || node->op == ops.rope)
            want_copy(&c, i, 1, node->src[1]);
        if (node->op == ops.mul_mat_id) {
            last = node->src[2];
            want_copy(&c, i, 2, last);
        }
        plan_routing(&c, node, i, next[i]);
        if (last != next[i]) plan_routing(&c, node, i, last);
    }
    free(c.copied);
    free(next);
    return true;
}

static void plan_execution(struct ggs_captured_graph * g, const struct abi_graph * graph) {
    bool has_flag = false; // releases without the compute flag never set it
    for (uint32_t i = 0; i < g->n_nodes; i++) has_flag |= (graph->nodes[i]->flags & FLAG_COMPUTE) != 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        if (is_empty_op(node->op) || (has_flag && (node->flags & FLAG_COMPUTE) == 0)) continue;
        g->last_executed = i;
    }
}

// ---- writing a graph to the journal ----

static void emit_names(const struct ggs_journal_tensor * tensors, uint32_t n, const struct abi_functions * f) {
    int op = highest_op, type = highest_type;
    for (uint32_t i = 0; i < n; i++) {
        if (tensors[i].op > op) op = tensors[i].op;
        if (tensors[i].type > type) type = tensors[i].type;
    }
    char   text[16384];
    size_t at = 0;
    if (op > highest_op && op < 512) {
        for (int i = 0; i <= op && at + 64 < sizeof(text); i++) {
            const char * name = f->op_name(i);
            at += (size_t) snprintf(text + at, 64, "%s\n", name == NULL ? "" : name);
        }
        ggs_journal_text(GGS_JOURNAL_OPS, text);
        highest_op = op;
    }
    at = 0;
    if (type > highest_type && type < 256) {
        for (int i = 0; i <= type && at + 96 < sizeof(text); i++) {
            const char * name = f->type_name(i);
            if (name == NULL || f->type_size(i) == 0) {
                at += (size_t) snprintf(text + at, 96, "\n");
            } else {
                at += (size_t) snprintf(text + at, 96, "%s %lld %zu\n", name, (long long) f->block_size(i),
                                        f->type_size(i));
            }
        }
        ggs_journal_text(GGS_JOURNAL_TYPES, text);
        highest_type = type;
    }
}

static bool emit_graph(struct variant * v, const struct tensors * all, const struct abi_functions * f) {
    size_t text_bytes = 0;
    for (uint32_t i = 0; i < all->n; i++) text_bytes += strnlen(all->tensor[i]->name, ABI_NAME - 1) + 1;
    char * text = malloc(text_bytes + 1);
    if (text == NULL) return false;
    size_t at = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        size_t length = strnlen(all->tensor[i]->name, ABI_NAME - 1);
        memcpy(text + at, all->tensor[i]->name, length);
        text[at + length] = '\0';
        at += length + 1;
    }
    emit_names(v->definition, all->n, f);
    struct ggs_journal_graph head     = {v->graph.id, v->graph.n_nodes, all->n, v->hash, text_bytes};
    struct ggs_piece         pieces[] = {
                {&head, sizeof(head)}, {v->definition, all->n * sizeof(*v->definition)}, {text, text_bytes}};
    int result = ggs_journal_append(GGS_JOURNAL_GRAPH, pieces, 3);
    free(text);
    return result == 0;
}

// Writes a graph that differs from `base` only in addresses.
static bool emit_delta(struct variant * v, const struct variant * base, uint32_t n_tensors) {
    struct ggs_journal_move * moves = malloc((n_tensors + 1) * (3 + ABI_PARAMS) * sizeof(*moves));
    if (moves == NULL) return false;
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_tensors; i++) {
        const struct ggs_journal_tensor * now = &v->definition[i];
        const struct ggs_journal_tensor * was = &base->definition[i];
        if (now->address != was->address) moves[n++] = (struct ggs_journal_move){i, 0, now->address};
        if (now->view_offset != was->view_offset) moves[n++] = (struct ggs_journal_move){i, 1, now->view_offset};
        if (now->buffer != was->buffer) moves[n++] = (struct ggs_journal_move){i, 2, now->buffer};
        for (uint32_t p = 0; p < ABI_PARAMS; p++) {
            if (now->parameters[p] != was->parameters[p])
                moves[n++] = (struct ggs_journal_move){i, 3 + p, (uint32_t) now->parameters[p]};
        }
    }
    struct ggs_journal_delta head     = {v->graph.id, base->graph.id, n};
    struct ggs_piece         pieces[] = {{&head, sizeof(head)}, {moves, n * sizeof(*moves)}};
    int                      result   = ggs_journal_append(GGS_JOURNAL_GRAPH_DELTA, pieces, 2);
    free(moves);
    return result == 0;
}

// ---- identifying ----

static bool same_but_moved(const struct variant * base, const struct variant * v) {
    if (base == NULL || base->topology != v->topology || base->graph.n_nodes != v->graph.n_nodes ||
        base->n_leaves != v->n_leaves)
        return false;
    for (uint32_t i = 0; i < v->graph.n_nodes + v->n_leaves; i++) {
        const struct ggs_journal_tensor *a = &base->definition[i], *b = &v->definition[i];
        if (a->type != b->type || a->op != b->op || a->flags != b->flags || a->view != b->view ||
            a->pointer != b->pointer || a->packed_bytes != b->packed_bytes ||
            memcmp(a->ne, b->ne, sizeof(a->ne)) != 0 || memcmp(a->nb, b->nb, sizeof(a->nb)) != 0 ||
            memcmp(a->source, b->source, sizeof(a->source)) != 0)
            return false;
    }
    return true;
}

// Frees what a variant can share with its base.
static bool share_with_base(struct variant * v, struct variant * base) {
    const struct ggs_journal_tensor *now = v->definition + v->graph.n_nodes,
                                    *was = base->definition + base->graph.n_nodes;
    bool moved                           = false;
    for (uint32_t i = 0; i < v->n_leaves; i++) moved |= now[i].address != was[i].address;
    if (moved) {
        v->moved = malloc(v->n_leaves * sizeof(*v->moved));
        if (v->moved == NULL) return false;
        for (uint32_t i = 0; i < v->n_leaves; i++) v->moved[i] = now[i].address;
    }
    free(v->graph.copies);
    free(v->leaves);
    free(v->definition);
    v->graph.copies      = base->graph.copies;
    v->graph.index_bytes = base->graph.index_bytes;
    v->leaves            = NULL;
    v->definition        = NULL;
    v->base              = base;
    v->graph.base        = &base->graph;
    return true;
}

static void variant_free(struct variant * v) {
    if (v == NULL) return;
    free(v->graph.copies);
    free(v->leaves);
    free(v->definition);
    free(v->moved);
    free(v);
}

static struct variant * describe_graph(const struct abi_graph * graph, uint64_t hash, const struct tensors * all,
                                       const struct abi_functions * f) {
    struct variant * v = calloc(1, sizeof(*v));
    if (v == NULL) return NULL;
    v->graph.n_nodes = (uint32_t) graph->n_nodes;
    v->graph.id      = n_graphs + 1;
    v->hash          = hash;
    v->topology      = hash_topology(graph);
    v->base          = v;
    v->graph.base    = &v->graph;
    v->n_leaves      = all->n - v->graph.n_nodes;
    v->graph.copies  = calloc(v->graph.n_nodes + 1, 1);
    v->leaves        = malloc((v->n_leaves + 1) * sizeof(*v->leaves));
    v->definition    = malloc((all->n + 1) * sizeof(*v->definition));
    if (v->graph.copies == NULL || v->leaves == NULL || v->definition == NULL) {
        variant_free(v);
        return NULL;
    }
    memcpy(v->leaves, all->tensor + v->graph.n_nodes, v->n_leaves * sizeof(*v->leaves));
    for (uint32_t i = 0; i < all->n; i++) describe(&v->definition[i], all->tensor[i], all, f);
    plan_execution(&v->graph, graph);
    return v;
}

// Checks weights that the program may have overwritten after reading them from a file.
static void check_fills(const struct variant * v, const struct tensors * all, const struct abi_functions * f) {
    for (uint32_t i = v->graph.n_nodes; i < all->n; i++) {
        const struct abi_tensor * leaf = all->tensor[i];
        if (leaf->op == ops.none && leaf->view_src == NULL && leaf->data != NULL && leaf->buffer != NULL &&
            f->buffer_is_host(leaf->buffer))
            ggs_fills_used(leaf->data, (uint64_t) leaf->ne[3] * leaf->nb[3]);
    }
}

static struct variant * define(const struct abi_graph * graph, uint64_t hash, const struct abi_functions * f) {
    struct tensors   all = {0};
    struct variant * v   = collect_tensors(&all, graph) ? describe_graph(graph, hash, &all, f) : NULL;
    bool             ok  = v != NULL;
    if (ok) {
        check_fills(v, &all, f);
        struct variant ** newest = &topologies[v->topology % BUCKETS];
        if (same_but_moved(*newest, v)) {
            ok = emit_delta(v, *newest, all.n) && share_with_base(v, *newest);
        } else {
            ggs_mapped_files_emit(); // needed to resolve the graph's addresses
            ok = plan_copies(&v->graph, graph) && emit_graph(v, &all, f);
            if (ok) *newest = v;
        }
    }
    release_tensors(&all);
    if (!ok) {
        variant_free(v);
        return NULL;
    }
    n_graphs++;
    v->next                 = buckets[hash % BUCKETS];
    buckets[hash % BUCKETS] = v;
    return v;
}

static int op_number(const struct abi_functions * f, const char * name) {
    // Every op up to the last one named here exists in all releases, so walking up to it is safe.
    for (int i = 0; i < 64; i++) {
        const char * found = f->op_name(i);
        if (found != NULL && strcmp(found, name) == 0) return i;
    }
    return -1;
}

static void find_ops(const struct abi_functions * f) {
    ops = (struct ggs_graph_ops){
        .none       = op_number(f, "NONE"),
        .view       = op_number(f, "VIEW"),
        .reshape    = op_number(f, "RESHAPE"),
        .permute    = op_number(f, "PERMUTE"),
        .transpose  = op_number(f, "TRANSPOSE"),
        .get_rows   = op_number(f, "GET_ROWS"),
        .set_rows   = op_number(f, "SET_ROWS"),
        .mul_mat_id = op_number(f, "MUL_MAT_ID"),
        .rope       = op_number(f, "ROPE"),
        .mul        = op_number(f, "MUL"),
    };
}

// A cache of graphs by address: a scheduler keeps its graphs in place for many runs. It is
// set-associative because a token has several graphs; two that share an entry would be identified
// in every run.
enum { CACHE_ENTRIES = 1024, CACHE_WAYS = 8 };
struct cache_entry {
    const struct abi_graph *          graph;
    const struct ggs_captured_graph * found; // result of the last identification
    uint64_t                          uid;   // the engine's number of the graph, 0 for none
};
static struct cache_entry cache[CACHE_ENTRIES + CACHE_WAYS - 1];

// Returns the graph's entry, else a free one, else the first of its set. Entries are never freed,
// so the graph cannot be behind a free one.
static struct cache_entry * entry_of(const struct abi_graph * graph) {
    struct cache_entry * first =
        &cache[fold(fold((uint64_t) graph, 0x9e3779b97f4a7c15u), 0xc0ac29b7c97c50ddu) % CACHE_ENTRIES];
    for (struct cache_entry * entry = first; entry < first + CACHE_WAYS; entry++)
        if (entry->graph == graph || entry->graph == NULL) return entry;
    return first;
}

static const struct ggs_captured_graph * cached_at(const struct cache_entry * entry, const struct abi_graph * graph) {
    if (entry->graph != graph || entry->found == NULL) return NULL;
    return entry->found->n_nodes == (uint32_t) graph->n_nodes ? entry->found : NULL;
}

const struct ggs_captured_graph * ggs_graphs_guess(const struct abi_graph * graph) {
    pthread_mutex_lock(&lock);
    const struct ggs_captured_graph * guess = cached_at(entry_of(graph), graph);
    pthread_mutex_unlock(&lock);
    return guess;
}

// Newer releases number the graphs that a scheduler makes. A graph is unchanged while its number is
// unchanged; the engine's backends rely on it. The offset of the number in a graph is trusted after
// two proofs: a new number, above all that were assigned when the last graph was checked, and not
// above the newest.
enum { UID_OFFSET = 88, UID_PROOFS = 2 };
static const void * numberer;    // the engine that assigns numbers
static bool         numberers;   // several engines assign numbers
static uint64_t     newest_uid;  // the newest assigned number
static uint64_t     checked_uid; // the newest number when a graph was last checked
static unsigned     uid_proofs;

void ggs_graphs_numbered(const void * engine, uint64_t uid) {
    const void * first = NULL;
    if (!__atomic_compare_exchange_n(&numberer, &first, engine, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        first != engine)
        __atomic_store_n(&numberers, true, __ATOMIC_RELAXED);
    __atomic_store_n(&newest_uid, uid, __ATOMIC_RELEASE);
}

static uint64_t uid_of(const struct abi_graph * graph) {
    uint64_t newest = __atomic_load_n(&newest_uid, __ATOMIC_ACQUIRE), uid;
    if (newest == 0 || __atomic_load_n(&numberers, __ATOMIC_RELAXED))
        return 0; // releases without numbers have shorter graphs
    memcpy(&uid, (const char *) graph + UID_OFFSET, sizeof(uid));
    if (uid > checked_uid && uid <= newest && uid_proofs < UID_PROOFS) uid_proofs++;
    checked_uid = newest;
    return uid_proofs == UID_PROOFS && uid <= newest ? uid : 0;
}

static const struct ggs_captured_graph * identify_by_hash(const struct abi_graph *     graph,
                                                          const struct abi_functions * functions) {
    if (n_graphs == 0) find_ops(functions);
    uint64_t         hash = hash_graph(graph);
    struct variant * v    = buckets[hash % BUCKETS];
    while (v != NULL && (v->hash != hash || v->graph.n_nodes != (uint32_t) graph->n_nodes || !leaves_equal(v)))
        v = v->next;
    if (v == NULL) v = define(graph, hash, functions);
    return v == NULL ? NULL : &v->graph;
}

const struct ggs_captured_graph * ggs_graphs_identify(const struct abi_graph *     graph,
                                                      const struct abi_functions * functions) {
    pthread_mutex_lock(&lock);
    struct cache_entry *              entry = entry_of(graph);
    uint64_t                          uid   = uid_of(graph);
    const struct ggs_captured_graph * found = uid != 0 && uid == entry->uid ? cached_at(entry, graph) : NULL;
    if (found == NULL) {
        found  = identify_by_hash(graph, functions);
        *entry = (struct cache_entry){graph, found, uid};
    }
    pthread_mutex_unlock(&lock);
    return found;
}

// A variant that shares with its base owns nothing but moved addresses.
static void free_variants(void) {
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct variant *v = buckets[i], *next; v != NULL; v = next) {
            next = v->next;
            if (v->base != v) v->graph.copies = NULL;
            variant_free(v);
        }
    }
}

void ggs_graphs_reset(bool forked) {
    lock = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    if (!forked) free_variants();
    memset(buckets, 0, sizeof(buckets));
    memset(topologies, 0, sizeof(topologies));
    memset(cache, 0, sizeof(cache));
    n_graphs   = 0;
    highest_op = highest_type = -1;
    numberer                  = NULL;
    numberers                 = false;
    newest_uid = checked_uid = uid_proofs = 0;
}
