// CUDA: times of kernels, copies and sets, from CUPTI.
//
// A call that puts work into a stream has a correlation id, and the record of the work carries the
// same id, so a launch belongs to the node that its thread is at. With CUDA graphs the engine's
// loop runs only while a graph is captured. Each launch adds a node to the CUDA graph, whose id
// (from the stream's capture info) belongs to the ggml node. Instantiation clones graph nodes;
// CUPTI reports the clones, and replays carry their ids, so kernels are identified without a loop.
//
// Tracing every kernel costs a third of the speed and more, so it is limited to a window: from the
// start to N graph runs after the first generated token (--gpu-ops first:N, all or none). After it
// CUPTI is finalized, and cannot be switched on again in a process.
//
// Kernels may overlap. Each is kept with its own times. An op lasts from the start of its first
// kernel, or the end of the previous op if that is later, to the end of its last kernel.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map.h"
#include "base/search.h"
#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/cupti.h"
#include "capture/device/device.h"
#include "capture/device/kernels.h"
#include "preload/objects.h"

enum {
    BUFFER_BYTES   = 1 << 20,
    FLUSH_RUNS     = 8,
    WINDOW_DEFAULT = 32,
    PROMPT_MOST    = 256, // graph runs that end the prompt in programs without observed decodes
};

enum state { STATE_NEW, STATE_ON, STATE_OVER };

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
    cuda_capture_info capture_info;
} cuda;

static int      state; // read relaxed
static void *   subscriber;
static uint64_t window; // graph runs after the first generated token; UINT64_MAX for all
static int      generating;
static uint64_t runs_left, runs_so_far;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all below: CUPTI has a thread

// ---- work and its node ----

struct launch {
    uint32_t correlation;
    uint32_t node;
};

enum { WHOLE_GRAPH = UINT32_MAX }; // the node of a launch that replays a graph

struct traced {                     // ggs_device_run.state
    struct ggs_device_run *    run; // NULL if there is none
    struct launch *            launches;
    uint32_t                   n_launches, launches_capacity;
    struct ggs_device_kernel * kernels;
    uint32_t                   n_kernels, kernels_capacity;
    struct traced *            next;
};

static struct traced * under_way; // runs that may still get records

static struct ggs_map graph_nodes; // CUPTI's id of a CUDA graph's node -> node + 1; never emptied

static bool graph_find(uint64_t id, uint32_t * node) {
    uint64_t value = id == 0 ? 0 : ggs_map_get(&graph_nodes, ggs_map_key_number(id));
    if (value != 0) *node = (uint32_t) (value - 1);
    return value != 0;
}

static void graph_put(uint64_t id, uint32_t node) {
    uint64_t * value = id == 0 ? NULL : ggs_map_put(&graph_nodes, ggs_map_key_number(id));
    if (value != NULL) *value = (uint64_t) node + 1;
}

// ---- launches ----

static const struct cuda_launch * find_launch(uint32_t id) {
    for (size_t i = 0; i < sizeof(cuda_launches) / sizeof(cuda_launches[0]); i++) {
        if (cuda_launches[i].id == id) return &cuda_launches[i];
    }
    return NULL;
}

static void map_captured(const struct cuda_launch * launch, const void * parameters, uint32_t node) {
    const char *   from = parameters;
    void *         stream;
    void * const * nodes  = NULL;
    size_t         n      = 0;
    int            status = 0;
    uint64_t       id;
    if (launch->indirect) memcpy(&from, parameters, sizeof(from));
    memcpy(&stream, from + launch->stream, sizeof(stream));
    if (cuda.capture_info(stream, &status, NULL, NULL, &nodes, &n) != 0 || status != CUDA_CAPTURE_ACTIVE || n == 0)
        return;
    if (cuda.cuptiGetGraphNodeId(nodes[n - 1], &id) == 0) graph_put(id, node);
}

static void on_launch(uint32_t id, const struct cupti_callback * call) {
    struct ggs_device_run * run = ggs_device_current;
    if (call->site != CUPTI_SITE_EXIT || run == NULL || run->kind != &ggs_backend_kind_cuda || !run->timed) return;
    struct traced * traced = run->state;
    bool            whole  = id == CUDA_GRAPH_LAUNCH || id == CUDA_GRAPH_LAUNCH_PER_THREAD;
    if (!whole && run->n_ops == 0) return;
    uint32_t node = whole ? WHOLE_GRAPH : run->ops[run->n_ops - 1].node;
    run->commands++;
    run->replayed = run->replayed || (whole && run->commands == 1);
    pthread_mutex_lock(&lock);
    struct launch made = {call->correlation, node};
    (void) ggs_array_push(traced->launches, traced->n_launches, traced->launches_capacity, made);
    const struct cuda_launch * launch = whole ? NULL : find_launch(id);
    if (launch != NULL) map_captured(launch, call->parameters, node);
    pthread_mutex_unlock(&lock);
}

