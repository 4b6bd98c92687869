#include "capture/graphs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/maps.h"
#include "trace/spool.h"

enum { FLAG_COMPUTE = 16, MOST_COPY = 4 << 20 };

// A graph as it was told: enough to recognise it, and to tell another one by its differences. One that was told as a
// difference shares what it can with its base: old releases make a new one for every token.
struct variant {
    struct ggs_known_graph      graph;
    uint64_t                    hash;     // of everything
    uint64_t                    topology; // of everything but addresses
    struct variant *            base;     // the variant whose definition was written in full; itself if it was
    uint64_t *                  moved;    // addresses of the leaves if they differ from the base's, else NULL
    struct abi_tensor **        leaves;   // base only: tensors beyond the nodes, in the order of the definition
    uint32_t                    n_leaves; // base only
    struct ggs_journal_tensor * told;     // base only: the definition as written
    struct variant *            next;     // in its bucket
};

enum { BUCKETS = 4096 };
static struct variant *     buckets[BUCKETS];    // by hash
static struct variant *     topologies[BUCKETS]; // the newest base by topology
static pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t             n_graphs;
static struct ggs_graph_ops ops;
static int                  known_op = -1, known_type = -1; // the highest numbers whose names were told

// ---- hashing ----
//
// Two words at a time: each xored with a constant of its place, multiplied to 128 bits, folded. The products do not depend
// on each other, so a node costs about as much as reading it.

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

// The same if the words behind the first `common` pairs are mostly zero.
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

// Everything of a node that makes the graph what it is, addresses and names apart: type, op, flags, view parent, shape, strides,
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

// A token's weights have driven the graph out of the near caches since the last run.
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

// A view's parameters hold its offset, which is an address too.
static uint64_t hash_topology(const struct abi_graph * graph) {
    uint64_t hash = (uint64_t) graph->n_nodes;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        uint64_t                  sum  = mix_topology(node) + (node->op == ops.view ? 0 : mix_params(node));
        hash                           = fold(hash ^ 0xc0ac29b7c97c50ddu, sum ^ 0x3f84d5b5b5470917u) + sum;
    }
    return hash;
}

// The leaves of a known graph are reached through its nodes, whose source pointers the hash has compared already.
static bool leaves_equal(const struct variant * v) {
    const struct variant *            base = v->base;
    const struct ggs_journal_tensor * told = base->told + base->graph.n_nodes;
    for (uint32_t i = 0; i < base->n_leaves; i++) {
        if (i + 8 < base->n_leaves) {
            __builtin_prefetch(base->leaves[i + 8]->ne);
            __builtin_prefetch(&base->leaves[i + 8]->data);
        }
        const struct abi_tensor * leaf    = base->leaves[i];
        uint64_t                  address = v->moved == NULL ? told[i].address : v->moved[i];
        if ((uint64_t) leaf->data != address || memcmp(leaf->ne, told[i].ne, sizeof(leaf->ne)) != 0) return false;
    }
    return true;
}

// ---- collecting tensors ----

// Pointer -> index, open addressing.
struct tensor_map {
    struct abi_tensor ** tensors; // in order of index
    uint32_t             n, capacity;
    uint32_t *           slots; // index + 1, 0 for free
    uint32_t             mask;
};

static uint32_t * find_slot(const struct tensor_map * map, const struct abi_tensor * tensor) {
    uint32_t at = (uint32_t) (((uint64_t) tensor * 0x9e3779b97f4a7c15u) >> 32) & map->mask;
    while (map->slots[at] != 0 && map->tensors[map->slots[at] - 1] != tensor) at = (at + 1) & map->mask;
    return &map->slots[at];
}

static int32_t index_of(const struct tensor_map * map, const struct abi_tensor * tensor) {
    return tensor == NULL ? -1 : (int32_t) *find_slot(map, tensor) - 1;
}

static void map_add(struct tensor_map * map, struct abi_tensor * tensor) {
    if (tensor == NULL || map->n == map->capacity) return;
    uint32_t * slot = find_slot(map, tensor);
    if (*slot != 0) return;
    map->tensors[map->n++] = tensor;
    *slot                  = map->n;
}

