#include "stream/weight-uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/stream-plan.h"
#include "stream/core.h"
#include "stream/memory/pages.h"

enum { FLAG_COMPUTE = 16, MOST_OPS = 256, STEPS_TO_ROUTER = 12, ROUTINGS_BACK = 4 };

void ggs_uses_release(struct ggs_uses * u) {
    for (struct ggs_action_table * table = u->table; table != NULL;) {
        struct ggs_action_table * smaller = table->smaller;
        free(table);
        table = smaller;
    }
    for (size_t i = 0; i < u->routings_capacity; i++) {
        free(u->routings[i].chosen);
        free(u->routings[i].renamed);
    }
    free(u->routings);
    free(u->uses);
}

// ---- the table ----

static struct ggs_action * action_at(const struct ggs_uses * u, const struct abi_tensor * node) {
    struct ggs_action_table * table = __atomic_load_n(&u->table, __ATOMIC_ACQUIRE);
    uint64_t                  now   = __atomic_load_n(&u->generation, __ATOMIC_RELAXED);
    uint32_t                  at    = (uint32_t) (((uint64_t) node * 0x9e3779b97f4a7c15u) >> 40) & table->mask;
    while (__atomic_load_n(&table->actions[at].generation, __ATOMIC_RELAXED) == now &&
           __atomic_load_n(&table->actions[at].node, __ATOMIC_RELAXED) != node)
        at = (at + 1) & table->mask;
    return &table->actions[at];
}

const struct ggs_action * ggs_uses_at(const struct ggs_uses * u, const struct abi_tensor * node) {
    const struct ggs_action * a   = action_at(u, node);
    uint64_t                  now = __atomic_load_n(&u->generation, __ATOMIC_RELAXED);
    bool                      there =
        __atomic_load_n(&a->generation, __ATOMIC_RELAXED) == now && __atomic_load_n(&a->node, __ATOMIC_RELAXED) == node;
    return there ? a : NULL;
}

static struct ggs_action * action_for(struct ggs_uses * u, const struct abi_tensor * node) {
    struct ggs_action * a = action_at(u, node);
    if (a->generation == u->generation) return a;
    a->first = (uint32_t) u->n;
    a->n     = 0;
    a->route = NULL;
    __atomic_store_n(&a->node, node, __ATOMIC_RELAXED);
    __atomic_store_n(&a->generation, u->generation, __ATOMIC_RELAXED);
    return a;
}

static bool reserve_table(struct ggs_uses * u, uint32_t nodes) {
    if (u->table != NULL && u->table->mask >= 4 * nodes) return true;
    uint32_t size = 4096;
    while (size <= 4 * nodes) size *= 2;
    struct ggs_action_table * larger = calloc(1, sizeof(*larger) + size * sizeof(struct ggs_action));
    if (larger == NULL) return false;
    larger->mask    = size - 1;
    larger->smaller = u->table;
    __atomic_store_n(&u->table, larger, __ATOMIC_RELEASE);
    return true;
}

// ---- ops and tensors ----

static void find_ops(struct ggs_stream * s) {
    struct {
        const char * name;
        int *        number;
    } wanted[] = {{"NONE", &s->uses.ops.none},           {"VIEW", &s->uses.ops.view},
                  {"RESHAPE", &s->uses.ops.reshape},     {"PERMUTE", &s->uses.ops.permute},
                  {"TRANSPOSE", &s->uses.ops.transpose}, {"GET_ROWS", &s->uses.ops.get_rows},
                  {"MUL_MAT", &s->uses.ops.mul_mat},     {"MUL_MAT_ID", &s->uses.ops.mul_mat_id}};
    if (s->uses.ops.known) return;
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++) {
        *wanted[k].number = -1;
        for (int i = 0; i < 64 && *wanted[k].number < 0; i++) {
            const char * name = s->engine->op_name(i);
            if (name != NULL && strcmp(name, wanted[k].name) == 0) *wanted[k].number = i;
        }
    }
    s->uses.ops.known = true;
}

