#include "capture/device/device.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/backends.h"
#include "capture/graph-run.h"
#include "capture/journal.h"

_Thread_local struct ggs_device_run * ggs_device_current;
_Thread_local struct ggs_device_run * ggs_device_followed;

// Runs without results, oldest first, and free runs.
static pthread_mutex_t         lock = PTHREAD_MUTEX_INITIALIZER;
static struct ggs_device_run * pending;
static _Atomic uint32_t        n_pending; // changed with the lock held, read without
static struct ggs_device_run * done;      // results have arrived, times are not read; oldest first
static struct ggs_device_run * spare;

// ---- the call that submits ----

// Saves the lock: hooks of transfers call it even without a device.
static bool has_pending(void) {
    return atomic_load_explicit(&n_pending, memory_order_relaxed) > 0;
}

// Returns a free run of the same kind, whose state fits, or a new one. NULL if out of memory.
static struct ggs_device_run * acquire_run(const struct ggs_backend_kind * kind) {
    pthread_mutex_lock(&lock);
    struct ggs_device_run ** at = &spare;
    while (*at != NULL && (*at)->kind != kind) at = &(*at)->next;
    struct ggs_device_run * run = *at;
    if (run != NULL) *at = run->next;
    pthread_mutex_unlock(&lock);
    return run != NULL ? run : calloc(1, sizeof(*run));
}

static void release_run(struct ggs_device_run * run) {
    if (run->timed && run->kind->drop != NULL) run->kind->drop(run);
    run->timed = false;
    pthread_mutex_lock(&lock);
    run->next = spare;
    spare     = run;
    pthread_mutex_unlock(&lock);
}

// The CPU has no queue. It calls ggml_is_empty while it plans a run, and other hooks record its
// ops.
static bool is_worth_following(struct ggs_device_run * run, uint32_t type) {
    if (type == GGS_DEVICE_CPU) return false;
    return run->kind == NULL || run->kind->begin == NULL || run->kind->begin(run);
}

void ggs_device_begin(void * backend, const struct abi_graph * graph) {
    if (ggs_in.depth != 1 || ggs_in.run == 0) return; // nested, or not recorded
    const char *            name = ggs_engine.backend_name(backend);
    struct ggs_backend      seen = ggs_backend_get(backend, name);
    struct ggs_device_run * run  = acquire_run(seen.kind);
    if (run == NULL) return; // the run is opaque
    *run = (struct ggs_device_run){.run      = ggs_in.run,
                                   .backend  = backend,
                                   .kind     = seen.kind,
                                   .state    = run->state,
                                   .nodes    = graph->nodes,
                                   .n_nodes  = (uint32_t) graph->n_nodes,
                                   .ops      = run->ops,
                                   .capacity = run->capacity,
                                   .begin_ns = ggs_clock_now(),
                                   .on_cpu   = seen.type == GGS_DEVICE_CPU};
    (void) ggs_array_reserve(run->ops, run->capacity, run->n_nodes); // else opaque
    if (ggs_backend_is_remote(name)) snprintf(run->remote, sizeof(run->remote), "%s", name);
    ggs_device_followed = is_worth_following(run, seen.type) ? run : NULL;
    ggs_device_current  = run;
}

void ggs_device_end(void) {
    struct ggs_device_run * run = ggs_device_current;
    if (run == NULL || ggs_in.depth != 1) return;
    if (run->timed && run->kind->submitted != NULL) run->kind->submitted(run);
    ggs_device_current = ggs_device_followed = NULL;
    run->submitted                           = ggs_ticks_now();
    run->nodes                               = NULL; // owned by the engine, which may reuse it
    pthread_mutex_lock(&lock);
    struct ggs_device_run ** end = &pending;
    while (*end != NULL) end = &(*end)->next;
    run->next = NULL;
    *end      = run;
    n_pending++;
    pthread_mutex_unlock(&lock);
}

void ggs_device_cancel(void) {
    if (ggs_device_current == NULL) return;
    release_run(ggs_device_current);
    ggs_device_current = ggs_device_followed = NULL;
}

// ---- which node ----

// Nodes come in order, so the next one usually matches; a fused op skips a few.
static bool find_node(struct ggs_device_run * run, const struct abi_tensor * node, uint32_t * found) {
    for (uint32_t i = run->cursor; i < run->n_nodes; i++) {
        if (run->nodes[i] != node) continue;
        *found = i;
        return true;
    }
    return false;
}

