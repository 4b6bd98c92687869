#include "capture/device/device.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/cuda.h"
#include "capture/graph-run.h"
#include "capture/journal.h"

_Thread_local struct ggs_device_run * ggs_device_current;
_Thread_local struct ggs_device_run * ggs_device_followed;

// Runs whose results are not there yet, oldest first, and runs to be used again.
static pthread_mutex_t         lock = PTHREAD_MUTEX_INITIALIZER;
static struct ggs_device_run * pending;
static struct ggs_device_run * done; // results are there, times not yet read; oldest first
static struct ggs_device_run * spare;

// ---- the call that submits ----

static struct ggs_device_run * take_spare(void) {
    pthread_mutex_lock(&lock);
    struct ggs_device_run * run = spare;
    if (run != NULL) spare = run->next;
    pthread_mutex_unlock(&lock);
    return run != NULL ? run : calloc(1, sizeof(*run));
}

// Backends that were seen: what follows an entry is unused.
enum { BACKENDS_MOST = 64 };
static struct {
    const void * backend;
    uint32_t     type; // 0 while it is not known
} backends[BACKENDS_MOST];

static uint32_t type_of(const void * backend) {
    for (unsigned i = 0; backend != NULL && i < BACKENDS_MOST; i++) {
        const void * known = __atomic_load_n(&backends[i].backend, __ATOMIC_RELAXED);
        if (known == NULL) return 0;
        if (known == backend) return __atomic_load_n(&backends[i].type, __ATOMIC_RELAXED);
    }
    return 0;
}

bool ggs_device_is_gpu(const void * backend) {
    return type_of(backend) == GGS_DEVICE_GPU;
}