static void on_callback(void * user, int domain, uint32_t id, const void * data) {
    (void) user;
    if (domain == CUPTI_DOMAIN_DRIVER) {
        on_launch(id, data);
    } else if (domain == CUPTI_DOMAIN_RESOURCE && id == CUPTI_GRAPH_NODE_CLONED) {
        const struct cupti_graph_data * graph = ((const struct cupti_resource *) data)->descriptor;
        uint64_t                        from, to;
        uint32_t                        node;
        pthread_mutex_lock(&lock);
        if (cuda.cuptiGetGraphNodeId(graph->original_node, &from) == 0 &&
            cuda.cuptiGetGraphNodeId(graph->node, &to) == 0 && graph_find(from, &node))
            graph_put(to, node);
        pthread_mutex_unlock(&lock);
    }
}

// ---- records ----

static struct traced * find_run(uint32_t correlation, uint32_t * node) {
    for (struct traced * traced = under_way; traced != NULL; traced = traced->next) {
        uint64_t i = ggs_search(traced->n_launches, at, traced->launches[at].correlation < correlation);
        if (i == traced->n_launches || traced->launches[i].correlation != correlation) continue;
        *node = traced->launches[i].node;
        return traced;
    }
    return NULL;
}

static void add_kernel(uint32_t correlation, uint64_t graph_node, const struct ggs_device_kernel * kernel) {
    uint32_t        node;
    struct traced * traced = find_run(correlation, &node);
    if (traced == NULL) return; // work outside of graphs
    if (node == WHOLE_GRAPH && !graph_find(graph_node, &node)) node = GGS_DEVICE_NO_NODE;
    if (ggs_array_push(traced->kernels, traced->n_kernels, traced->kernels_capacity, *kernel))
        traced->kernels[traced->n_kernels - 1].node = node;
}

static void on_record(const void * record) {
    uint32_t kind;
    memcpy(&kind, record, sizeof(kind));
    if (kind == CUPTI_KIND_KERNEL) {
        const struct cupti_kernel * k      = record;
        struct ggs_device_kernel    kernel = {
               .stream   = k->stream,
               .begin_ns = k->start,
               .end_ns   = k->end,
               .name     = k->name,
               .grid     = {(uint32_t) k->grid[0], (uint32_t) k->grid[1], (uint32_t) k->grid[2]},
               .block    = {(uint32_t) k->block[0], (uint32_t) k->block[1], (uint32_t) k->block[2]}};
        add_kernel(k->correlation, k->graph_node, &kernel);
    } else if (kind == CUPTI_KIND_MEMCPY || kind == CUPTI_KIND_MEMSET) {
        const struct cupti_transfer * t      = record;
        struct ggs_device_kernel      kernel = {.stream   = t->stream,
                                                .begin_ns = t->start,
                                                .end_ns   = t->end,
                                                .name     = kind == CUPTI_KIND_MEMCPY ? "[copy]" : "[set]",
                                                .bytes    = t->bytes};
        add_kernel(t->correlation, t->graph_node, &kernel);
    }
}

static void on_buffer_wanted(uint8_t ** buffer, size_t * size, size_t * records) {
    *buffer  = aligned_alloc(8, BUFFER_BYTES);
    *size    = *buffer == NULL ? 0 : BUFFER_BYTES;
    *records = 0;
}

static void on_buffer_full(void * context, uint32_t stream, uint8_t * buffer, size_t size, size_t used) {
    (void) context, (void) stream, (void) size;
    void * record = NULL;
    pthread_mutex_lock(&lock);
    while (used > 0 && cuda.cuptiActivityGetNextRecord(buffer, used, &record) == 0) on_record(record);
    pthread_mutex_unlock(&lock);
    free(buffer);
}

// ---- switching on and off ----

static uint64_t on_clock(void) {
    return ggs_clock_now();
}

struct search {
    char     folders[4][512]; // folders of CUDA's libraries in this process
    unsigned n;
    int      major; // of its runtime, 0 if unknown
};