static bool is_view(const struct ggs_uses * u, const struct abi_tensor * node) {
    int op = node->op;
    return op == u->ops.view || op == u->ops.reshape || op == u->ops.permute || op == u->ops.transpose;
}

static bool is_computed(const struct ggs_uses * u, const struct abi_tensor * node, bool has_flag) {
    if (node->op == u->ops.none || is_view(u, node)) return false;
    if (has_flag && (node->flags & FLAG_COMPUTE) == 0) return false;
    for (int d = 0; d < ABI_DIMS; d++) {
        if (node->ne[d] == 0) return false;
    }
    return true;
}

uint64_t ggs_tensor_bytes(const struct abi_functions * engine, const struct abi_tensor * t) {
    int64_t  block = engine->block_size(t->type);
    uint64_t bytes = engine->type_size(t->type);
    if (block <= 0 || t->nb[0] != bytes || t->ne[0] % block != 0) return 0;
    bytes *= (uint64_t) (t->ne[0] / block);
    for (int d = 1; d < ABI_DIMS; d++) {
        if (t->ne[d] > 1 && t->nb[d] != bytes) return 0;
        bytes *= (uint64_t) t->ne[d];
    }
    return bytes;
}

// Returns the file with the range of a tensor's data; NULL if it cannot be read directly.
static const struct ggs_stream_file * place_of(struct ggs_stream * s, const struct abi_tensor * t, uint64_t * offset,
                                               uint64_t * bytes) {
    if (t == NULL || t->data == NULL || ggs_files_find(&s->files, t->data, 1, offset) == NULL) return NULL;
    *bytes                              = ggs_tensor_bytes(s->engine, t);
    const struct ggs_stream_file * file = *bytes == 0 ? NULL : ggs_files_find(&s->files, t->data, *bytes, offset);
    return file == NULL || file->direct < 0 ? NULL : file;
}

static struct ggs_weight * weight_of(struct ggs_stream * s, const struct abi_tensor * t) {
    uint64_t                       offset, bytes;
    const struct ggs_stream_file * file = place_of(s, t, &offset, &bytes);
    if (file == NULL || bytes < GGS_STREAM_SMALL) return NULL;
    struct ggs_weight * w = ggs_weight_table_at(&s->weights, file, offset, bytes);
    if (w != NULL && w->address == NULL) w->address = t->data;
    return w;
}

// Weights left to the page cache are read at random positions, so the kernel must not read around
// them.
static void advise_random(struct ggs_stream * s, const struct abi_tensor * t) {
    uint64_t offset, bytes;
    if (place_of(s, t, &offset, &bytes) == NULL) return;
    uintptr_t page = ggs_page_size(), from = (uintptr_t) t->data & ~(page - 1),
              to = ((uintptr_t) t->data + bytes + page - 1) & ~(page - 1);
    syscall(SYS_madvise, from, to - from, MADV_RANDOM);
}

void ggs_uses_advise(struct ggs_stream * s, const struct abi_graph * graph) {
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        for (uint32_t k = 0; k < ABI_SOURCES; k++) {
            const struct abi_tensor * t = node->src[k];
            if (t != NULL && (node->op == s->uses.ops.get_rows || ggs_tensor_bytes(s->engine, t) < GGS_STREAM_SMALL))
                advise_random(s, t);
        }
    }
}

// ---- experts ----

static const struct abi_tensor * root_of(const struct abi_tensor * t) {
    while (t != NULL && t->view_src != NULL) t = t->view_src;
    return t;
}

// Finds the product with the router's matrix from which the ids were made.
static const struct abi_tensor * find_router(const struct ggs_uses * u, const struct abi_tensor * ids,
                                             uint32_t n_experts) {
    const struct abi_tensor * t = root_of(ids);
    for (int steps = 0; t != NULL && steps < STEPS_TO_ROUTER; steps++) {
        if (t->op == u->ops.mul_mat && t->src[0] != NULL && t->src[0]->ne[1] == n_experts) return t;
        t = t->src[0];
    }
    return NULL;
}