// Tells of the device that a backend computes on, once.
static void describe(void * backend, const char * name) {
    unsigned i = 0;
    for (; i < BACKENDS_MOST; i++) {
        const void * known = __atomic_load_n(&backends[i].backend, __ATOMIC_RELAXED);
        if (known == backend) return;
        if (known != NULL) continue;
        if (!__atomic_compare_exchange_n(&backends[i].backend, &known, backend, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            return;
        break;
    }
    static const uint32_t        types[] = {GGS_DEVICE_CPU, GGS_DEVICE_GPU, GGS_DEVICE_GPU, GGS_DEVICE_ACCELERATOR};
    const struct abi_functions * f       = &ggs_engine;
    void *                       device  = f->backend_device == NULL ? NULL : f->backend_device(backend);
    if (device == NULL) return;
    struct ggs_journal_device record = {0};
    size_t                    unused, memory = 0;
    int                       type = f->device_type == NULL ? -1 : f->device_type(device);
    // Releases before the GPU that shares memory got a number of its own have the accelerator at 2.
    if (type >= 0 && type < 4) record.type = types[type];
    if (i < BACKENDS_MOST) __atomic_store_n(&backends[i].type, record.type, __ATOMIC_RELAXED);
    if (f->device_memory != NULL) f->device_memory(device, &unused, &memory);
    record.memory             = memory;
    const char *     text     = f->device_description == NULL ? "" : f->device_description(device);
    struct ggs_piece pieces[] = {{&record, sizeof(record)}, {name, strlen(name)}, {"\n", 1}, {text, strlen(text) + 1}};
    ggs_journal_append(GGS_JOURNAL_DEVICE, pieces, 4);
}

// Follows the nodes of the run, unless its clock says that this is not worth its price. The CPU has no queue: it asks of each node while it
// plans the run, where nothing of it is known yet, and what it computes other hooks see.
static bool worth_following(struct ggs_device_run * run, const char * name) {
    if (type_of(run->backend) == GGS_DEVICE_CPU) return false;
    return strncmp(name, "CUDA", 4) != 0 || ggs_cuda_begin(run);
}

void ggs_device_begin(void * backend, const struct abi_graph * graph) {
    if (ggs_in.depth != 1 || ggs_in.run == 0) return; // a call inside another one, or not recorded
    struct ggs_device_run * run = take_spare();
    if (run == NULL) return; // the run is then seen as a whole
    struct ggs_device_run kept = *run;
    *run                       = (struct ggs_device_run){.run         = ggs_in.run,
                                                         .backend     = backend,
                                                         .nodes       = graph->nodes,
                                                         .n_nodes     = (uint32_t) graph->n_nodes,
                                                         .ops         = kept.ops,
                                                         .capacity    = kept.capacity,
                                                         .clock_state = kept.clock_state,
                                                         .begin_ns    = ggs_ticks_monotonic()};
    if (run->capacity < run->n_nodes) {
        free(run->ops);
        run->ops      = malloc(run->n_nodes * sizeof(*run->ops));
        run->capacity = run->ops == NULL ? 0 : run->n_nodes;
    }
    const char * name = ggs_engine.backend_name(backend);
    describe(backend, name);
    if (strncmp(name, "RPC", 3) == 0) snprintf(run->remote, sizeof(run->remote), "%s", name);
    ggs_device_followed = worth_following(run, name) ? run : NULL;
    ggs_device_current  = run;
}

void ggs_device_end(void) {
    struct ggs_device_run * run = ggs_device_current;
    if (run == NULL || ggs_in.depth != 1) return;
    if (run->clock != NULL) run->clock->submitted(run);
    ggs_device_current = ggs_device_followed = NULL;
    run->submitted                           = ggs_ticks_now();
    run->nodes                               = NULL; // the engine's, and it may use the memory for another graph now
    pthread_mutex_lock(&lock);
    struct ggs_device_run ** end = &pending;
    while (*end != NULL) end = &(*end)->next;
    run->next = NULL;
    *end      = run;
    pthread_mutex_unlock(&lock);
}

static void put_spare(struct ggs_device_run * run) {
    pthread_mutex_lock(&lock);
    run->next = spare;
    spare     = run;
    pthread_mutex_unlock(&lock);
}

void ggs_device_cancel(void) {
    if (ggs_device_current == NULL) return;
    put_spare(ggs_device_current);
    ggs_device_current = ggs_device_followed = NULL;
}

// ---- which node ----

// Nodes come in order, so the next one is mostly the very next; a fused one skips a few.
static bool find_node(struct ggs_device_run * run, const struct abi_tensor * node, uint32_t * found) {
    for (uint32_t i = run->cursor; i < run->n_nodes; i++) {
        if (run->nodes[i] != node) continue;
        *found = i;
        return true;
    }
    return false;
}

void ggs_device_node(const struct abi_tensor * node, const void * caller) {
    struct ggs_device_run * run = ggs_device_followed;
    if (run->commands == 0 && node == run->nodes[0]) {
        run->loop   = caller;
        run->cursor = run->n_ops = 0;
    }
    if (run->loop != caller) return;
    uint32_t i;
    if (!find_node(run, node, &i) || run->n_ops == run->capacity) return;
    if (run->clock != NULL) run->clock->node(run);
    run->ops[run->n_ops++] = (struct ggs_device_op){.node = i, .submit = ggs_ticks_now()};
    run->cursor            = i + 1;
}

// ---- results ----

static void write_run(struct ggs_device_run * run) {
    struct ggs_journal_device_run  head = {.run            = run->run,
                                           .submitted      = run->submitted,
                                           .results_ns     = run->results_ns,
                                           .clock_error_ns = run->clock_error_ns,
                                           .ops            = run->n_ops,
                                           .timed          = run->clock == NULL ? GGS_DEVICE_UNTIMED
                                                             : run->replayed    ? GGS_DEVICE_REPLAYED
                                                                                : GGS_DEVICE_TIMED};
    struct ggs_journal_device_op * ops  = run->n_ops == 0 ? NULL : malloc(run->n_ops * sizeof(*ops));
    if (ops == NULL) head.ops = 0;
    for (uint32_t i = 0; i < head.ops; i++) {
        const struct ggs_device_op * op = &run->ops[i];
        ops[i]                          = (struct ggs_journal_device_op){
                                     .node = op->node, .queue = op->queue, .submit = op->submit, .begin_ns = op->begin_ns, .end_ns = op->end_ns};
    }
    struct ggs_piece pieces[] = {{&head, sizeof(head)}, {ops, head.ops * sizeof(*ops)}};
    if (ggs_journal_append(GGS_JOURNAL_DEVICE_RUN, pieces, 2) != 0) ggs_capture_stop_full();
    free(ops);
}

void ggs_device_write_kernels(const struct ggs_device_run * run, const struct ggs_device_kernel * kernels, uint32_t n) {
    enum { NAMES_MOST = 512 };
    const char *                names[NAMES_MOST];
    uint64_t                    offsets[NAMES_MOST], text_bytes = 0;
    unsigned                    n_names = 0;
    struct ggs_journal_kernel * rows    = n == 0 ? NULL : malloc(n * sizeof(*rows));
    if (rows == NULL || !ggs_capture_recording()) {
        free(rows);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ggs_device_kernel * kernel = &kernels[i];
        const char *                     name   = kernel->name == NULL ? "" : kernel->name;
        unsigned                         k      = 0;
        while (k < n_names && names[k] != name) k++;
        if (k == n_names && n_names < NAMES_MOST) {
            names[n_names]     = name;
            offsets[n_names++] = text_bytes;
            text_bytes += strlen(name) + 1;
        }
        rows[i] = (struct ggs_journal_kernel){.node     = kernel->node,
                                              .queue    = kernel->stream,
                                              .begin_ns = kernel->begin_ns,
                                              .end_ns   = kernel->end_ns,
                                              .bytes    = kernel->bytes,
                                              .grid     = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
                                              .block    = {kernel->block[0], kernel->block[1], kernel->block[2]},
                                              .name     = k < n_names ? offsets[k] : 0};
    }
    char * text = malloc(text_bytes + 1);
    if (text != NULL) {
        for (unsigned k = 0; k < n_names; k++) memcpy(text + offsets[k], names[k], strlen(names[k]) + 1);
        struct ggs_journal_kernels head     = {.run = run->run, .count = n};
        struct ggs_piece           pieces[] = {{&head, sizeof(head)}, {rows, n * sizeof(*rows)}, {text, text_bytes}};
        ggs_journal_append(GGS_JOURNAL_KERNELS, pieces, 3);
    }
    free(text);
    free(rows);
}

void ggs_device_generates(void) {
    ggs_cuda_generates();
}

// Events that were recorded, and backends that wait for one; the oldest makes room.
enum { EVENTS_MOST = 64 };
static struct event {
    void *   event;
    void *   backend; // what it was recorded behind
    uint64_t run;     // the newest run by then
    void *   waiting; // the backend that waits for it, NULL for none
} events[EVENTS_MOST];
static unsigned n_events;

static bool is_done(const struct ggs_device_run * run, const void * backend, const char * remote) {
    if (remote != NULL) return run->remote[0] != '\0' && strncmp(run->remote, remote, sizeof(run->remote) - 1) == 0;
    return run->backend == backend && (run->remote[0] == '\0' || run->asked);
}

// Moves the runs of a backend, or of the server of that name, up to `last` to those that are done, in order.
static void take_results(const void * backend, const char * remote, uint64_t last, uint64_t now) {
    struct ggs_device_run ** end = &done;
    while (*end != NULL) end = &(*end)->next;
    for (struct ggs_device_run ** at = &pending; *at != NULL;) {
        struct ggs_device_run * run = *at;
        if (!is_done(run, backend, remote) || run->run > last) {
            at = &run->next;
            continue;
        }
        *at             = run->next;
        run->results_ns = now;
        run->next       = NULL;
        *end            = run;
        end             = &run->next;
    }
}

// Writes what can be read, oldest first. One thread at a time; another one's runs are left to the next call.
static void write_done(bool last) {
    static _Atomic bool busy;
    if (atomic_exchange(&busy, true)) return;
    for (;;) {
        unsigned waiting = 0;
        pthread_mutex_lock(&lock);
        struct ggs_device_run * run = done;
        for (const struct ggs_device_run * r = done; r != NULL; r = r->next) waiting++;
        pthread_mutex_unlock(&lock);
        if (run == NULL || (run->clock != NULL && !run->clock->read(run, last ? UINT_MAX : waiting))) break;
        pthread_mutex_lock(&lock);
        done = run->next;
        pthread_mutex_unlock(&lock);
        if (ggs_capture_recording()) write_run(run);
        put_spare(run);
    }
    atomic_store(&busy, false);
}

void ggs_device_results(void * backend) {
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) == NULL) return;
    uint64_t now = ggs_ticks_monotonic();
    pthread_mutex_lock(&lock);
    take_results(backend, NULL, UINT64_MAX, now);
    for (unsigned i = 0; i < n_events && i < EVENTS_MOST; i++) {
        if (events[i].waiting != backend) continue;
        take_results(events[i].backend, NULL, events[i].run, now);
        events[i].waiting = NULL;
    }
    pthread_mutex_unlock(&lock);
    write_done(false);
}

