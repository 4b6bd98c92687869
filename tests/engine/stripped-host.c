// A program that has an engine inside, to be stripped: as much of ggml as is left then. The name of
// the CPU's backend, the tables of ops and types, a function that makes backends, and graphs that
// backends compute, on THREADS threads (two). It computes a prompt of three tokens and then one
// token after the other, and prints a sum.
//     -DSKIPS_NOTHING    as old releases do: empty nodes are visited, nothing is fused
//     -DABORTS           the program stops its last graph in the middle
//     -DOTHER_BACKEND    its backends are laid out in another way
//     -DOTHER_TENSOR     its tensors are
//     -DOTHER_TABLES     its tables of types are
//     -DMAKES_NONE       it has made no backend, and never does
// With an argument it computes again and again.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

#ifndef THREADS
#define THREADS 2
#endif
enum { RUNS = 4, WIDTH = 64, VOCABULARY = 32, PROMPT = 3 };
enum op {
    OP_NONE,
    OP_DUP,
    OP_ADD,
    OP_RMS_NORM,
    OP_MUL,
    OP_MUL_MAT,
    OP_SCALE,
    OP_CPY,
    OP_CONT,
    OP_RESHAPE,
    OP_VIEW,
    OP_PERMUTE,
    OP_TRANSPOSE,
    OP_GET_ROWS,
    OP_SOFT_MAX,
    OP_ROPE,
    OP_COUNT
};
enum { F32 = 0, I32 = 26, TYPES = 30, FLAG_INPUT = 1, FLAG_COMPUTE = 16 };

__attribute__((used)) static const char * const names[OP_COUNT] = {
    "NONE", "DUP",     "ADD",  "RMS_NORM", "MUL",       "MUL_MAT",  "SCALE",    "CPY",
    "CONT", "RESHAPE", "VIEW", "PERMUTE",  "TRANSPOSE", "GET_ROWS", "SOFT_MAX", "ROPE"};
#ifdef OTHER_TABLES
#define NAME_OF_FIRST "float"
#else
#define NAME_OF_FIRST "f32"
#endif
__attribute__((used)) static const struct traits {
    const char * name;
    int64_t      block, interleaved;
    size_t       size;
    _Bool        quantized;
    void *       to_float;
    void *       from_float;
} traits[TYPES] = {
    [0] = {NAME_OF_FIRST, 1, 0, 4, 0, 0, 0}, [1] = {"f16", 1, 0, 2, 0, 0, 0}, [2] = {"q4_0", 32, 0, 18, 1, 0, 0},
    [8] = {"q8_0", 32, 0, 34, 1, 0, 0},      [24] = {"i8", 1, 0, 1, 0, 0, 0}, [26] = {"i32", 1, 0, 4, 0, 0, 0}};
static char assertion[] = "GGML_ASSERT(%s) failed";

// ---- tensors and graphs ----

struct tensor {
#ifdef OTHER_TENSOR
    int64_t more;
#endif
    int32_t         type;
    void *          buffer;
    int64_t         ne[4];
    size_t          nb[4];
    int32_t         op, params[16], flags;
    struct tensor * src[10];
    struct tensor * view_src;
    size_t          view_offs;
    void *          data;
    char            name[64];
    void *          extra;
    char            padding[8];
};

struct graph {
    int              size, n_nodes, n_leafs;
    struct tensor ** nodes;
    void *           rest[10];
};

static struct tensor * make(enum op op, int type, int64_t a, int64_t b, const char * name) {
    struct tensor * t = calloc(1, sizeof(*t));
    t->type = type, t->op = op, t->flags = op == OP_NONE ? 0 : FLAG_COMPUTE;
    t->ne[0] = a, t->ne[1] = b, t->ne[2] = t->ne[3] = 1;
    t->nb[0] = traits[type].size, t->nb[1] = t->nb[0] * (size_t) a, t->nb[2] = t->nb[3] = t->nb[1] * (size_t) b;
    t->data = calloc(1, t->nb[3]), t->buffer = &t->data;
    snprintf(t->name, sizeof(t->name), "%s", name);
    return t;
}

static struct tensor * of(enum op op, struct tensor * a, struct tensor * b, const char * name) {
    struct tensor * t = make(op, F32, a->ne[0], op == OP_GET_ROWS ? b->ne[0] : a->ne[1], name);
    t->src[0] = a, t->src[1] = b;
    if (op == OP_VIEW) free(t->data), t->view_src = a, t->data = a->data;
    return t;
}

// ---- computing ----

struct plan {
    struct graph * graph;
    int            arrived, passed, stopped; // stopped: before this node, -1: not at all
    _Bool (*abort)(void * data);
    void * abort_data;
};
static APART void meet(struct plan * plan) {
    int passed = __atomic_load_n(&plan->passed, __ATOMIC_SEQ_CST);
    if (__atomic_add_fetch(&plan->arrived, 1, __ATOMIC_SEQ_CST) == THREADS) {
        __atomic_store_n(&plan->arrived, 0, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&plan->passed, 1, __ATOMIC_SEQ_CST);
    } else {
        while (__atomic_load_n(&plan->passed, __ATOMIC_SEQ_CST) == passed) sched_yield();
    }
}