static int collect_folder(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    struct search * search = data;
    const char *    slash  = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    if (slash == NULL || (strncmp(slash, "/libcudart.so.", 14) != 0 && strncmp(slash, "/libcublas.so.", 14) != 0))
        return 0;
    if (search->major == 0) search->major = slash[14] == '1' ? 10 + (slash[15] - '0') : 0;
    if (search->n < 4)
        snprintf(search->folders[search->n++], sizeof(search->folders[0]), "%.*s", (int) (slash - info->dlpi_name),
                 info->dlpi_name);
    return 0;
}

static void * open_cupti(void) {
    static const char * const below[] = {"", "/../extras/CUPTI/lib64", "/../../../extras/CUPTI/lib64"};
    struct search             search  = {.n = 0};
    ggs_objects_visit(collect_folder, &search);
    snprintf(search.folders[search.n < 4 ? search.n++ : 3], sizeof(search.folders[0]), "/usr/local/cuda/lib64");
    for (int major = 13; major >= 12; major--) {
        char path[600];
        if (search.major != 0 && search.major != major) continue;
        snprintf(path, sizeof(path), "libcupti.so.%d", major);
        void * library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        for (unsigned i = 0; library == NULL && i < search.n; i++) {
            for (size_t k = 0; library == NULL && k < sizeof(below) / sizeof(below[0]); k++) {
                snprintf(path, sizeof(path), "%s%s/libcupti.so.%d", search.folders[i], below[k], major);
                library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            }
        }
        if (library != NULL) return library;
    }
    return NULL;
}

// Returns NULL, or the reason for a failure.
static const char * load_functions(void) {
    void * library = open_cupti();
    void * driver  = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) return "libcupti is missing (package cuda-cupti, or nvidia-cuda-cupti)";
#define LOOK_UP(type, name, parameters)                     \
    cuda.name = (type(*) parameters) dlsym(library, #name); \
    if (cuda.name == NULL) return "libcupti lacks " #name;
    CUPTI_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    cuda.capture_info = driver == NULL ? NULL : (cuda_capture_info) dlsym(driver, "cuStreamGetCaptureInfo_v2");
    if (cuda.capture_info == NULL) return "the driver lacks cuStreamGetCaptureInfo_v2";
    uint32_t version = 0;
    if (cuda.cuptiGetVersion(&version) != 0 || version < CUPTI_VERSION_LEAST || version >= CUPTI_VERSION_END)
        return "this version of libcupti is not known";
    return NULL;
}

static bool switch_on(void) {
    bool ok = cuda.cuptiSubscribe(&subscriber, on_callback, NULL) == 0;
    for (size_t i = 0; ok && i < sizeof(cuda_launches) / sizeof(cuda_launches[0]); i++)
        ok = cuda.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, cuda_launches[i].id) == 0;
    ok = ok && cuda.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, CUDA_GRAPH_LAUNCH) == 0 &&
         cuda.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, CUDA_GRAPH_LAUNCH_PER_THREAD) == 0 &&
         cuda.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_GRAPH_NODE_CLONED) == 0 &&
         cuda.cuptiActivityRegisterTimestampCallback(on_clock) == 0 &&
         cuda.cuptiActivityRegisterCallbacks(on_buffer_wanted, on_buffer_full) == 0 &&
         cuda.cuptiActivityEnable(CUPTI_KIND_KERNEL) == 0 && cuda.cuptiActivityEnable(CUPTI_KIND_MEMCPY) == 0 &&
         cuda.cuptiActivityEnable(CUPTI_KIND_MEMSET) == 0;
    return ok;
}

static void switch_off(void) {
    __atomic_store_n(&state, STATE_OVER, __ATOMIC_RELAXED);
    cuda.cuptiActivityDisable(CUPTI_KIND_KERNEL);
    cuda.cuptiActivityDisable(CUPTI_KIND_MEMCPY);
    cuda.cuptiActivityDisable(CUPTI_KIND_MEMSET);
    cuda.cuptiUnsubscribe(subscriber);
    cuda.cuptiFinalize(); // half of the cost remains without it
}

// "first:N", "all", "none".
static uint64_t read_window(void) {
    const char * text = ggs_capture.gpu_ops;
    if (text[0] == '\0') return WINDOW_DEFAULT;
    if (strcmp(text, "all") == 0) return UINT64_MAX;
    if (strcmp(text, "none") == 0) return 0;
    return strncmp(text, "first:", 6) == 0 ? strtoull(text + 6, NULL, 10) : WINDOW_DEFAULT;
}