void ggs_device_asked(const void * backend) {
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) == NULL) return;
    pthread_mutex_lock(&lock);
    for (struct ggs_device_run * run = pending; run != NULL; run = run->next)
        if (run->backend == backend) run->asked = true;
    pthread_mutex_unlock(&lock);
}

void ggs_device_answered(void * buffer) {
    const struct abi_functions * f = &ggs_engine;
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) == NULL || buffer == NULL || f->buffer_type == NULL) return;
    void *       type = f->buffer_type(buffer);
    const char * name = type == NULL || f->buffer_type_name == NULL ? NULL : f->buffer_type_name(type);
    if (name == NULL || strncmp(name, "RPC", 3) != 0) return;
    uint64_t now = ggs_ticks_monotonic();
    pthread_mutex_lock(&lock);
    take_results(NULL, name, UINT64_MAX, now);
    pthread_mutex_unlock(&lock);
    write_done(false);
}

static struct event * find_event(const void * event) {
    for (unsigned i = 0; i < n_events && i < EVENTS_MOST; i++) {
        if (events[i].event == event) return &events[i];
    }
    return NULL;
}

void ggs_device_event_record(void * event, void * backend) {
    if (!ggs_capture_recording()) return;
    pthread_mutex_lock(&lock);
    struct event * known = find_event(event);
    if (known == NULL) known = &events[n_events++ % EVENTS_MOST];
    *known = (struct event){.event = event, .backend = backend};
    for (const struct ggs_device_run * run = pending; run != NULL; run = run->next) {
        if (run->backend == backend && run->run > known->run) known->run = run->run;
    }
    pthread_mutex_unlock(&lock);
}

void ggs_device_event_results(void * event) {
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) == NULL) return;
    uint64_t now = ggs_ticks_monotonic();
    pthread_mutex_lock(&lock);
    const struct event * known = find_event(event);
    if (known != NULL) take_results(known->backend, NULL, known->run, now);
    pthread_mutex_unlock(&lock);
    if (known != NULL) write_done(false);
}

void ggs_device_event_wait(void * backend, void * event) {
    pthread_mutex_lock(&lock);
    struct event * known = find_event(event);
    if (known != NULL && known->backend != backend) known->waiting = backend;
    pthread_mutex_unlock(&lock);
}

void ggs_device_finish(void) {
    write_done(true);
    pthread_mutex_lock(&lock);
    struct ggs_device_run * run = pending;
    pending                     = NULL;
    pthread_mutex_unlock(&lock);
    while (run != NULL) {
        struct ggs_device_run * next = run->next;
        run->clock                   = NULL; // its device may be gone
        if (ggs_capture_recording()) write_run(run);
        run = next;
    }
}