// True if a backend may compute a norm with sums that the preceding ADD left (Vulkan does for one
// row): the two stay together. `before`: where the preceding group begins.
static bool is_coupled(const struct ggs_device_run * run, uint32_t before, uint32_t head) {
    const struct abi_tensor * norm = run->nodes[head];
    return norm->src[0] == run->nodes[head - 1] && norm->ne[1] * norm->ne[2] * norm->ne[3] == 1 &&
           strcmp(ggs_engine.op_name(norm->op), "RMS_NORM") == 0 &&
           strcmp(ggs_engine.op_name(run->nodes[before]->op), "ADD") == 0;
}

// Before its loop a backend searches its last node from the end. It finds none, and so closes its
// submission with the first group.
static bool is_in_piece(struct ggs_device_run * run, const struct abi_tensor * node) {
    struct ggs_device_piece * piece = &run->piece;
    uint32_t                  i     = piece->first;
    while (i < piece->end && run->nodes[i] != node) i++;
    if (i == piece->first) {
        piece->asked   = true;
        piece->next    = piece->end;
        piece->n_heads = 0;
        return true;
    }
    if (i == piece->end) return true; // not a node of the piece
    if (!piece->asked || i >= piece->next) return false;
    uint32_t before = piece->n_heads == 0 ? piece->first : piece->heads[piece->n_heads - 1];
    if (piece->n_heads < GGS_DEVICE_PIECE_HEADS && is_coupled(run, before, i)) {
        piece->heads[piece->n_heads++] = i;
        return true;
    }
    piece->next = i;
    return false;
}

bool ggs_device_node(const struct abi_tensor * node, const void * caller) {
    struct ggs_device_run * run = ggs_device_followed;
    if (run->piece.on && !is_in_piece(run, node)) return false;
    if (run->commands == 0 && node == run->nodes[0]) {
        run->loop   = caller;
        run->cursor = run->n_ops = 0;
    }
    if (run->loop != caller) return true;
    uint32_t i;
    if (!find_node(run, node, &i) || run->n_ops == run->capacity) return true;
    if (run->timed && run->kind->node != NULL) run->kind->node(run);
    run->ops[run->n_ops++] = (struct ggs_device_op){.node = i, .submit = ggs_ticks_now()};
    run->cursor            = i + 1;
    return true;
}

// ---- results ----

