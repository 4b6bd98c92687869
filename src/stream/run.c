#include "stream/run.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/stream-plan.h"
#include "stream/budget.h"
#include "stream/experts.h"
#include "stream/files.h"
#include "stream/memory.h"
#include "stream/queue.h"
#include "stream/reader.h"
#include "stream/weights.h"
#include "trace/spool.h"

enum {
    FLAG_COMPUTE = 16,
    TENSOR_BYTES = sizeof(struct abi_tensor) + 16, // behind the name: a pointer, and padding
    SPINS        = 4000,                           // some 100 microseconds
    SPINS_SOON   = 20000,
    SMALL_RUN    = 3, // uses
    MOST_GROUPS  = 1024,
};

// A source of an op that is exchanged while it runs.
struct use {
    struct abi_tensor *  node;
    uint32_t             number, source; // of the node in its graph
    struct ggs_weight *  weight;
    struct ggs_routing * routing; // NULL: the whole weight is read
    const char *         adopt;   // data of a whole expert weight, to fill slots from afterwards
    struct abi_tensor *  before[2];
    bool                 exchanged;
};

// What is to be done when a node begins.
struct action {
    const struct abi_tensor * node;
    uint64_t                  generation;
    uint32_t                  first, n; // uses
    struct ggs_routing *      route;    // whose ids are there by now
};

// By node, open addressing. A larger one takes its place, but it is never freed: a thread of another run may be looking into it.
struct table {
    uint32_t      mask;
    struct action actions[];
};

static struct {
    pthread_mutex_t lock; // held while a graph runs, and while what runs depend on is changed
    bool            running;
    uint64_t        generation;
    struct use *    uses;
    char (*shadows)[2][TENSOR_BYTES];
    struct ggs_journal_streamed_use * told; // what became of each use, where a recording wants it
    uint32_t                          n_uses, capacity;
    uint32_t                          ready;   // uses that other threads may go on with; a futex
    uint32_t                          waiters; // threads that sleep on it
    uint32_t                          first_exchanged, end_exchanged;
    struct table *                    table; // of actions
    struct ggs_routing                routings[MOST_GROUPS];
    uint32_t                          n_told, n_routings;
    struct ggs_weight **              order; // of the weights in this run that go through the queue
    uint32_t                          n_order;
    bool                              grown; // the graph reaches further into the engine's memory than any before
    uint64_t                          began, waited_before;
} run = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_thread_0; // of the run

// The capture library's, if that is loaded too.
static void (*note)(const struct ggs_journal_streamed_use * uses, uint64_t count);

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
    note = (void (*)(const struct ggs_journal_streamed_use *, uint64_t)) dlsym(RTLD_DEFAULT, "ggscope_note_streamed");
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