static bool map_collect(struct tensor_map * map, const struct abi_graph * graph) {
    uint32_t n    = (uint32_t) graph->n_nodes;
    map->capacity = n * (ABI_SOURCES + 2) + 1; // nodes, sources and view parents cannot be more
    map->mask     = 2;
    while (map->mask < 2 * map->capacity) map->mask *= 2;
    map->mask--;
    map->tensors = malloc(map->capacity * sizeof(*map->tensors));
    map->slots   = calloc(map->mask + 1, sizeof(*map->slots));
    if (map->tensors == NULL || map->slots == NULL) return false;
    for (uint32_t i = 0; i < n; i++) map_add(map, graph->nodes[i]);
    if (map->n != n) return false; // a node twice: not a graph we understand
    for (uint32_t i = 0; i < n; i++) {
        for (int s = 0; s < ABI_SOURCES; s++) map_add(map, graph->nodes[i]->src[s]);
        map_add(map, graph->nodes[i]->view_src);
    }
    for (uint32_t i = n; i < map->n; i++) map_add(map, map->tensors[i]->view_src);
    return true;
}

static void map_release(struct tensor_map * map) {
    free(map->tensors);
    free(map->slots);
}

static void describe(struct ggs_journal_tensor * out, const struct abi_tensor * t, const struct tensor_map * map) {
    memset(out, 0, sizeof(*out));
    out->address = (uint64_t) t->data;
    out->buffer  = ggs_buffer_id(t->buffer != NULL ? t->buffer : t->view_src != NULL ? t->view_src->buffer : NULL);
    out->pointer = (uint64_t) t;
    for (int d = 0; d < ABI_DIMS; d++) out->ne[d] = t->ne[d], out->nb[d] = t->nb[d];
    out->type        = t->type;
    out->op          = t->op;
    out->flags       = t->flags;
    out->view        = index_of(map, t->view_src);
    out->view_offset = t->view_offs;
    for (int s = 0; s < ABI_SOURCES; s++) out->source[s] = index_of(map, t->src[s]);
    memcpy(out->parameters, t->op_params, sizeof(out->parameters));
}

// ---- what will be copied when ops begin ----

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
    struct ggs_known_graph *   graph;
    const struct abi_tensor ** taken; // sources that some node copies already
    uint32_t                   n_taken, capacity;
};

static void want_copy(struct copies * c, uint32_t node, int source, const struct abi_tensor * tensor) {
    if (tensor == NULL || tensor->data == NULL) return;
    for (uint32_t i = 0; i < c->n_taken; i++) {
        if (c->taken[i] == tensor) return;
    }
    if (c->n_taken < c->capacity) c->taken[c->n_taken++] = tensor;
    uint64_t bytes = elements(tensor) * 8;
    c->graph->copies[node] |= (uint8_t) (1u << source);
    c->graph->index_bytes += (bytes > MOST_COPY ? MOST_COPY : bytes) + sizeof(struct ggs_spool_index) + GGS_SPOOL_UNIT;
}

// Routing weights: what multiplies the experts' outputs has one value per chosen expert and token.
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
        // The value that multiplies an output, and the raw probability if the next op still sees it.
        bool multiplies = node->op == ops.mul && is_routing(source, ids);
        bool raw        = root->op == ops.get_rows && root->src[1] != NULL && root_of(root->src[1]) == root_of(ids);
        if (multiplies || raw) want_copy(c, i, s, source);
    }
}

static bool plan_copies(struct ggs_known_graph * g, const struct abi_graph * graph) {
    struct copies              c    = {.graph = g, .capacity = g->n_nodes * 2};
    const struct abi_tensor ** next = calloc(g->n_nodes + 1, sizeof(*next)); // the choice of experts that is used next
    c.taken                         = malloc((c.capacity + 1) * sizeof(*c.taken));
    if (c.taken == NULL || next == NULL) {
        free(c.taken);
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
    free(c.taken);
    free(next);
    return true;
}

static void plan_execution(struct ggs_known_graph * g, const struct abi_graph * graph) {
    bool has_flag = false; // releases without the compute flag never set it
    for (uint32_t i = 0; i < g->n_nodes; i++) has_flag |= (graph->nodes[i]->flags & FLAG_COMPUTE) != 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        if (is_empty_op(node->op) || (has_flag && (node->flags & FLAG_COMPUTE) == 0)) continue;
        g->last_executed = i;
    }
}

// ---- writing a graph to the journal ----

static void tell_names(const struct ggs_journal_tensor * tensors, uint32_t n, const struct abi_functions * f) {
    int op = known_op, type = known_type;
    for (uint32_t i = 0; i < n; i++) {
        if (tensors[i].op > op) op = tensors[i].op;
        if (tensors[i].type > type) type = tensors[i].type;
    }
    char   text[16384];
    size_t at = 0;
    if (op > known_op && op < 512) {
        for (int i = 0; i <= op && at + 64 < sizeof(text); i++) {
            const char * name = f->op_name(i);
            at += (size_t) snprintf(text + at, 64, "%s\n", name == NULL ? "" : name);
        }
        ggs_journal_text(GGS_JOURNAL_OPS, text);
        known_op = op;
    }
    at = 0;
    if (type > known_type && type < 256) {
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
        known_type = type;
    }
}

