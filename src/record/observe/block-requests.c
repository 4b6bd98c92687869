#include "record/observe/block-requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

enum { ISSUE, REQUEUE, COMPLETE, EVENTS };
enum { RING_BYTES = 1 << 20, MOST_OPEN = 1 << 16, SECTOR = 512 };

static const char * const point_names[EVENTS] = {
    [ISSUE] = "block_rq_issue", [REQUEUE] = "block_rq_requeue", [COMPLETE] = "block_rq_complete"};
static const enum ggs_event_kind kinds[EVENTS] = {
    [ISSUE] = GGS_EVENT_ISSUE, [REQUEUE] = GGS_EVENT_REQUEUE, [COMPLETE] = GGS_EVENT_COMPLETE};

// ---- opening ----

static int read_points(struct ggs_block_requests * requests, struct ggs_error * error) {
    int folder = ggs_trace_points_folder();
    int status = folder < 0 ? GGS_UNSUPPORTED : 0;
    for (int i = 0; i < EVENTS && status == 0; i++) {
        struct ggs_trace_format  format;
        struct ggs_trace_point * point = &requests->points[i];
        status                         = ggs_trace_format_read(&format, folder, "block", point_names[i], error);
        if (status != 0) break;
        point->id      = format.id;
        point->device  = ggs_trace_format_field(&format, "dev");
        point->sector  = ggs_trace_format_field(&format, "sector");
        point->sectors = ggs_trace_format_field(&format, "nr_sector");
        point->kind    = ggs_trace_format_field(&format, "rwbs");
        if (point->device.size == 0 || point->sector.size == 0 || point->sectors.size == 0 || point->kind.size == 0)
            status = ggs_fail(error, GGS_UNSUPPORTED, "this kernel's trace point %s has other fields", point_names[i]);
    }
    if (folder >= 0) close(folder);
    return status;
}

int ggs_block_requests_open(struct ggs_block_requests * requests, struct ggs_error * error) {
    struct perf_event_attr attributes[EVENTS];
    struct ggs_error       reason;
    *requests = (struct ggs_block_requests){0};
    if (read_points(requests, &reason) != 0) {
        if (geteuid() == 0) return ggs_fail(error, GGS_UNSUPPORTED, "the kernel's block trace points cannot be read");
        return ggs_fail(error, GGS_UNSUPPORTED, "reading the kernel's block trace points takes root");
    }
    for (int i = 0; i < EVENTS; i++) {
        attributes[i] = (struct perf_event_attr){
            .type             = PERF_TYPE_TRACEPOINT,
            .size             = sizeof(attributes[i]),
            .config           = requests->points[i].id,
            .sample_period    = 1,
            .sample_type      = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
            .disabled         = 1, // events before the ring exists would count as lost
            .use_clockid      = 1,
            .clockid          = CLOCK_MONOTONIC,
            .watermark        = 1,
            .wakeup_watermark = 64 << 10,
        };
    }
    if (ggs_rings_open(&requests->rings, attributes, EVENTS, -1, RING_BYTES, error) == 0) {
        ggs_rings_start(&requests->rings);
        return 0;
    }
    if (errno == EACCES || errno == EPERM)
        return ggs_fail(error, GGS_UNSUPPORTED, "perf events of the whole machine take root (CAP_PERFMON)");
    return GGS_UNSUPPORTED;
}

void ggs_block_requests_close(struct ggs_block_requests * requests) {
    ggs_rings_close(&requests->rings);
    free(requests->open);
    *requests = (struct ggs_block_requests){0};
}

int ggs_block_requests_probe(struct ggs_error * error) {
    struct ggs_block_requests requests;
    int                       status = ggs_block_requests_open(&requests, error);
    if (status == 0) ggs_block_requests_close(&requests);
    return status;
}

// ---- samples ----

// The contents of a sample after its identifier; `bytes` of the trace point's own data follow.
struct sample {
    uint32_t pid, os_thread;
    uint64_t ns;
    uint32_t bytes;
} __attribute__((packed));

struct drain {
    struct ggs_block_requests * requests;
    struct ggs_events *         events;
};

static uint64_t number(const struct ggs_trace_field * field, const uint8_t * data, size_t bytes) {
    uint64_t value = 0;
    if (field->size > sizeof(value) || field->offset > bytes || field->size > bytes - field->offset) return 0;
    memcpy(&value, data + field->offset, field->size);
    return value;
}

// "R", "RA", "WS", "FWS": a flush may precede the letter of the operation.
static char kind_of(const struct ggs_trace_field * field, const uint8_t * data, size_t bytes) {
    if (field->size < 2 || field->offset > bytes || field->size > bytes - field->offset) return '\0';
    const char * text = (const char *) data + field->offset;
    return text[0] == 'F' && (text[1] == 'W' || text[1] == 'R') ? text[1] : text[0];
}