static void advise_small(const struct abi_graph * graph) {
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

static struct ggs_routing * routing_of(const struct abi_tensor * ids, struct ggs_weight * w, uint32_t n_experts) {
    struct ggs_routing * r = NULL;
    for (uint32_t i = run.n_routings; i-- > 0 && r == NULL && i + 4 > run.n_routings;) {
        if (run.routings[i].ids == ids) r = &run.routings[i];
    }
    if (r != NULL) {
        if (w->group == NULL && !ggs_group_add(r->group, w)) return NULL;
        return w->group == r->group ? r : NULL;
    }
    if (run.n_routings == MOST_GROUPS) return NULL;
    struct ggs_group * g = w->group;
    if (g == NULL) {
        g = ggs_group_new(n_experts, (uint32_t) ids->ne[0]);
        if (g == NULL || !ggs_group_add(g, w)) return NULL;
    }
    r         = &run.routings[run.n_routings++];
    r->group  = g;
    r->ids    = ids;
    r->routed = r->fits = false;
    r->hits = r->misses = r->predicted = r->predicted_used = 0;
    r->hidden                                              = NULL;
    const struct abi_tensor * router                       = find_router(ids, n_experts);
    if (router != NULL && router->src[1] != NULL && router->src[0]->type == 0 && router->src[1]->type == 0 &&
        router->src[1]->nb[0] == sizeof(float)) {
        if (g->router == NULL) {
            uint64_t bytes = dense_bytes(router->src[0]), offset;
            int      file  = bytes == 0 ? -1 : ggs_files_find(router->src[0]->data, bytes, &offset);
            if (file >= 0) g->router = ggs_weight_at(router->src[0]->data, bytes, file, offset);
            if (g->router != NULL) g->router->is_router = true;
        }
        r->hidden = router->src[1];
    }
    return r;
}

static bool grow(uint32_t nodes) {
    if (run.n_uses + 16 > run.capacity) {
        uint32_t capacity = 2 * run.capacity + 256;
        void *   uses     = realloc(run.uses, capacity * sizeof(*run.uses)), *order;
        if (uses == NULL) return false;
        run.uses = uses;
        order    = realloc(run.order, capacity * sizeof(*run.order));
        if (order == NULL) return false;
        run.order = order;
        free(run.shadows);
        free(run.told);
        run.shadows = malloc(capacity * sizeof(*run.shadows));
        run.told    = note == NULL ? NULL : malloc(capacity * sizeof(*run.told));
        if (run.shadows == NULL || (run.told == NULL && note != NULL)) {
            run.capacity = 0;
            return false;
        }
        run.capacity = capacity;
    }
    if (run.table == NULL || run.table->mask < 4 * nodes) {
        uint32_t size = 4096;
        while (size <= 4 * nodes) size *= 2;
        struct table * table = calloc(1, sizeof(*table) + size * sizeof(struct action));
        if (table == NULL) return false;
        table->mask = size - 1;
        __atomic_store_n(&run.table, table, __ATOMIC_RELEASE);
    }
    return true;
}

static inline struct action * action_at(const struct abi_tensor * node) {
    struct table * table = __atomic_load_n(&run.table, __ATOMIC_ACQUIRE);
    uint32_t       at    = (uint32_t) (((uint64_t) node * 0x9e3779b97f4a7c15u) >> 40) & table->mask;
    while (table->actions[at].generation == run.generation && table->actions[at].node != node)
        at = (at + 1) & table->mask;
    return &table->actions[at];
}

static struct action * action_for(const struct abi_tensor * node) {
    struct action * a = action_at(node);
    if (a->generation != run.generation) *a = (struct action){node, run.generation, run.n_uses, 0, NULL};
    return a;
}

static void add_use(struct abi_tensor * node, uint32_t number, uint32_t source, struct ggs_weight * w,
                    struct ggs_routing * r) {
    struct action * a    = action_for(node);
    run.uses[run.n_uses] = (struct use){.node = node, .number = number, .source = source, .weight = w, .routing = r};
    run.n_uses++;
    a->n++;
}

// From the node behind the one that makes the ids up to the first that uses them: whichever begins first has them looked at.
static void plan_routes(const struct abi_graph * graph) {
    for (uint32_t i = 0, node = 0; i < run.n_routings; i++) {
        struct ggs_routing *      r    = &run.routings[i];
        const struct abi_tensor * root = root_of(r->ids);
        uint32_t                  n = (uint32_t) graph->n_nodes, from = node;
        while (from < n && graph->nodes[from] != root) from++;
        if (from == n) continue; // made elsewhere: looked at when they are used
        for (node = from + 1; node < n; node++) {
            const struct abi_tensor * t = graph->nodes[node];
            struct action *           a = action_for(t);
            if (a->route == NULL) a->route = r;
            if (t->op == ops.mul_mat_id && t->src[2] == r->ids) break;
        }
    }
}

// Will so many tokens choose more experts than there are slots? Then the weight is read as a whole.
static bool wants_whole(const struct ggs_routing * r) {
    double n = r->group->n_experts, rows = (double) (r->ids->ne[0] * r->ids->ne[1]), none = 1;
    for (int64_t i = 0; i < r->ids->ne[1] && none > 1e-6; i++) none *= 1 - (double) r->ids->ne[0] / n;
    double   expected = n * (1 - none);
    uint32_t slots    = r->group->n_slots - r->group->n_gone;
    return rows > slots && expected + 1 >= slots;
}

// Takes note of how far the node's result reaches into the engine's memory.
static bool reaches_further(const struct abi_tensor * node) {
    uint64_t bytes = ggs_engine.type_size(node->type);
    if (node->data == NULL || node->view_src != NULL) return false;
    for (int d = 0; d < ABI_DIMS; d++) bytes += (uint64_t) (node->ne[d] - 1) * node->nb[d];
    return ggs_memory_reach(node->data, bytes);
}

static bool survey(const struct abi_graph * graph) {
    bool has_flag = false;
    run.grown     = false;
    run.n_uses = run.n_routings = 0;
    run.generation++;
    for (int i = 0; i < graph->n_nodes; i++) has_flag |= (graph->nodes[i]->flags & FLAG_COMPUTE) != 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        struct abi_tensor * node = graph->nodes[i];
        if (!is_computed(node, has_flag)) continue;
        run.grown |= reaches_further(node);
        if (!grow((uint32_t) graph->n_nodes)) return false;
        for (uint32_t s = 0; s < ABI_SOURCES; s++) {
            struct abi_tensor * t = node->src[s];
            struct ggs_weight * w = t == NULL || node->op == ops.get_rows ? NULL : weight_of(t);
            if (w == NULL) continue;
            if (node->op == ops.mul_mat_id && s == 0) {
                const struct abi_tensor * ids = node->src[2];
                if (ids == NULL || ids->nb[0] != sizeof(int32_t) || t->ne[3] != 1 || t->ne[2] < 2) continue;
                struct ggs_routing * r = routing_of(ids, w, (uint32_t) t->ne[2]);
                if (r != NULL) add_use(node, (uint32_t) i, s, w, r);
            } else if (w->group == NULL) {
                add_use(node, (uint32_t) i, s, w, NULL);
            }
        }
    }
    return true;
}