static bool tell_graph(struct variant * v, const struct tensor_map * map, const struct abi_functions * f) {
    size_t text_bytes = 0;
    for (uint32_t i = 0; i < map->n; i++) text_bytes += strnlen(map->tensors[i]->name, ABI_NAME - 1) + 1;
    char * text = malloc(text_bytes + 1);
    if (text == NULL) return false;
    size_t at = 0;
    for (uint32_t i = 0; i < map->n; i++) {
        size_t length = strnlen(map->tensors[i]->name, ABI_NAME - 1);
        memcpy(text + at, map->tensors[i]->name, length);
        text[at + length] = '\0';
        at += length + 1;
    }
    tell_names(v->told, map->n, f);
    struct ggs_journal_graph head = {v->graph.id, v->graph.n_nodes, map->n, v->hash, text_bytes};
    struct ggs_piece pieces[]     = {{&head, sizeof(head)}, {v->told, map->n * sizeof(*v->told)}, {text, text_bytes}};
    int              result       = ggs_journal_append(GGS_JOURNAL_GRAPH, pieces, 3);
    free(text);
    return result == 0;
}

// Tells a graph that differs from `base` only in addresses.
static bool tell_delta(struct variant * v, const struct variant * base, uint32_t n_tensors) {
    struct ggs_journal_move * moves = malloc((n_tensors + 1) * (3 + ABI_PARAMS) * sizeof(*moves));
    if (moves == NULL) return false;
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_tensors; i++) {
        const struct ggs_journal_tensor * now = &v->told[i];
        const struct ggs_journal_tensor * was = &base->told[i];
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
        const struct ggs_journal_tensor *a = &base->told[i], *b = &v->told[i];
        if (a->type != b->type || a->op != b->op || a->flags != b->flags || a->view != b->view ||
            a->pointer != b->pointer || memcmp(a->ne, b->ne, sizeof(a->ne)) != 0 ||
            memcmp(a->nb, b->nb, sizeof(a->nb)) != 0 || memcmp(a->source, b->source, sizeof(a->source)) != 0)
            return false;
    }
    return true;
}

// Gives up what a variant shares with its base.
static bool share_with_base(struct variant * v, struct variant * base) {
    const struct ggs_journal_tensor *now = v->told + v->graph.n_nodes, *was = base->told + base->graph.n_nodes;
    bool                             moved = false;
    for (uint32_t i = 0; i < v->n_leaves; i++) moved |= now[i].address != was[i].address;
    if (moved) {
        v->moved = malloc(v->n_leaves * sizeof(*v->moved));
        if (v->moved == NULL) return false;
        for (uint32_t i = 0; i < v->n_leaves; i++) v->moved[i] = now[i].address;
    }
    free(v->graph.copies);
    free(v->leaves);
    free(v->told);
    v->graph.copies      = base->graph.copies;
    v->graph.index_bytes = base->graph.index_bytes;
    v->leaves            = NULL;
    v->told              = NULL;
    v->base              = base;
    return true;
}

static void variant_free(struct variant * v) {
    if (v == NULL) return;
    free(v->graph.copies);
    free(v->leaves);
    free(v->told);
    free(v->moved);
    free(v);
}

static struct variant * describe_graph(const struct abi_graph * graph, uint64_t hash, const struct tensor_map * map) {
    struct variant * v = calloc(1, sizeof(*v));
    if (v == NULL) return NULL;
    v->graph.n_nodes = (uint32_t) graph->n_nodes;
    v->graph.id      = n_graphs + 1;
    v->hash          = hash;
    v->topology      = hash_topology(graph);
    v->base          = v;
    v->n_leaves      = map->n - v->graph.n_nodes;
    v->graph.copies  = calloc(v->graph.n_nodes + 1, 1);
    v->leaves        = malloc((v->n_leaves + 1) * sizeof(*v->leaves));
    v->told          = malloc((map->n + 1) * sizeof(*v->told));
    if (v->graph.copies == NULL || v->leaves == NULL || v->told == NULL) {
        variant_free(v);
        return NULL;
    }
    memcpy(v->leaves, map->tensors + v->graph.n_nodes, v->n_leaves * sizeof(*v->leaves));
    for (uint32_t i = 0; i < map->n; i++) describe(&v->told[i], map->tensors[i], map);
    plan_execution(&v->graph, graph);
    return v;
}