static int layer_of(const struct abi_tensor * weight) {
    int layer;
    return sscanf(weight->name, "blk.%d.", &layer) == 1 ? layer : -1;
}

// The router's input is also the experts' input if it is the same for all experts of a token.
static void set_hidden(struct ggs_routing * r, const struct abi_tensor * hidden, int token) {
    if (hidden == NULL || hidden->type != 0 || hidden->nb[0] != sizeof(float)) return;
    r->hidden   = hidden;
    r->n_tokens = hidden->ne[token];
    r->step     = hidden->nb[token];
}

static void find_hidden(struct ggs_stream * s, struct ggs_routing * r, const struct abi_tensor * node) {
    struct ggs_expert_group * g      = r->group;
    const struct abi_tensor * router = find_router(&s->uses, r->ids, g->n_experts);
    if (router == NULL) {
        if (node->src[1]->ne[1] == 1) set_hidden(r, node->src[1], 2);
    } else if (router->src[0]->type == 0) {
        uint64_t                       offset, bytes;
        const struct ggs_stream_file * file = place_of(s, router->src[0], &offset, &bytes);
        if (g->router == NULL && file != NULL) g->router = ggs_weight_table_at(&s->weights, file, offset, bytes);
        if (g->router != NULL) g->router->is_router = true;
        set_hidden(r, router->src[1], 1);
    }
}

static struct ggs_routing * add_routing(struct ggs_uses * u, struct ggs_expert_group * g,
                                        const struct abi_tensor * ids) {
    size_t before = u->routings_capacity;
    if (!ggs_array_reserve(u->routings, u->routings_capacity, u->n_routings + 1)) return NULL;
    memset(u->routings + before, 0, (u->routings_capacity - before) * sizeof(*u->routings));
    struct ggs_routing * r = &u->routings[u->n_routings++]; // its arrays are reused
    *r                     = (struct ggs_routing){.group            = g,
                                                  .ids              = ids,
                                                  .chosen           = r->chosen,
                                                  .chosen_capacity  = r->chosen_capacity,
                                                  .renamed          = r->renamed,
                                                  .renamed_capacity = r->renamed_capacity};
    return r;
}

// Returns the number of the run's routing for the weight's group, or -1.
static int32_t routing_of(struct ggs_stream * s, const struct abi_tensor * node, struct ggs_weight * w) {
    struct ggs_uses *        u   = &s->uses;
    const struct abi_tensor *ids = node->src[2], *matrices = node->src[0];
    for (size_t i = u->n_routings; i-- > 0 && i + ROUTINGS_BACK > u->n_routings;) {
        struct ggs_routing * r = &u->routings[i];
        if (r->ids != ids) continue;
        if (w->group == NULL && !ggs_expert_group_add(r->group, w)) return -1;
        return w->group == r->group ? (int32_t) i : -1;
    }
    struct ggs_expert_group * g = w->group;
    if (g == NULL) {
        g = ggs_weight_table_add_group(&s->weights, (uint32_t) matrices->ne[2], (uint32_t) ids->ne[0],
                                       layer_of(matrices), (uint64_t) matrices->ne[0]);
        if (g == NULL || !ggs_expert_group_add(g, w)) return -1;
    }
    struct ggs_routing * r = add_routing(u, g, ids);
    if (r == NULL) return -1;
    find_hidden(s, r, node);
    return (int32_t) u->n_routings - 1;
}

// Returns the tensor whose op computes the data: behind views, but not behind what changes it in
// place, which also has a view_src.
static const struct abi_tensor * maker_of(const struct ggs_uses * u, const struct abi_tensor * t) {
    while (is_view(u, t) && t->src[0] != NULL) t = t->src[0];
    return t;
}