// Is memory of slots to be lent that was given back?
static bool wants_slots_lent(void) {
    bool any = false;
    for (uint32_t i = 0; i < run.n_routings; i++) any |= wants_whole(&run.routings[i]);
    return any && !ggs_queue_borrows();
}

// Memory of some slots is the ring while whole experts are read.
static void lend_slots(bool wanted) {
    uint64_t bytes;
    if (wanted == ggs_queue_borrows()) return;
    ggs_reader_drain();
    char * memory = wanted ? ggs_weights_lend(&bytes) : NULL;
    ggs_queue_borrow(memory, memory == NULL ? 0 : bytes);
    if (memory == NULL) ggs_weights_lent_back();
}

// The order of weights for the queue: all dense ones, and those experts that will be read as a whole.
static struct ggs_sequence * order_weights(void) {
    run.n_order = 0;
    bool any    = false;
    for (uint32_t i = 0; i < run.n_routings; i++) any |= run.routings[i].whole = wants_whole(&run.routings[i]);
    lend_slots(any);
    for (uint32_t i = 0; i < run.n_routings; i++) run.routings[i].whole |= run.routings[i].group->lent;
    for (uint32_t i = 0; i < run.n_uses; i++) {
        struct use * u = &run.uses[i];
        if (u->routing != NULL && (u->weight->place != GGS_PLACE_SLOTS || !u->routing->whole)) continue;
        if (u->routing != NULL && !ggs_queue_holds(u->weight)) continue;
        run.order[run.n_order++] = u->weight;
    }
    return run.n_order == 0 ? NULL : ggs_sequence_of(run.order, run.n_order);
}

// ---- exchange ----

static struct abi_tensor * shadow(uint32_t use, uint32_t which, const struct abi_tensor * of) {
    struct abi_tensor * copy = (struct abi_tensor *) run.shadows[use][which];
    memcpy(copy, of, TENSOR_BYTES);
    return copy;
}

static void exchange(struct use * u, const char * data) {
    uint32_t            i    = (uint32_t) (u - run.uses);
    struct abi_tensor * copy = shadow(i, 0, u->node->src[u->source]);
    copy->data               = (void *) data;
    u->before[0]             = u->node->src[u->source];
    u->node->src[u->source]  = copy;
    u->exchanged             = true;
}

static void exchange_experts(struct use * u) {
    uint32_t            i    = (uint32_t) (u - run.uses);
    struct ggs_weight * w    = u->weight;
    struct abi_tensor * copy = shadow(i, 0, u->node->src[0]);
    struct abi_tensor * ids  = shadow(i, 1, u->node->src[2]);
    copy->data               = w->slots + w->delta;
    copy->nb[2]              = w->stride;
    copy->nb[3]              = w->stride * (uint64_t) copy->ne[2];
    ids->data                = u->routing->renamed;
    ids->nb[1]               = (size_t) ids->ne[0] * sizeof(int32_t);
    ids->nb[2] = ids->nb[3] = ids->nb[1] * (size_t) ids->ne[1];
    u->before[0]            = u->node->src[0];
    u->before[1]            = u->node->src[2];
    u->node->src[0]         = copy;
    u->node->src[2]         = ids;
    u->exchanged            = true;
}