static struct variant * define(const struct abi_graph * graph, uint64_t hash, const struct abi_functions * f) {
    struct tensor_map map = {0};
    struct variant *  v   = map_collect(&map, graph) ? describe_graph(graph, hash, &map) : NULL;
    bool              ok  = v != NULL;
    if (ok) {
        struct variant ** newest = &topologies[v->topology % BUCKETS];
        if (same_but_moved(*newest, v)) {
            ok = tell_delta(v, *newest, map.n) && share_with_base(v, *newest);
        } else {
            ggs_maps_tell(); // so that its addresses can be resolved
            ok = plan_copies(&v->graph, graph) && tell_graph(v, &map, f);
            if (ok) *newest = v;
        }
    }
    map_release(&map);
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
    // Every op below the last one that is named here exists in all releases, so walking up to it is safe.
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

// Graphs by where they lie: a scheduler keeps its own in one place for many runs. It has several for a token, side by side: if two took
// turns in one entry, both would be looked at in every run, before the device has anything to do.
enum { PLACES = 1024, PLACES_EACH = 8 };
struct place {
    const struct abi_graph *       graph;
    const struct ggs_known_graph * known;
    uint64_t                       uid; // the engine's own number of the graph, 0 for none
};
static struct place places[PLACES + PLACES_EACH - 1];

// Its entry, else a free one, else the first that may be its. Entries are never freed, so it is not behind a free one.
static struct place * place_of(const struct abi_graph * graph) {
    struct place * first = &places[fold(fold((uint64_t) graph, 0x9e3779b97f4a7c15u), 0xc0ac29b7c97c50ddu) % PLACES];
    for (struct place * place = first; place < first + PLACES_EACH; place++)
        if (place->graph == graph || place->graph == NULL) return place;
    return first;
}

static const struct ggs_known_graph * known_at(const struct place * place, const struct abi_graph * graph) {
    if (place->graph != graph || place->known == NULL) return NULL;
    return place->known->n_nodes == (uint32_t) graph->n_nodes ? place->known : NULL;
}

const struct ggs_known_graph * ggs_graphs_guess(const struct abi_graph * graph) {
    pthread_mutex_lock(&lock);
    const struct ggs_known_graph * known = known_at(place_of(graph), graph);
    pthread_mutex_unlock(&lock);
    return known;
}

// Newer releases number the graphs that a scheduler makes: as long as the number stays, the graph is the same, which their own backends rely
// on to keep what they prepared for it. Where the number lies in a graph is believed after it was found there twice, a new one each
// time: above all that had been handed out when the last graph was looked at, and not above the newest.
enum { UID_OFFSET = 88, UID_PROOFS = 2 };
static const void * numberer;   // who hands them out
static bool         numberers;  // more than one does
static uint64_t     newest_uid; // that was handed out
static uint64_t     looked_uid; // the same when a graph was last looked at
static unsigned     uid_proofs;

void ggs_graphs_numbered(const void * engine, uint64_t uid) {
    const void * known = NULL;
    if (!__atomic_compare_exchange_n(&numberer, &known, engine, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        known != engine)
        __atomic_store_n(&numberers, true, __ATOMIC_RELAXED);
    __atomic_store_n(&newest_uid, uid, __ATOMIC_RELEASE);
}

static uint64_t uid_of(const struct abi_graph * graph) {
    uint64_t newest = __atomic_load_n(&newest_uid, __ATOMIC_ACQUIRE), uid;
    if (newest == 0 || __atomic_load_n(&numberers, __ATOMIC_RELAXED)) return 0; // without them graphs are shorter
    memcpy(&uid, (const char *) graph + UID_OFFSET, sizeof(uid));
    if (uid > looked_uid && uid <= newest && uid_proofs < UID_PROOFS) uid_proofs++;
    looked_uid = newest;
    return uid_proofs == UID_PROOFS && uid <= newest ? uid : 0;
}

static const struct ggs_known_graph * look_at(const struct abi_graph * graph, const struct abi_functions * functions) {
    if (n_graphs == 0) find_ops(functions);
    uint64_t         hash = hash_graph(graph);
    struct variant * v    = buckets[hash % BUCKETS];
    while (v != NULL && (v->hash != hash || v->graph.n_nodes != (uint32_t) graph->n_nodes || !leaves_equal(v)))
        v = v->next;
    if (v == NULL) v = define(graph, hash, functions);
    return v == NULL ? NULL : &v->graph;
}

const struct ggs_known_graph * ggs_graphs_identify(const struct abi_graph *     graph,
                                                   const struct abi_functions * functions) {
    pthread_mutex_lock(&lock);
    struct place *                 place = place_of(graph);
    uint64_t                       uid   = uid_of(graph);
    const struct ggs_known_graph * known = uid != 0 && uid == place->uid ? known_at(place, graph) : NULL;
    if (known == NULL) {
        known  = look_at(graph, functions);
        *place = (struct place){graph, known, uid};
    }
    pthread_mutex_unlock(&lock);
    return known;
}
