#include "record/observe/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/observe/machine-spool.h"

enum { MOST_WAITING = 1 << 18 };

void ggs_outbox_release(struct ggs_outbox * outbox) {
    free(outbox->records);
    *outbox = (struct ggs_outbox){0};
}

static void refuse(struct ggs_outbox * outbox, uint32_t type) {
    *(type == GGS_JOURNAL_FAULT     ? &outbox->refused_faults
      : type == GGS_JOURNAL_REQUEST ? &outbox->refused_requests
                                    : &outbox->refused_off_cpu) += 1;
}

static void add(struct ggs_outbox * outbox, const struct ggs_outbox_record * record) {
    if (!ggs_array_push(outbox->records, outbox->n, outbox->capacity, *record)) refuse(outbox, record->type);
}

void ggs_outbox_fault(struct ggs_outbox * outbox, const struct ggs_journal_fault * fault) {
    struct ggs_outbox_record record = {.ns = fault->begin_ns, .type = GGS_JOURNAL_FAULT, .body = {.fault = *fault}};
    add(outbox, &record);
}

void ggs_outbox_request(struct ggs_outbox * outbox, const struct ggs_journal_request * request) {
    struct ggs_outbox_record record = {
        .ns = request->begin_ns, .type = GGS_JOURNAL_REQUEST, .body = {.request = *request}};
    add(outbox, &record);
}

void ggs_outbox_off_cpu(struct ggs_outbox * outbox, const struct ggs_journal_off_cpu * span) {
    struct ggs_outbox_record record = {.ns = span->end_ns, .type = GGS_JOURNAL_OFF_CPU, .body = {.off_cpu = *span}};
    add(outbox, &record);
}

static int by_time(const void * a, const void * b) {
    const struct ggs_outbox_record *x = a, *y = b;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void send(struct ggs_outbox * outbox, const struct ggs_outbox_record * record) {
    size_t bytes = record->type == GGS_JOURNAL_FAULT     ? sizeof(record->body.fault)
                   : record->type == GGS_JOURNAL_REQUEST ? sizeof(record->body.request)
                                                         : sizeof(record->body.off_cpu);
    size_t whole = sizeof(struct ggs_journal_record) + bytes;
    if (outbox->room < whole) {
        refuse(outbox, record->type);
        return;
    }
    outbox->room -= whole;
    ggs_machine_spool_append(outbox->spool, record->type, record->ns, &record->body, bytes);
}

void ggs_outbox_flush(struct ggs_outbox * outbox, uint64_t floor) {
    if (outbox->n == 0 || (floor <= outbox->floor && outbox->n < MOST_WAITING)) return;
    if (outbox->n >= MOST_WAITING) floor = UINT64_MAX;
    qsort(outbox->records, outbox->n, sizeof(*outbox->records), by_time);
    size_t n = 0;
    while (n < outbox->n && outbox->records[n].ns < floor) send(outbox, &outbox->records[n++]);
    memmove(outbox->records, outbox->records + n, (outbox->n - n) * sizeof(*outbox->records));
    outbox->n -= n;
    if (floor != UINT64_MAX) outbox->floor = floor;
}
