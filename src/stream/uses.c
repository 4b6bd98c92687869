#include "stream/uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/stream-plan.h"
#include "stream/disk/files.h"
#include "stream/memory/memory.h"
#include "stream/weights.h"

enum { FLAG_COMPUTE = 16 };

// By node, open addressing. A larger one takes its place, but it is never freed: a thread of another run may be looking into it.
struct table {
    uint32_t          mask;
    struct ggs_action actions[];
};

struct ggs_uses       ggs_uses;
static struct table * table;

static struct {
    bool known;
    int  none, view, reshape, permute, transpose, get_rows, mul_mat, mul_mat_id;
} ops;

static int op_number(const char * name) {
    for (int i = 0; i < 64; i++) {
        const char * found = ggs_engine.op_name(i);
        if (found != NULL && strcmp(found, name) == 0) return i;
    }
    return -1;
}

static void find_ops(void) {
    if (ops.known) return;
    ops.none       = op_number("NONE");
    ops.view       = op_number("VIEW");
    ops.reshape    = op_number("RESHAPE");
    ops.permute    = op_number("PERMUTE");
    ops.transpose  = op_number("TRANSPOSE");
    ops.get_rows   = op_number("GET_ROWS");
    ops.mul_mat    = op_number("MUL_MAT");
    ops.mul_mat_id = op_number("MUL_MAT_ID");
    ops.known      = true;
}

// ---- what a graph uses ----

static bool is_computed(const struct abi_tensor * node, bool has_flag) {
    int op = node->op;
    if (op == ops.none || op == ops.view || op == ops.reshape || op == ops.permute || op == ops.transpose) return false;
    if (has_flag && (node->flags & FLAG_COMPUTE) == 0) return false;
    for (int d = 0; d < ABI_DIMS; d++) {
        if (node->ne[d] == 0) return false;
    }
    return true;
}

// Bytes of a tensor without gaps, 0 if it has some.
static uint64_t dense_bytes(const struct abi_tensor * t) {
    int64_t  block = ggs_engine.block_size(t->type);
    uint64_t bytes = ggs_engine.type_size(t->type);
    if (block <= 0 || t->nb[0] != bytes || t->ne[0] % block != 0) return 0;
    bytes *= (uint64_t) (t->ne[0] / block);
    for (int d = 1; d < ABI_DIMS; d++) {
        if (t->ne[d] > 1 && t->nb[d] != bytes) return 0;
        bytes *= (uint64_t) t->ne[d];
    }
    return bytes;
}

// What is left to the page cache of a model that is streamed is read here and there: what the kernel would read around it is not wanted.
static void advise_random(const struct abi_tensor * t) {
    uint64_t     offset, bytes = dense_bytes(t);
    const char * address = t->data;
    if (address == NULL || bytes == 0 || ggs_files_find(address, bytes, &offset) < 0) return;
    uintptr_t page = ggs_memory_page(), from = (uintptr_t) address & ~(page - 1),
              to = ((uintptr_t) address + bytes + page - 1) & ~(page - 1);
    syscall(SYS_madvise, from, to - from, MADV_RANDOM);
}

void ggs_uses_advise(const struct abi_graph * graph) {
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        for (uint32_t s = 0; s < ABI_SOURCES; s++) {
            const struct abi_tensor * t = node->src[s];
            if (t != NULL && (node->op == ops.get_rows || dense_bytes(t) < GGS_STREAM_SMALL)) advise_random(t);
        }
    }
}

static struct ggs_weight * weight_of(const struct abi_tensor * t) {
    uint64_t offset, bytes;
    int      file;
    if (t == NULL || t->data == NULL || (file = ggs_files_find(t->data, 1, &offset)) < 0) return NULL;
    bytes = dense_bytes(t);
    if (bytes == 0 || ggs_files_find(t->data, bytes, &offset) != file || ggs_files_get(file)->direct < 0) return NULL;
    return bytes < GGS_STREAM_SMALL ? NULL : ggs_weight_at(t->data, bytes, file, offset);
}

static const struct abi_tensor * root_of(const struct abi_tensor * t) {
    while (t != NULL && t->view_src != NULL) t = t->view_src;
    return t;
}