static void compute_op(struct tensor * t, int from, int step) {
    const float *a = t->src[0]->data, *b = t->src[1] == NULL ? NULL : t->src[1]->data;
    float *      to = t->data;
    for (int64_t row = from; row < t->ne[1]; row += step)
        for (int64_t i = 0; i < t->ne[0]; i++) {
            int64_t at = row * t->ne[0] + i;
            if (t->op == OP_GET_ROWS)
                to[at] = a[((int32_t *) t->src[1]->data)[row] * t->ne[0] + i];
            else if (t->op == OP_MUL)
                to[at] = a[at] * b[i];
            else if (t->op == OP_ROPE)
                to[at] = a[at] + (float) ((int32_t *) t->src[1]->data)[row];
            else
                to[at] = a[at] * 0.5f + 1;
        }
}

static void * work(struct plan * plan, int ith) {
    for (int n = 0; n < plan->graph->n_nodes && n != __atomic_load_n(&plan->stopped, __ATOMIC_SEQ_CST); n++) {
        struct tensor * node = plan->graph->nodes[n];
#ifndef SKIPS_NOTHING
        if (node->op == OP_VIEW || (node->flags & FLAG_COMPUTE) == 0) continue;
        if (node->op == OP_RMS_NORM && n + 1 < plan->graph->n_nodes &&
            plan->graph->nodes[n + 1]->op == OP_MUL) { // both at once
            compute_op(node, ith, THREADS);
            node = plan->graph->nodes[++n];
        }
#endif
        if (node->op != OP_VIEW) compute_op(node, ith, THREADS);
        if (ith == 0 && plan->abort != NULL && plan->abort(plan->abort_data))
            __atomic_store_n(&plan->stopped, n + 1, __ATOMIC_SEQ_CST);
        meet(plan);
    }
    meet(plan);
    return NULL;
}
struct worker {
    struct plan * plan;
    int           ith;
    pthread_t     thread;
};
static void * work_other(void * data) {
    struct worker * worker = data;
    return work(worker->plan, worker->ith);
}

// ---- backends ----

struct context {
    int    n_threads;
    void * pool;
    void * work;
    size_t work_size;
    _Bool (*abort)(void * data);
    void * abort_data;
    _Bool  reference;
};
struct backend {
    unsigned char (*guid)[16];
    struct interface {
        const char * (*get_name)(struct backend *);
        void (*free)(struct backend *);
#ifndef OTHER_BACKEND
        void * devices_only[6];
#endif
        void * (*plan_create)(struct backend *, struct graph *);
        void (*plan_free)(struct backend *, void *);
        void * plan_update;
        int (*plan_compute)(struct backend *, void *);
        int (*compute)(struct backend *, struct graph *);
        void *event_record, *event_wait, *optimize;
    } interface;
    void *           device;
    struct context * context;
};
static void * device[4];

static const char * get_name(struct backend * backend) {
    (void) backend;
    return "CPU";
}
static void release(struct backend * backend) {
    free(backend->context);
    free(backend);
}
static void * plan_create(struct backend * backend, struct graph * graph) {
    (void) backend;
    return graph;
}
static void plan_free(struct backend * backend, void * plan) {
    (void) backend, (void) plan;
}
static int compute(struct backend * backend, struct graph * graph) {
    struct plan plan = {
        .graph = graph, .stopped = -1, .abort = backend->context->abort, .abort_data = backend->context->abort_data};
    struct worker others[THREADS];
    for (int i = 1; i < THREADS; i++) {
        others[i] = (struct worker){.plan = &plan, .ith = i};
        pthread_create(&others[i].thread, NULL, work_other, &others[i]);
    }
    work(&plan, 0);
    for (int i = 1; i < THREADS; i++) pthread_join(others[i].thread, NULL);
    return plan.stopped >= 0;
}
static int plan_compute(struct backend * backend, void * plan) {
    return compute(backend, plan);
}

static inline __attribute__((always_inline)) unsigned char (*guid_of_cpu(void))[16] {
    static unsigned char guid[16] = {0xaa, 0x67, 0xc7, 0x43, 0x96, 0xe6, 0xa3, 0x8a,
                                     0xe3, 0xaf, 0xea, 0x92, 0x36, 0xbc, 0xfc, 0x89};
    return &guid;
}

static APART void prepare_processor(void) {
    if (getenv("HOST_SAYS_HELLO") != NULL) puts("hello");
}
static APART void * first_device(void) {
    return getenv("HOST_HAS_NONE") == NULL ? device : NULL;
}