static void start(void) {
    window    = read_window();
    runs_left = window;
    if (window == 0) {
        state = STATE_OVER;
        return;
    }
    const char * why = load_functions();
    if (why == NULL && !switch_on()) why = "another profiler is attached";
    if (why != NULL) ggs_capture_warn("ops on CUDA devices have no times: %s", why);
    __atomic_store_n(&state, why == NULL ? STATE_ON : STATE_OVER, __ATOMIC_RELAXED);
}

// ---- for device.c ----

static void forget(struct traced * traced) {
    for (struct traced ** at = &under_way; *at != NULL; at = &(*at)->next) {
        if (*at != traced) continue;
        *at = traced->next;
        break;
    }
    traced->run        = NULL;
    traced->n_launches = traced->n_kernels = 0;
}

static void drop(struct ggs_device_run * run) {
    pthread_mutex_lock(&lock);
    if (run->state != NULL) forget(run->state);
    pthread_mutex_unlock(&lock);
}

static int by_begin(const void * a, const void * b) {
    const struct ggs_device_kernel *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

// A replay visits no node, so its ops are the nodes of its kernels. Ops are in the order of their
// nodes either way.
static struct ggs_device_op * op_of(struct ggs_device_run * run, uint32_t node) {
    uint64_t i = ggs_search(run->n_ops, at, run->ops[at].node < node);
    return i < run->n_ops && run->ops[i].node == node ? &run->ops[i] : NULL;
}

static bool has_whole_graph(const struct traced * traced) {
    for (uint32_t i = 0; i < traced->n_launches; i++)
        if (traced->launches[i].node == WHOLE_GRAPH) return true;
    return false;
}

// Flushing CUPTI's records costs as much as half a token, so it is done for several runs at once.
static bool read_records(struct ggs_device_run * run, unsigned waiting) {
    static uint64_t flushed_ns;
    struct traced * traced = run->state;
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) == STATE_ON && run->results_ns > flushed_ns) {
        if (waiting < FLUSH_RUNS && (!generating || runs_left > waiting)) return false;
        flushed_ns = ggs_clock_now();
        cuda.cuptiActivityFlushAll(0);
    }
    pthread_mutex_lock(&lock);
    bool known = false;
    qsort(traced->kernels, traced->n_kernels, sizeof(*traced->kernels), by_begin);
    for (uint32_t i = 0; i < traced->n_kernels; i++) {
        const struct ggs_device_kernel * kernel = &traced->kernels[i];
        struct ggs_device_op *           op     = op_of(run, kernel->node);
        if (op == NULL) continue;
        known = true;
        if (op->begin_ns == 0 || kernel->begin_ns < op->begin_ns) op->begin_ns = kernel->begin_ns;
        if (kernel->end_ns > op->end_ns) op->end_ns = kernel->end_ns;
        op->queue = kernel->stream;
    }
    ggs_kernels_emit(run->run, traced->kernels, traced->n_kernels);
    // A graph that was instantiated before the recording, and at most updated since, has kernels
    // without a node: its runs are opaque.
    if (!known && has_whole_graph(traced)) {
        run->timed = false;
        run->n_ops = 0;
    }
    forget(traced);
    pthread_mutex_unlock(&lock);
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) != STATE_ON || window == UINT64_MAX) return true;
    if ((generating || ++runs_so_far > PROMPT_MOST) && runs_left > 0) runs_left--;
    if (runs_left == 0 && under_way == NULL) // else another thread's run ends it
        switch_off();
    return true;
}

static bool begin(struct ggs_device_run * run) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) != STATE_ON) return false;
    if (run->state == NULL) run->state = calloc(1, sizeof(struct traced));
    struct traced * traced = run->state;
    if (traced == NULL) return false;
    run->timed  = true;
    traced->run = run;
    pthread_mutex_lock(&lock);
    traced->next = under_way;
    under_way    = traced;
    pthread_mutex_unlock(&lock);
    return true;
}

// The window counts from the first generated token.
static void set_generating(void) {
    __atomic_store_n(&generating, 1, __ATOMIC_RELAXED);
}

const struct ggs_backend_kind ggs_backend_kind_cuda = {
    .asks = true, .begin = begin, .read = read_records, .drop = drop, .generating = set_generating};