// The product with the router's matrix that the ids were made from.
static const struct abi_tensor * find_router(const struct abi_tensor * ids, uint32_t n_experts) {
    const struct abi_tensor * t = root_of(ids);
    for (int steps = 0; t != NULL && steps < 12; steps++) {
        if (t->op == ops.mul_mat && t->src[0] != NULL && t->src[0]->ne[1] == n_experts) return t;
        t = t->src[0];
    }
    return NULL;
}

static int layer_of(const struct abi_tensor * weight) {
    int layer;
    return sscanf(weight->name, "blk.%d.", &layer) == 1 ? layer : -1;
}

// What the router saw is what the experts get, where that is the same for all experts of a token.
static void set_hidden(struct ggs_routing * r, const struct abi_tensor * hidden, int token) {
    if (hidden == NULL || hidden->type != 0 || hidden->nb[0] != sizeof(float)) return;
    r->hidden   = hidden;
    r->n_tokens = hidden->ne[token];
    r->step     = hidden->nb[token];
}

static struct ggs_routing * routing_of(const struct abi_tensor * node, struct ggs_weight * w) {
    const struct abi_tensor *ids = node->src[2], *matrices = node->src[0];
    uint32_t                 n_experts = (uint32_t) matrices->ne[2];
    struct ggs_routing *     r         = NULL;
    for (uint32_t i = ggs_uses.n_routings; i-- > 0 && r == NULL && i + 4 > ggs_uses.n_routings;) {
        if (ggs_uses.routings[i].ids == ids) r = &ggs_uses.routings[i];
    }
    if (r != NULL) {
        if (w->group == NULL && !ggs_expert_group_add(r->group, w)) return NULL;
        return w->group == r->group ? r : NULL;
    }
    if (ggs_uses.n_routings == GGS_USES_GROUPS) return NULL;
    struct ggs_expert_group * g = w->group;
    if (g == NULL) {
        g = ggs_expert_group_new(n_experts, (uint32_t) ids->ne[0], layer_of(matrices), (uint64_t) matrices->ne[0]);
        if (g == NULL || !ggs_expert_group_add(g, w)) return NULL;
    }
    r         = &ggs_uses.routings[ggs_uses.n_routings++];
    r->group  = g;
    r->ids    = ids;
    r->routed = r->fits = false;
    r->hits = r->misses = r->predicted = r->predicted_used = 0;
    r->hidden                                              = NULL;
    const struct abi_tensor * router                       = find_router(ids, n_experts);
    if (router == NULL) {
        if (node->src[1]->ne[1] == 1) set_hidden(r, node->src[1], 2);
    } else if (router->src[0]->type == 0) {
        if (g->router == NULL) {
            uint64_t bytes = dense_bytes(router->src[0]), offset;
            int      file  = bytes == 0 ? -1 : ggs_files_find(router->src[0]->data, bytes, &offset);
            if (file >= 0) g->router = ggs_weight_at(router->src[0]->data, bytes, file, offset);
            if (g->router != NULL) g->router->is_router = true;
        }
        set_hidden(r, router->src[1], 1);
    }
    return r;
}

static bool grow(uint32_t nodes) {
    if (ggs_uses.n + 16 > ggs_uses.capacity) {
        uint32_t capacity = 2 * ggs_uses.capacity + 256;
        void *   more     = realloc(ggs_uses.uses, capacity * sizeof(*ggs_uses.uses));
        if (more == NULL) return false;
        ggs_uses.uses     = more;
        ggs_uses.capacity = capacity;
    }
    if (table == NULL || table->mask < 4 * nodes) {
        uint32_t size = 4096;
        while (size <= 4 * nodes) size *= 2;
        struct table * larger = calloc(1, sizeof(*larger) + size * sizeof(struct ggs_action));
        if (larger == NULL) return false;
        larger->mask = size - 1;
        __atomic_store_n(&table, larger, __ATOMIC_RELEASE);
    }
    return true;
}