static void put_back(void) {
    for (uint32_t i = run.first_exchanged; i < run.end_exchanged; i++) {
        struct use * u = &run.uses[i];
        if (!u->exchanged) continue;
        u->exchanged            = false;
        u->node->src[u->source] = u->before[0];
        if (u->before[1] != NULL) u->node->src[2] = u->before[1];
        if (u->weight->in_use) ggs_weight_used(u->weight);
        if (u->adopt != NULL) ggs_experts_adopt(u->routing, u->weight->in_group, u->adopt);
    }
    run.first_exchanged = run.end_exchanged;
}

static void route(struct ggs_routing * r) {
    if (r->routed) return;
    r->routed = true;
    if (r->whole) return;
    ggs_experts_route(r);
    if (r + 1 < run.routings + run.n_routings) ggs_experts_predict(r, r + 1);
}

// Where the use's data is. What has to be read is asked for here, or was before; the op waits until it is there.
static enum ggs_streamed_place supply(struct use * u) {
    ggs_stream_counts.uses++;
    if (u->routing == NULL) {
        const char * data = ggs_queue_take(u->weight);
        if (data != NULL) {
            exchange(u, data);
            return u->weight->place == GGS_PLACE_KEPT ? GGS_STREAMED_KEPT : GGS_STREAMED_RING;
        }
    } else if (u->weight->place == GGS_PLACE_SLOTS) {
        route(u->routing);
        if (!u->routing->whole) {
            if (u->routing->fits && ggs_experts_wait(u->routing, u->weight->in_group)) {
                exchange_experts(u);
                return GGS_STREAMED_SLOTS;
            }
        } else {
            const char * data = ggs_queue_take(u->weight);
            if (data != NULL) {
                exchange(u, data);
                u->adopt = data;
                return GGS_STREAMED_RING;
            }
        }
    }
    ggs_stream_counts.mapped++;
    return GGS_STREAMED_MAPPING;
}

// The same, and what it came to is noted for the recording.
static void supply_and_tell(struct use * u) {
    const struct ggs_weight *       w      = u->weight;
    uint64_t                        waited = ggs_stream_counts.wait_ns;
    bool                            ready  = w->ready;
    enum ggs_streamed_place         place  = supply(u);
    struct ggs_journal_streamed_use told   = {
          .node = u->number, .source = (uint16_t) u->source, .place = (uint16_t) place};
    told.wait_ns = ggs_stream_counts.wait_ns - waited;
    if (place == GGS_STREAMED_RING || (place == GGS_STREAMED_KEPT && !ready)) told.bytes_read = w->bytes;
    if (place == GGS_STREAMED_SLOTS) {
        const struct ggs_routing * r = u->routing;
        told.hits                    = r->hits;
        told.misses                  = r->misses;
        told.predicted               = r->predicted;
        told.predicted_used          = r->predicted_used;
        told.bytes_read              = r->misses * w->expert_bytes;
        told.bytes_early             = r->predicted * w->expert_bytes;
    }
    run.told[run.n_told++] = told;
}