static const struct interface interface = {.get_name     = get_name,
                                           .free         = release,
                                           .plan_create  = plan_create,
                                           .plan_free    = plan_free,
                                           .plan_compute = plan_compute,
                                           .compute      = compute};

APART struct backend * backend_init(void);
APART struct backend * backend_init(void) {
    prepare_processor();
    struct context * context = malloc(sizeof(*context));
    if (context == NULL) return NULL;
    *context                 = (struct context){.n_threads = THREADS};
    struct backend * backend = malloc(sizeof(*backend));
    if (backend == NULL) return NULL;
    *backend = (struct backend){guid_of_cpu(), interface, first_device(), context};
    return backend;
}

// ---- a program ----

static struct graph * make_graph(int tokens, int position, struct tensor * table, struct tensor * weight) {
    struct tensor *ids = make(OP_NONE, I32, tokens, 1, "inp_tokens"), *pos = make(OP_NONE, I32, tokens, 1, "inp_pos");
    for (int i = 0; i < tokens; i++)
        ((int32_t *) ids->data)[i] = (position + i) % VOCABULARY, ((int32_t *) pos->data)[i] = position + i;
    ids->flags = pos->flags = FLAG_INPUT;
    struct graph * graph    = calloc(1, sizeof(*graph));
    graph->nodes            = calloc(16, sizeof(*graph->nodes));
    graph->size             = 16;
    struct tensor * x       = of(OP_GET_ROWS, table, ids, "inp_embd");
    struct tensor * all[]   = {x, 0, 0, 0, 0, 0, 0, 0, 0};
    int             n       = 1;
    all[n]                  = of(OP_RMS_NORM, x, NULL, "norm-0"), n++;
    all[n]                  = of(OP_MUL, all[n - 1], weight, "attn_norm-0"), n++;
    all[n]                  = of(OP_VIEW, all[n - 1], NULL, "Qcur-0 (view)"), n++;
    all[n]                  = of(OP_ROPE, all[n - 1], pos, "Qcur-0"), n++;
    all[n]                  = of(OP_SOFT_MAX, all[n - 1], NULL, "kq_soft_max-0"), n++;
    all[n]                  = of(OP_ADD, all[n - 1], x, "l_out-0"), n++;
    all[n]                  = of(OP_SCALE, all[n - 1], NULL, "result_output"), n++;
    memcpy(graph->nodes, all, (size_t) n * sizeof(*all));
    graph->n_nodes = n;
    return graph;
}

static void free_tensor(struct tensor * t) {
    if (t->view_src == NULL) free(t->data);
    free(t);
}

static void free_graph(struct graph * graph) {
    free_tensor(graph->nodes[0]->src[1]); // tokens
    free_tensor(graph->nodes[4]->src[1]); // positions
    for (int i = 0; i < graph->n_nodes; i++) free_tensor(graph->nodes[i]);
    free(graph->nodes);
    free(graph);
}

// The program's own callback counts, and may stop.
static int   calls_left = 1 << 20;
static int   calls;
static _Bool stops(void * data) {
    (void) data;
    return ++calls >= calls_left;
}

static double compute_all(struct backend * backend, struct tensor * table, struct tensor * weight) {
    double sum      = 0;
    int    position = 0;
    for (int i = 0; i < RUNS; i++) {
        int            tokens = i == 0 ? PROMPT : 1;
        struct graph * graph  = make_graph(tokens, position, table, weight);
#ifdef ABORTS
        backend->context->abort = stops;
        if (i == RUNS - 1) calls_left = calls + 3;
#endif
        if (backend->interface.compute(backend, graph) != 0 && i < RUNS - 1) exit(1);
        const struct tensor * last = graph->nodes[graph->n_nodes - 1];
        for (int64_t k = 0; k < last->ne[0] * last->ne[1]; k++) sum += ((float *) last->data)[k];
        position += tokens;
        free_graph(graph);
    }
    return sum;
}

int main(int argc, char ** argv) {
    struct backend * backend = backend_init();
    struct tensor *  table   = make(OP_NONE, F32, WIDTH, VOCABULARY, "token_embd.weight");
    struct tensor *  weight  = make(OP_NONE, F32, WIDTH, 1, "blk.0.attn_norm.weight");
    for (int i = 0; i < WIDTH * VOCABULARY; i++) ((float *) table->data)[i] = (float) (i % 97) / 7;
    for (int i = 0; i < WIDTH; i++) ((float *) weight->data)[i] = 1 + (float) i / 64;
    (void) stops, (void) argv;
#ifdef MAKES_NONE
    backend->guid = (void *) device;
#endif
    do {
        double sum = compute_all(backend, table, weight);
        printf("%.17g %s %s %d\n", sum, names[OP_ROPE], assertion, argc > 1 ? 0 : calls);
        fflush(stdout);
    } while (argc > 1);
    return 0;
}