static inline struct ggs_action * action_at(const struct abi_tensor * node) {
    struct table * all = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    uint32_t       at  = (uint32_t) (((uint64_t) node * 0x9e3779b97f4a7c15u) >> 40) & all->mask;
    while (all->actions[at].generation == ggs_uses.generation && all->actions[at].node != node)
        at = (at + 1) & all->mask;
    return &all->actions[at];
}

const struct ggs_action * ggs_uses_at(const struct abi_tensor * node) {
    const struct ggs_action * a = action_at(node);
    // A thread of another graph, which is not streamed, may look while this one is surveyed: an entry that was free a moment ago is not its own.
    return a->generation == ggs_uses.generation && a->node == node ? a : NULL;
}

static struct ggs_action * action_for(const struct abi_tensor * node) {
    struct ggs_action * a = action_at(node);
    if (a->generation != ggs_uses.generation) *a = (struct ggs_action){node, ggs_uses.generation, ggs_uses.n, 0, NULL};
    return a;
}

static void add_use(struct abi_tensor * node, uint32_t number, uint32_t source, struct ggs_weight * w,
                    struct ggs_routing * r) {
    struct ggs_action * a = action_for(node);
    ggs_uses.uses[ggs_uses.n] =
        (struct ggs_use){.node = node, .number = number, .source = source, .weight = w, .routing = r};
    ggs_uses.n++;
    ggs_uses.bytes += w->bytes;
    a->n++;
}

// From the node behind the one that makes the ids up to the first that uses them: whichever begins first has them looked at.
void ggs_uses_plan_routes(const struct abi_graph * graph) {
    for (uint32_t i = 0, node = 0; i < ggs_uses.n_routings; i++) {
        struct ggs_routing *      r    = &ggs_uses.routings[i];
        const struct abi_tensor * root = root_of(r->ids);
        uint32_t                  n = (uint32_t) graph->n_nodes, from = node;
        while (from < n && graph->nodes[from] != root) from++;
        if (from == n) continue; // made elsewhere: looked at when they are used
        for (node = from + 1; node < n; node++) {
            const struct abi_tensor * t = graph->nodes[node];
            struct ggs_action *       a = action_for(t);
            if (a->route == NULL) a->route = r;
            if (t->op == ops.mul_mat_id && t->src[2] == r->ids) break;
        }
    }
}

// Takes note of how far the node's result reaches into the engine's memory.
static bool reaches_further(const struct abi_tensor * node) {
    uint64_t bytes = ggs_engine.type_size(node->type);
    if (node->data == NULL || node->view_src != NULL) return false;
    for (int d = 0; d < ABI_DIMS; d++) bytes += (uint64_t) (node->ne[d] - 1) * node->nb[d];
    return ggs_memory_reach(node->data, bytes);
}

bool ggs_uses_survey(const struct abi_graph * graph) {
    find_ops();
    bool has_flag  = false;
    ggs_uses.grown = false;
    ggs_uses.n = ggs_uses.n_routings = 0;
    ggs_uses.bytes                   = 0;
    ggs_uses.generation++;
    for (int i = 0; i < graph->n_nodes; i++) has_flag |= (graph->nodes[i]->flags & FLAG_COMPUTE) != 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        struct abi_tensor * node = graph->nodes[i];
        if (!is_computed(node, has_flag)) continue;
        ggs_uses.grown |= reaches_further(node);
        if (!grow((uint32_t) graph->n_nodes)) return false;
        for (uint32_t s = 0; s < ABI_SOURCES; s++) {
            struct abi_tensor * t = node->src[s];
            struct ggs_weight * w = t == NULL || node->op == ops.get_rows ? NULL : weight_of(t);
            if (w == NULL) continue;
            if (node->op == ops.mul_mat_id && s == 0) {
                const struct abi_tensor * ids = node->src[2];
                if (ids == NULL || ids->nb[0] != sizeof(int32_t) || t->ne[3] != 1 || t->ne[2] < 2) continue;
                struct ggs_routing * r = routing_of(node, w);
                if (r != NULL) add_use(node, (uint32_t) i, s, w, r);
            } else if (w->group == NULL) {
                add_use(node, (uint32_t) i, s, w, NULL);
            }
        }
    }
    return true;
}