static void publish(uint32_t n) {
    __atomic_store_n(&run.ready, n, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&run.waiters, __ATOMIC_SEQ_CST) > 0)
        syscall(SYS_futex, &run.ready, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void begin_op(struct abi_tensor * node) {
    if (run.first_exchanged != run.end_exchanged) {
        put_back();
        ggs_queue_release();
    }
    const struct action * a = action_at(node);
    if (a->generation != run.generation) return;
    if (a->route != NULL) route(a->route);
    if (a->n == 0) return;
    ggs_reader_poll();
    ggs_queue_fill();
    run.first_exchanged = a->first;
    run.end_exchanged   = a->first + a->n;
    for (uint32_t i = 0; i < a->n; i++) {
        if (run.told != NULL) {
            supply_and_tell(&run.uses[a->first + i]);
        } else {
            supply(&run.uses[a->first + i]);
        }
    }
    publish(a->first + a->n);
}

static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

// Another thread of the run waits until thread 0 has what the op needs.
static void await(const struct abi_tensor * node) {
    const struct action * a = action_at(node);
    if (a->generation != run.generation || a->n == 0) return;
    uint32_t wanted = a->first + a->n, now;
    int      spins  = SPINS;
    for (;;) {
        for (int i = 0; i < spins; i++) {
            if (__atomic_load_n(&run.ready, __ATOMIC_ACQUIRE) >= wanted) return;
            pause_briefly();
        }
        __atomic_add_fetch(&run.waiters, 1, __ATOMIC_SEQ_CST);
        now = __atomic_load_n(&run.ready, __ATOMIC_SEQ_CST);
        if (now < wanted) syscall(SYS_futex, &run.ready, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
        __atomic_sub_fetch(&run.waiters, 1, __ATOMIC_SEQ_CST);
        spins = SPINS_SOON; // woken: it is there, or soon will be
    }
}

void ggs_run_soon(void) {
    if (__atomic_load_n(&run.waiters, __ATOMIC_SEQ_CST) > 0)
        syscall(SYS_futex, &run.ready, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void ggs_run_op(struct abi_tensor * node) {
    if (!__atomic_load_n(&run.running, __ATOMIC_ACQUIRE)) return;
    if (is_thread_0) {
        begin_op(node);
    } else {
        await(node);
    }
}

// ---- runs ----

static bool prepare(const struct abi_graph * graph) {
    uint64_t size;
    find_ops();
    if (ggs_files_changed(&size) >= 0) {
        ggs_stream_note_failure();
        return false;
    }
    if (!survey(graph) || run.n_uses == 0) return false;
    if (ggs_budget_due(run.grown, run.n_uses < SMALL_RUN) || (ggs_weights_given() > 0 && wants_slots_lent())) {
        ggs_queue_reset();
        if (!ggs_budget_decide()) return false;
        advise_small(graph);
        for (uint32_t i = 0; i < run.n_routings; i++) { // small ones are no use of their own
            if (run.routings[i].group->router != NULL) ggs_queue_load(run.routings[i].group->router);
        }
    }
    plan_routes(graph);
    struct ggs_sequence * sequence = order_weights();
    run.ready = run.first_exchanged = run.end_exchanged = run.n_told = 0;
    if (sequence != NULL) {
        ggs_queue_begin(sequence);
        ggs_queue_fill();
    }
    return true;
}

bool ggs_run_enter(const struct abi_graph * graph) {
    if (graph == NULL || graph->n_nodes <= 0 || is_thread_0 || pthread_mutex_trylock(&run.lock) != 0) return false;
    int passive = GGS_STREAM_PASSIVE;
    if (ggs_stream_now() == passive && ggs_budget_outgrown())
        __atomic_compare_exchange_n(&ggs_stream_state, &passive, GGS_STREAM_ON, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
    bool ok = ggs_stream_now() == GGS_STREAM_ON && prepare(graph);
    if (!ok) {
        pthread_mutex_unlock(&run.lock);
        return false;
    }
    ggs_stream_counts.runs++;
    run.began         = ggs_stream_clock();
    run.waited_before = ggs_stream_counts.wait_ns;
    is_thread_0       = true;
    __atomic_store_n(&run.running, true, __ATOMIC_RELEASE);
    return true;
}

void ggs_run_leave(void) {
    put_back();
    if (run.n_told > 0) note(run.told, run.n_told);
    ggs_queue_release();
    ggs_queue_end();
    ggs_queue_fill();
    ggs_experts_note_run(ggs_stream_counts.wait_ns - run.waited_before, ggs_stream_clock() - run.began);
    __atomic_store_n(&run.running, false, __ATOMIC_RELEASE);
    is_thread_0 = false;
    pthread_mutex_unlock(&run.lock);
}

// While a model is loaded the parts without weights are unmapped. Where weights are known already, one goes away.
void ggs_run_unmap(const void * address, size_t length) {
    pthread_mutex_lock(&run.lock);
    if (ggs_weights_total() > 0) {
        ggs_queue_reset();
        ggs_weights_forget();
        ggs_queue_resize(0);
    }
    ggs_files_unmapped(address, length);
    pthread_mutex_unlock(&run.lock);
}

void ggs_run_child(void) {
    for (uint32_t i = run.first_exchanged; i < run.end_exchanged; i++) {
        struct use * u = &run.uses[i];
        if (!u->exchanged) continue;
        u->node->src[u->source] = u->before[0];
        if (u->before[1] != NULL) u->node->src[2] = u->before[1];
    }
    run.running = false;
    is_thread_0 = false;
}
