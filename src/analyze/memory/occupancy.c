#include "analyze/memory/occupancy.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static uint64_t class_of(const struct ggs_buffer * buffer) {
    return buffer->class_ < GGS_CLASSES ? buffer->class_ : GGS_CLASS_OTHER;
}

// ---- the curve ----

static int by_time(const void * a, const void * b) {
    const struct ggs_occupancy_event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    if (x->end != y->end) return (int) y->end - (int) x->end; // at equal times buffers are freed first
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static void add_event(struct ggs_occupancy * o, const struct ggs_buffer * buffer, int64_t ns, bool end) {
    struct ggs_occupancy_event * event = &o->events[o->n_events++];
    *event = (struct ggs_occupancy_event){.ns = ns, .buffer = buffer->buffer, .end = end, .bytes = buffer->size};
    event->by_class[class_of(buffer)] = buffer->size; // until the sums are made
}

static void add_up(struct ggs_occupancy * o) {
    struct ggs_occupancy_event now = {0};
    for (uint64_t i = 0; i < o->n_events; i++) {
        struct ggs_occupancy_event * event = &o->events[i];
        now.live                           = event->end ? now.live - 1 : now.live + 1;
        now.total                          = 0;
        for (int c = 0; c < GGS_CLASSES; c++) {
            uint64_t bytes  = event->by_class[c];
            now.by_class[c] = event->end ? now.by_class[c] - bytes : now.by_class[c] + bytes;
            now.total += now.by_class[c];
            if (now.by_class[c] > o->class_peak[c]) o->class_peak[c] = now.by_class[c];
        }
        event->total = now.total;
        event->live  = now.live;
        memcpy(event->by_class, now.by_class, sizeof(now.by_class));
        if (now.total > o->peak_bytes) o->peak_bytes = now.total, o->peak_ns = event->ns;
    }
}

static int make_events(struct ggs_occupancy * o, const struct ggs_trace * trace, struct ggs_error * error) {
    o->events = malloc((2 * trace->n_buffers + 1) * sizeof(*o->events));
    if (o->events == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * buffer = &trace->buffers[i];
        o->class_buffers[class_of(buffer)]++;
        if (buffer->file != 0) {
            o->mapped_bytes += buffer->size;
            continue;
        }
        add_event(o, buffer, buffer->begin_ns, false);
        if (buffer->end_ns >= 0) add_event(o, buffer, buffer->end_ns, true);
    }
    if (o->n_events > 0) qsort(o->events, o->n_events, sizeof(*o->events), by_time);
    add_up(o);
    return 0;
}

void ggs_occupancy_curve(const struct ggs_occupancy * o, uint64_t * curve, uint64_t n) {
    double   length = (double) (o->end_ns - o->begin_ns);
    uint64_t at = 0, now = 0;
    for (uint64_t i = 0; i < n; i++) {
        double end = (double) o->begin_ns + length * (double) (i + 1) / (double) n;
        curve[i]   = now;
        for (; at < o->n_events && ((double) o->events[at].ns < end || i + 1 == n); at++) {
            now = o->events[at].total;
            if (now > curve[i]) curve[i] = now;
        }
    }
}

// ---- transfers ----

static int add_transfer(struct ggs_occupancy * o, uint64_t * capacity, const struct ggs_transfer * t,
                        struct ggs_error * error) {
    struct ggs_transfer_totals * sum = NULL;
    for (uint64_t i = 0; i < o->n_transfers && sum == NULL; i++) {
        struct ggs_transfer_totals * s = &o->transfers[i];
        if (s->kind == t->kind && s->from_buffer == t->from_buffer && s->to_buffer == t->to_buffer &&
            s->from_file == t->file)
            sum = s;
    }
    if (sum == NULL) {
        struct ggs_transfer_totals fresh = {
            .kind = t->kind, .from_buffer = t->from_buffer, .to_buffer = t->to_buffer, .from_file = t->file};
        if (!ggs_array_push(o->transfers, o->n_transfers, *capacity, fresh)) return ggs_fail_memory(error);
        sum = &o->transfers[o->n_transfers - 1];
    }
    sum->count++;
    sum->bytes += t->bytes;
    sum->ns += t->duration_ns;
    return 0;
}

static int by_bytes(const void * a, const void * b) {
    const struct ggs_transfer_totals *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->to_buffer != y->to_buffer) return x->to_buffer < y->to_buffer ? -1 : 1;
    return x->from_buffer < y->from_buffer ? -1 : x->from_buffer > y->from_buffer;
}

static int sum_transfers(struct ggs_occupancy * o, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_transfer row;
    uint64_t            capacity = 0;
    int                 status   = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TRANSFERS, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &row, error)) > 0) {
        status = add_transfer(o, &capacity, &row, error);
        if (status < 0) break;
    }
    ggs_cursor_close(cursor);
    if (o->n_transfers > 1) qsort(o->transfers, o->n_transfers, sizeof(*o->transfers), by_bytes);
    return status < 0 ? status : 0;
}

// ---- interface ----

static int find_span(struct ggs_occupancy * o, struct ggs_trace * trace, struct ggs_error * error) {
    int status = ggs_trace_span(trace, &o->begin_ns, &o->end_ns, error);
    for (uint64_t i = 0; i < o->n_events; i++) {
        if (o->events[i].ns < o->begin_ns) o->begin_ns = o->events[i].ns;
        if (o->events[i].ns > o->end_ns) o->end_ns = o->events[i].ns;
    }
    return status;
}

int ggs_occupancy_compute_buffers(struct ggs_occupancy * o, struct ggs_trace * trace, struct ggs_error * error) {
    *o         = (struct ggs_occupancy){0};
    int status = make_events(o, trace, error);
    if (status == 0) status = find_span(o, trace, error);
    if (status < 0) ggs_occupancy_release(o);
    return status;
}

int ggs_occupancy_compute(struct ggs_occupancy * o, struct ggs_trace * trace, struct ggs_error * error) {
    int status = ggs_occupancy_compute_buffers(o, trace, error);
    if (status < 0) return status;
    status = sum_transfers(o, trace, error);
    if (status < 0) ggs_occupancy_release(o);
    return status;
}

void ggs_occupancy_release(struct ggs_occupancy * o) {
    free(o->events);
    free(o->transfers);
    *o = (struct ggs_occupancy){0};
}