// Marks the nodes from the one after the ids' node to their first use: whichever begins first reads
// the ids.
static void plan_routes(struct ggs_uses * u, const struct abi_graph * graph) {
    uint32_t node = 0, n = (uint32_t) graph->n_nodes;
    for (size_t i = 0; i < u->n_routings; i++) {
        struct ggs_routing *      r     = &u->routings[i];
        const struct abi_tensor * maker = maker_of(u, r->ids);
        uint32_t                  from  = node;
        while (from < n && graph->nodes[from] != maker) from++;
        if (from == n) continue; // made elsewhere: read when they are used
        for (node = from + 1; node < n; node++) {
            const struct abi_tensor * t = graph->nodes[node];
            struct ggs_action *       a = action_for(u, t);
            if (a->route == NULL) a->route = r;
            if (t->op == u->ops.mul_mat_id && t->src[2] == r->ids) break;
        }
    }
}

// ---- the survey ----

static bool add_use(struct ggs_uses * u, struct ggs_use use) {
    struct ggs_action * a = action_for(u, use.node);
    if (!ggs_array_push(u->uses, u->n, u->capacity, use)) return false;
    u->bytes += use.weight->bytes;
    a->n++;
    return true;
}

static bool has_experts(const struct ggs_uses * u, const struct abi_tensor * node) {
    const struct abi_tensor *ids = node->src[2], *matrices = node->src[0];
    return node->op == u->ops.mul_mat_id && ids != NULL && ids->nb[0] == sizeof(int32_t) && matrices->ne[3] == 1 &&
           matrices->ne[2] > 1;
}

static bool add_uses_of(struct ggs_stream * s, struct abi_tensor * node, uint32_t number) {
    struct ggs_uses * u = &s->uses;
    for (uint32_t k = 0; k < ABI_SOURCES && node->op != u->ops.get_rows; k++) {
        struct ggs_weight * w   = node->src[k] == NULL ? NULL : weight_of(s, node->src[k]);
        struct ggs_use      use = {.node = node, .number = number, .source = k, .weight = w, .routing = -1};
        if (w == NULL || (node->op == u->ops.mul_mat_id && k == 0 && !has_experts(u, node))) continue;
        if (node->op == u->ops.mul_mat_id && k == 0) {
            use.routing = routing_of(s, node, w);
            if (use.routing < 0) continue;
        } else if (w->group != NULL) {
            continue;
        }
        if (!add_use(u, use)) return false;
    }
    return true;
}

// Notes how far the node's result reaches into the engine's memory.
static bool reaches_further(struct ggs_stream * s, const struct abi_tensor * node) {
    uint64_t bytes = s->engine->type_size(node->type);
    if (node->data == NULL || node->view_src != NULL) return false;
    for (int d = 0; d < ABI_DIMS; d++) bytes += (uint64_t) (node->ne[d] - 1) * node->nb[d];
    return ggs_engine_buffers_reach(&s->buffers, node->data, bytes);
}

bool ggs_uses_survey(struct ggs_stream * s, const struct abi_graph * graph) {
    struct ggs_uses * u        = &s->uses;
    bool              has_flag = false;
    find_ops(s);
    if (!reserve_table(u, (uint32_t) graph->n_nodes)) return false;
    u->n = u->n_routings = 0;
    u->bytes             = 0;
    u->grown             = false;
    __atomic_store_n(&u->generation, u->generation + 1, __ATOMIC_RELAXED);
    for (int i = 0; i < graph->n_nodes; i++) has_flag |= (graph->nodes[i]->flags & FLAG_COMPUTE) != 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        struct abi_tensor * node = graph->nodes[i];
        if (!is_computed(u, node, has_flag)) continue;
        u->grown |= reaches_further(s, node);
        if (!add_uses_of(s, node, (uint32_t) i)) return false;
    }
    plan_routes(u, graph);
    return true;
}