static void add_sample(void * context, const struct ggs_ring_record * record) {
    struct drain *                 drain = context;
    const struct ggs_trace_point * point = &drain->requests->points[record->event->kind];
    struct sample                  sample;
    if (record->bytes < sizeof(sample)) return;
    memcpy(&sample, record->body, sizeof(sample));
    const uint8_t * data = (const uint8_t *) record->body + sizeof(sample);
    size_t          room = record->bytes - sizeof(sample);
    if (sample.bytes < room) room = sample.bytes;
    char kind = kind_of(&point->kind, data, room);
    if (kind != 'R' && kind != 'W') return; // discards, flushes without data, commands
    struct ggs_event found = {.ns        = sample.ns,
                              .kind      = kinds[record->event->kind],
                              .pid       = sample.pid,
                              .os_thread = sample.os_thread,
                              .write     = kind == 'W',
                              .device    = number(&point->device, data, room),
                              .sector    = number(&point->sector, data, room),
                              .bytes     = number(&point->sectors, data, room) * SECTOR};
    if (found.bytes > 0) ggs_events_add(drain->events, &found);
}

void ggs_block_requests_drain(struct ggs_block_requests * requests, struct ggs_events * events) {
    struct drain drain = {requests, events};
    ggs_rings_drain(&requests->rings, add_sample, &drain);
}

// ---- pairing ----
//
// Some kernels (seen with 6.18) take no samples while a CPU is idle, and many requests end at that
// time: such an end is never seen.

static void let_go(struct ggs_block_requests * requests, size_t i, struct ggs_outbox * outbox) {
    ggs_outbox_request(outbox, &requests->open[i].row);
    requests->open[i] = requests->open[--requests->n_open];
}

static size_t oldest(const struct ggs_block_requests * requests) {
    size_t first = 0;
    for (size_t i = 1; i < requests->n_open; i++)
        if (requests->open[i].row.begin_ns < requests->open[first].row.begin_ns) first = i;
    return first;
}

static void issue(struct ggs_block_requests * requests, const struct ggs_event * event, struct ggs_outbox * outbox) {
    if (requests->n_open == MOST_OPEN) let_go(requests, oldest(requests), outbox);
    struct open_request request = {.row    = {.begin_ns  = event->ns,
                                              .sector    = event->sector,
                                              .bytes     = event->bytes,
                                              .device    = event->device,
                                              .os_thread = event->os_thread,
                                              .write     = event->write},
                                   .sector = event->sector,
                                   .left   = event->bytes / SECTOR};
    if (!ggs_array_push(requests->open, requests->n_open, requests->capacity, request))
        ggs_outbox_request(outbox, &request.row);
}

void ggs_block_requests_add(struct ggs_block_requests * requests, const struct ggs_event * event,
                            struct ggs_outbox * outbox) {
    size_t i = 0;
    while (i < requests->n_open &&
           (requests->open[i].sector != event->sector || requests->open[i].row.device != event->device))
        i++;
    struct open_request * request = i < requests->n_open ? &requests->open[i] : NULL;
    if (event->kind == GGS_EVENT_ISSUE) {
        if (request != NULL && request->put_back) {
            request->put_back = false;
            return;
        }
        if (request != NULL) let_go(requests, i, outbox); // its end was missed
        issue(requests, event, outbox);
        return;
    }
    if (request == NULL) return; // issued before the recording
    request->put_back = event->kind == GGS_EVENT_REQUEUE;
    if (request->put_back) return;
    uint64_t sectors    = event->bytes / SECTOR;
    request->row.end_ns = event->ns;
    if (sectors >= request->left) {
        let_go(requests, i, outbox);
    } else { // a part of it; the rest comes under its own sector
        request->sector += sectors;
        request->left -= sectors;
    }
}

void ggs_block_requests_expire(struct ggs_block_requests * requests, uint64_t ns, struct ggs_outbox * outbox) {
    for (size_t i = requests->n_open; i-- > 0;)
        if (requests->open[i].row.begin_ns < ns) let_go(requests, i, outbox);
}

uint64_t ggs_block_requests_oldest(const struct ggs_block_requests * requests) {
    return requests->n_open == 0 ? UINT64_MAX : requests->open[oldest(requests)].row.begin_ns;
}

uint64_t ggs_block_requests_finish(struct ggs_block_requests * requests, struct ggs_outbox * outbox) {
    while (requests->n_open > 0) let_go(requests, requests->n_open - 1, outbox);
    return ggs_rings_lost(&requests->rings, ISSUE);
}
