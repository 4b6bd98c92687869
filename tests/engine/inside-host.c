// A program with an engine inside: the parts of ggml that a recording needs, in one file, so that
// the compiler knows which registers its small functions leave alone, and keeps values in them
// across calls.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "preload/ggml-abi.h"

#ifndef PUBLIC
#define PUBLIC __attribute__((noinline))
#endif
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#ifndef THREADS
#define THREADS 2
#endif
enum { NODES = 12, RUNS = 5, VALUES = 64 };
enum { OP_NONE, OP_ADD, OP_VIEW, OP_SCALE };

// Identifies a stripped engine.
__attribute__((used)) static const char assertion[] = "GGML_ASSERT(%s) failed";

// ---- tensors ----

struct context {
    char * at;
};
struct init {
    size_t size;
    void * memory;
    _Bool  no_alloc;
};
PUBLIC struct context * ggml_init(struct init params) {
    struct context * context = params.memory;
    context->at              = (char *) params.memory + 64;
    return context;
}
PUBLIC void ggml_free(struct context * context) {
    context->at = NULL;
}
PUBLIC struct abi_tensor * ggml_new_tensor_4d(struct context * context, int type, int64_t a, int64_t b, int64_t c,
                                              int64_t d) {
    struct abi_tensor * t = (struct abi_tensor *) context->at;
    memset(t, 0, sizeof(*t));
    t->type  = type;
    t->ne[0] = a, t->ne[1] = b, t->ne[2] = c, t->ne[3] = d;
    t->nb[0] = 4;
    for (int i = 1; i < ABI_DIMS; i++) t->nb[i] = t->nb[i - 1] * (size_t) t->ne[i - 1];
    t->data = (char *) (t + 1);
    context->at += (sizeof(*t) + t->nb[3] * (size_t) d + 63) & ~(size_t) 63;
    return t;
}
PUBLIC struct abi_tensor * ggml_set_name(struct abi_tensor * t, const char * name) {
    snprintf(t->name, sizeof(t->name), "%s", name);
    return t;
}
PUBLIC struct abi_tensor * ggml_view_1d(struct context * context, struct abi_tensor * t, int64_t n, size_t offset) {
    struct abi_tensor * v = ggml_new_tensor_4d(context, t->type, n, 1, 1, 1);
    v->op = OP_VIEW, v->src[0] = v->view_src = t, v->view_offs = offset, v->data = (char *) t->data + offset;
    return v;
}
PUBLIC struct abi_tensor * ggml_scale(struct context * context, struct abi_tensor * t, float factor) {
    struct abi_tensor * s = ggml_new_tensor_4d(context, t->type, t->ne[0], t->ne[1], t->ne[2], t->ne[3]);
    s->op = OP_SCALE, s->src[0] = t;
    memcpy(s->op_params, &factor, sizeof(factor));
    return s;
}
PUBLIC void ggml_set_input(struct abi_tensor * t) {
    t->flags |= 1;
}
PUBLIC void * ggml_get_data(const struct abi_tensor * t) {
    return t->data;
}
PUBLIC const char * ggml_op_name(int op) {
    static const char * const names[] = {"NONE",    "ADD",       "VIEW",     "SCALE",    "RESHAPE",
                                         "PERMUTE", "TRANSPOSE", "GET_ROWS", "SET_ROWS", "MUL_MAT_ID"};
    return op >= 0 && op < (int) (sizeof(names) / sizeof(names[0])) ? names[op] : "OTHER";
}
PUBLIC const char * ggml_type_name(int type) {
    return type == 0 ? "f32" : "other";
}
PUBLIC size_t ggml_type_size(int type) {
    return type == 0 ? 4 : 1;
}
PUBLIC int64_t ggml_blck_size(int type) {
    return type >= 0;
}
PUBLIC int ggml_graph_n_nodes(struct abi_graph * graph) {
    return graph->n_nodes;
}
PUBLIC struct abi_tensor * ggml_graph_node(struct abi_graph * graph, int i) {
    return graph->nodes[i];
}

// ---- backends and buffers: names alone ----

struct usage {
    int value;
};
PUBLIC const char * ggml_backend_name(void * backend) {
    return backend == NULL ? "none" : "CPU";
}
PUBLIC void * ggml_backend_buffer_get_base(void * buffer) {
    return buffer;
}
PUBLIC size_t ggml_backend_buffer_get_size(void * buffer) {
    return buffer == NULL;
}
PUBLIC void * ggml_backend_buffer_get_type(void * buffer) {
    return (char *) buffer + 1;
}
PUBLIC _Bool ggml_backend_buffer_is_host(void * buffer) {
    return buffer != NULL;
}
PUBLIC const char * ggml_backend_buft_name(void * type) {
    return type == NULL ? "none" : "CPU";
}
PUBLIC uint64_t ggml_graph_next_uid(void) {
    static uint64_t uid;
    return __atomic_add_fetch(&uid, 1, __ATOMIC_SEQ_CST);
}

// ---- computing ----

struct pool {
    int n_threads, arrived, passed;
};
static inline void wait_a_moment(void) {
#ifdef YIELDS
    long result = SYS_sched_yield;
    __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}