static void emit_run(struct ggs_device_run * run) {
    if (!ggs_capture_recording()) return;
    struct ggs_journal_device_run  head = {.run            = run->run,
                                           .submitted      = run->submitted,
                                           .results_ns     = run->results_ns,
                                           .clock_error_ns = run->clock_error_ns,
                                           .ops            = run->n_ops,
                                           .timed          = !run->timed     ? GGS_DEVICE_UNTIMED
                                                             : run->replayed ? GGS_DEVICE_REPLAYED
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

void ggs_device_generating(void) {
    for (unsigned i = 0; ggs_backend_kinds[i] != NULL; i++)
        if (ggs_backend_kinds[i]->generating != NULL) ggs_backend_kinds[i]->generating();
}

// Recorded events, and backends that wait for one. The oldest entry is replaced.
enum { EVENTS_MOST = 64 };
static struct event {
    void *   event;
    void *   backend; // that it was recorded in
    uint64_t run;     // the newest run at that time
    void *   waiting; // the backend that waits for it, NULL for none
} events[EVENTS_MOST];
static unsigned n_events;

static bool is_done(const struct ggs_device_run * run, const void * backend, const char * remote) {
    if (remote != NULL) return run->remote[0] != '\0' && strncmp(run->remote, remote, sizeof(run->remote) - 1) == 0;
    return run->backend == backend && (run->remote[0] == '\0' || run->asked);
}

// Moves the runs of a backend, or of the server of that name, up to `last` to `done`, in order.
static void collect_results(const void * backend, const char * remote, uint64_t last, uint64_t now) {
    struct ggs_device_run ** end = &done;
    while (*end != NULL) end = &(*end)->next;
    for (struct ggs_device_run ** at = &pending; *at != NULL;) {
        struct ggs_device_run * run = *at;
        if (!is_done(run, backend, remote) || run->run > last) {
            at = &run->next;
            continue;
        }
        *at = run->next;
        n_pending--;
        run->results_ns = now;
        run->next       = NULL;
        *end            = run;
        end             = &run->next;
    }
}

// Writes what can be read, oldest first. One thread at a time; the next call handles what is left.
static void write_done(bool last) {
    static _Atomic bool busy;
    if (atomic_exchange(&busy, true)) return;
    for (;;) {
        unsigned waiting = 0;
        pthread_mutex_lock(&lock);
        struct ggs_device_run * run = done;
        for (const struct ggs_device_run * r = done; r != NULL; r = r->next) waiting++;
        pthread_mutex_unlock(&lock);
        if (run == NULL || (run->timed && !run->kind->read(run, last ? UINT_MAX : waiting))) break;
        pthread_mutex_lock(&lock);
        done = run->next;
        pthread_mutex_unlock(&lock);
        emit_run(run);
        run->timed = false;
        release_run(run);
    }
    atomic_store(&busy, false);
}

void ggs_device_results(void * backend) {
    if (!has_pending()) return;
    uint64_t now = ggs_clock_now();
    pthread_mutex_lock(&lock);
    collect_results(backend, NULL, UINT64_MAX, now);
    for (unsigned i = 0; i < n_events && i < EVENTS_MOST; i++) {
        if (events[i].waiting != backend) continue;
        collect_results(events[i].backend, NULL, events[i].run, now);
        events[i].waiting = NULL;
    }
    pthread_mutex_unlock(&lock);
    write_done(false);
}

void ggs_device_asked(const void * backend) {
    if (!has_pending()) return;
    pthread_mutex_lock(&lock);
    for (struct ggs_device_run * run = pending; run != NULL; run = run->next)
        if (run->backend == backend) run->asked = true;
    pthread_mutex_unlock(&lock);
}

void ggs_device_answered(void * buffer) {
    const struct abi_functions * f = &ggs_engine;
    if (!has_pending() || buffer == NULL || f->buffer_type == NULL) return;
    void *       type = f->buffer_type(buffer);
    const char * name = type == NULL || f->buffer_type_name == NULL ? NULL : f->buffer_type_name(type);
    if (!ggs_backend_is_remote(name)) return;
    uint64_t now = ggs_clock_now();
    pthread_mutex_lock(&lock);
    collect_results(NULL, name, UINT64_MAX, now);
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
    if (!has_pending()) return;
    uint64_t now = ggs_clock_now();
    pthread_mutex_lock(&lock);
    const struct event * known = find_event(event);
    if (known != NULL) collect_results(known->backend, NULL, known->run, now);
    pthread_mutex_unlock(&lock);
    if (known != NULL) write_done(false);
}

void ggs_device_event_wait(void * backend, void * event) {
    pthread_mutex_lock(&lock);
    struct event * known = find_event(event);
    if (known != NULL && known->backend != backend) known->waiting = backend;
    pthread_mutex_unlock(&lock);
}

// Writes runs without results; their times are not read.
static void emit_without_results(struct ggs_device_run * run) {
    while (run != NULL) {
        struct ggs_device_run * next = run->next;
        if (run->timed && run->kind->drop != NULL) run->kind->drop(run);
        run->timed = false;
        emit_run(run);
        release_run(run);
        run = next;
    }
}

struct ggs_device_run * ggs_device_remove_begin(void * backend) {
    ggs_backend_remove(backend);
    struct ggs_device_run * removed = NULL;
    pthread_mutex_lock(&lock);
    for (struct ggs_device_run **at = &pending, **end = &removed; *at != NULL;) {
        struct ggs_device_run * run = *at;
        if (run->backend != backend) {
            at = &run->next;
            continue;
        }
        *at = run->next;
        n_pending--;
        run->next = NULL;
        *end      = run;
        end       = &run->next;
    }
    pthread_mutex_unlock(&lock);
    return removed;
}

void ggs_device_remove_end(struct ggs_device_run * runs) {
    emit_without_results(runs);
}

void ggs_device_finish(void) {
    write_done(true);
    pthread_mutex_lock(&lock);
    struct ggs_device_run * runs = pending;
    pending                      = NULL;
    n_pending                    = 0;
    pthread_mutex_unlock(&lock);
    emit_without_results(runs);
}

bool ggs_device_is_idle(void) {
    return __atomic_load_n(&pending, __ATOMIC_RELAXED) == NULL;
}

void ggs_device_reset(void) {
    lock     = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    n_events = 0;
    memset(events, 0, sizeof(events));
}
