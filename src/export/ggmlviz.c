// Events in ggml-viz's format (GGMLVIZ1), little endian:
//
//     "GGMLVIZ1", u32 version = 1, then events:
//     u8 type | u64 timestamp_ns | u32 thread | 32 bytes of body | u8 has_label | u32 length, bytes
//
// Events of a graph run are sorted by time, runs follow each other, and buffer events are merged by
// time.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "export/export.h"
#include "export/formats.h"

enum event_type {
    GRAPH_BEGIN,
    GRAPH_END,
    OP_BEGIN,
    OP_END,
    TENSOR_ALLOC,
    TENSOR_FREE,
    BARRIER,
    THREAD_BEGIN,
    THREAD_END
};

struct event {
    int64_t      ns;
    uint64_t     order; // tie-breaker for events at the same time
    uint32_t     thread;
    uint8_t      type;
    uint64_t     word[4];
    const char * label; // NULL for none
};

struct ggmlviz {
    struct ggs_export * export;
    struct ggs_target target;
    struct event *    events; // of one run
    uint64_t          n, capacity;
    struct event *    buffers; // of the whole recording, by time
    uint64_t          n_buffers, next_buffer;
};

static void put_event(struct ggmlviz * g, const struct event * e) {
    uint8_t  head[13], body[32];
    uint64_t ns     = e->ns < 0 ? 0 : (uint64_t) e->ns;
    uint8_t  label  = e->label != NULL;
    uint32_t length = label ? (uint32_t) strlen(e->label) : 0;
    head[0]         = e->type;
    memcpy(head + 1, &ns, 8);
    memcpy(head + 9, &e->thread, 4);
    memcpy(body, e->word, 32);
    ggs_target_write(&g->target, head, sizeof(head));
    ggs_target_write(&g->target, body, sizeof(body));
    ggs_target_write(&g->target, &label, 1);
    if (!label) return;
    ggs_target_write(&g->target, &length, 4);
    ggs_target_write(&g->target, e->label, length);
}

static bool add(struct ggmlviz * g, struct event e) {
    e.order = g->n;
    return ggs_array_push(g->events, g->n, g->capacity, e);
}

static int by_time(const void * a, const void * b) {
    const struct event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

// ---- buffers ----

static int list_buffers(struct ggmlviz * g, struct ggs_error * error) {
    const struct ggs_trace * trace = &g->export->trace;
    g->buffers                     = malloc((2 * trace->n_buffers + 1) * sizeof(*g->buffers));
    if (g->buffers == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * b = &trace->buffers[i];
        struct event              e = {.ns    = b->begin_ns,
                                       .order = g->n_buffers,
                                       .type  = TENSOR_ALLOC,
                                       .word  = {b->address, b->size},
                                       .label = ggs_reader_string(trace->reader, b->type)};
        g->buffers[g->n_buffers++]  = e;
        if (b->end_ns < 0) continue;
        e.ns = b->end_ns, e.type = TENSOR_FREE, e.order = g->n_buffers;
        g->buffers[g->n_buffers++] = e;
    }
    qsort(g->buffers, g->n_buffers, sizeof(*g->buffers), by_time);
    return 0;
}

static void put_buffers(struct ggmlviz * g, int64_t until) {
    while (g->next_buffer < g->n_buffers && g->buffers[g->next_buffer].ns <= until)
        put_event(g, &g->buffers[g->next_buffer++]);
}

// ---- runs ----

// A number for the backend, in place of ggml-viz's pointer; 0 for the CPU.
static uint64_t backend_of(const struct ggmlviz * g, const struct ggs_walk * walk) {
    const char * name = ggs_reader_string(g->export->trace.reader, walk->run.backend);
    return strcmp(name, "CPU") == 0 || name[0] == '\0' ? 0 : walk->run.backend;
}

// Writes one pair of events per op, because readers pair them by tensor and not by thread. A
// barrier event stands for the wait that follows.
static bool add_op(struct ggmlviz * g, const struct ggs_walk * walk) {
    const struct ggs_op_seen * op      = &walk->op;
    uint64_t                   address = op->result == NULL ? 0 : op->result->address;
    uint64_t                   size    = op->result == NULL ? 0 : ggs_trace_extent(walk->trace, op->result);
    struct event               begin   = {.ns    = op->begin_ns,
                                          .type  = OP_BEGIN,
                                          .word  = {address, op->op & 0xffffffffu, size, backend_of(g, walk)},
                                          .label = op->result == NULL ? "" : ggs_tensor_name(g->export, op->result)};
    struct event               end     = begin;
    end.ns = op->end_ns, end.type = OP_END;
    bool ok = add(g, begin) && add(g, end);
    return op->wait_ns == 0 ? ok : ok && add(g, (struct event){.ns = op->end_ns, .type = BARRIER});
}

static int put_run(struct ggmlviz * g, struct ggs_walk * walk, struct ggs_error * error) {
    const struct ggs_run * run  = &walk->run;
    struct event           edge = {.ns    = run->begin_ns,
                                   .type  = GRAPH_BEGIN,
                                   .word  = {run->graph, run->nodes | run->threads << 32, backend_of(g, walk)},
                                   .label = ggs_reader_string(walk->trace->reader, run->backend)};
    g->n                        = 0;
    while (ggs_walk_op(walk)) {
        if (!add_op(g, walk)) return ggs_fail_memory(error);
    }
    put_buffers(g, run->begin_ns - 1);
    while (g->next_buffer < g->n_buffers &&
           g->buffers[g->next_buffer].ns <= run->end_ns) { // buffer events within the run
        if (!add(g, g->buffers[g->next_buffer++])) return ggs_fail_memory(error);
    }
    if (g->n > 0) qsort(g->events, g->n, sizeof(*g->events), by_time);
    put_event(g, &edge);
    for (uint64_t i = 0; i < g->n; i++) put_event(g, &g->events[i]);
    edge.ns   = g->n > 0 && g->events[g->n - 1].ns > run->end_ns ? g->events[g->n - 1].ns : run->end_ns;
    edge.type = GRAPH_END;
    put_event(g, &edge);
    return 0;
}

int ggs_export_ggmlviz(struct ggs_export * export, struct ggs_error * error) {
    struct ggmlviz    g       = {.export = export};
    struct ggs_walk * walk    = NULL;
    const uint32_t    version = 1;
    int               status  = ggs_export_open(export, &g.target, NULL, error);
    if (status < 0) return status;
    ggs_target_write(&g.target, "GGMLVIZ1", 8);
    ggs_target_write(&g.target, &version, 4);
    status = list_buffers(&g, error);
    if (status == 0) status = ggs_export_walk(export, &walk, error);
    while (walk != NULL && status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        status = put_run(&g, walk, error);
        if (status >= 0) ggs_export_step(export);
    }
    put_buffers(&g, INT64_MAX);
    ggs_walk_close(walk);
    free(g.buffers);
    free(g.events);
    return ggs_export_close(export, &g.target, status, error);
}