PUBLIC void ggml_barrier(struct pool * pool) {
#ifdef _OPENMP
    (void) pool;
#pragma omp barrier
#else
    int passed = __atomic_load_n(&pool->passed, __ATOMIC_SEQ_CST);
    if (__atomic_add_fetch(&pool->arrived, 1, __ATOMIC_SEQ_CST) == pool->n_threads) {
        __atomic_store_n(&pool->arrived, 0, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&pool->passed, 1, __ATOMIC_SEQ_CST);
    } else {
        while (__atomic_load_n(&pool->passed, __ATOMIC_SEQ_CST) == passed) wait_a_moment();
    }
#endif
}

static _Bool no_extra(void) {
    return 0;
}
static _Bool (*volatile extra)(void) = no_extra;
PUBLIC _Bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node) {
    return extra() && params != NULL && node != NULL;
}

// Keeps integers and floating point numbers in registers across calls of small functions.
static __attribute__((noinline)) double kernel(struct pool * pool, const float * x, long a, long b, long c, long d) {
    double p = x[0] * 1.5, q = x[1] * 2.5, r = x[2] * 3.5, s = x[3] * 4.5, t = x[4] * 5.5, u = x[5] * 6.5;
    ggml_barrier(pool);
    double v = p + q * r - s * t + u;
    p *= 2, q *= 3, r *= 4, s *= 5, t *= 6, u *= 7, a += b * 3, c ^= d;
    ggml_barrier(pool);
    return v + p - q + r - s + t - u + (double) (a * 31 + b * 37 + c * 41 + d * 43);
}

static __attribute__((noinline)) double number(double a, double b, double c, long d, long e) {
    double   x = a * b + c, y = a - b * c;
    uint64_t uid = ggml_graph_next_uid();
    return x * y + a + b * 2 + c * 3 + (double) (d * 5 + e * 7) + (uid == 0);
}

struct state {
    struct abi_graph * graph;
    struct pool *      pool;
    struct abi_plan *  plan;
    int                ith;
    double             sum;
};
static void * ggml_graph_compute_thread(void * data) {
    struct state *    state  = data;
    struct abi_params params = {.ith = state->ith, .nth = THREADS, .threadpool = state->pool};
    for (int i = 0; i < state->graph->n_nodes; i++) {
        struct abi_tensor * node = state->graph->nodes[i];
        if (node->op != OP_ADD && node->op != OP_SCALE) continue;
        if (!ggml_cpu_extra_compute_forward(&params, node))
            state->sum += kernel(state->pool, node->src[0]->data, i, i + 1, i + 2, i + 3);
        if (state->ith == 0 && state->plan->abort != NULL && state->plan->abort(state->plan->abort_data)) break;
        ggml_barrier(state->pool);
    }
    ggml_barrier(state->pool);
    return NULL;
}
static double sum;
PUBLIC int    ggml_graph_compute(struct abi_graph * graph, struct abi_plan * plan) {
       struct pool  pool = {.n_threads = THREADS};
       struct state states[THREADS];
       pthread_t    threads[THREADS];
       plan->threadpool = &pool;
       for (int i = 0; i < THREADS; i++) states[i] = (struct state){graph, &pool, plan, i, 0};
#ifdef _OPENMP
    (void) threads;
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++) ggml_graph_compute_thread(&states[i]);
#else
    for (int i = 1; i < THREADS; i++) pthread_create(&threads[i], NULL, ggml_graph_compute_thread, &states[i]);
    ggml_graph_compute_thread(&states[0]);
    for (int i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
#endif
    for (int i = 0; i < THREADS; i++) sum += states[i].sum;
    return 0;
}

__attribute__((visibility("default"))) int inside_run(void) {
    enum { ROOM = 1 << 18 };
    sum                        = 0;
    char *              memory = aligned_alloc(64, ROOM);
    struct abi_tensor * nodes[NODES];
    struct context *    context = ggml_init((struct init){ROOM, memory, 0});
    struct abi_tensor * x       = ggml_set_name(ggml_new_tensor_4d(context, 0, VALUES, 1, 1, 1), "x");
    for (int i = 0; i < VALUES; i++) ((float *) x->data)[i] = (float) i / 8;
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "node-%d", i);
        nodes[i]     = ggml_set_name(ggml_scale(context, x, (float) i), name);
        nodes[i]->op = i % 3 == 2 ? OP_VIEW : OP_SCALE;
        if (nodes[i]->op == OP_VIEW) nodes[i]->view_src = x, nodes[i]->data = x->data;
    }
    struct abi_graph graph = {.size = NODES, .n_nodes = NODES, .nodes = nodes};
    for (int i = 0; i < RUNS; i++) {
        struct abi_plan plan = {.n_threads = THREADS};
        if (ggml_graph_compute(&graph, &plan) != 0) return 1;
        sum += number(i, 2, 3, i * 2, i * 3);
    }
    printf("%.17g\n", sum);
    fflush(stdout);
    free(memory);
    return 0;
}

int main(int argc, char ** argv) {
    (void) argv;
    while (inside_run() == 0)
        if (argc < 2) return 0; // with an argument: forever
    return 1;
}
