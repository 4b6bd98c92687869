// Orders ended events by their begins for the spool.
//
// A fault or a request is known when it ends, but the trace has them by their begins. (Times
// without a CPU may last as long as the program, so the trace has them by their ends.) A record
// waits here until nothing that began before it is in progress. The number of waiting records is
// limited: a read that takes seconds must not delay all others.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/spool.h"

struct ggs_machine_spool;

struct ggs_outbox_record {
    uint64_t ns;   // of its begin or end: the sort key
    uint32_t type; // GGS_JOURNAL_FAULT, GGS_JOURNAL_REQUEST or GGS_JOURNAL_OFF_CPU
    uint32_t reserved;
    union {
        struct ggs_journal_fault   fault;
        struct ggs_journal_request request;
        struct ggs_journal_off_cpu off_cpu;
    } body;
};

struct ggs_outbox {
    struct ggs_machine_spool * spool;
    uint64_t                   room; // bytes that the spool may still get
    struct ggs_outbox_record * records;
    size_t                     n, capacity;
    uint64_t                   floor; // of the last flush
    uint64_t                   refused_faults, refused_requests, refused_off_cpu;
};

void ggs_outbox_release(struct ggs_outbox * outbox);
void ggs_outbox_fault(struct ggs_outbox * outbox, const struct ggs_journal_fault * fault);
void ggs_outbox_request(struct ggs_outbox * outbox, const struct ggs_journal_request * request);
void ggs_outbox_off_cpu(struct ggs_outbox * outbox, const struct ggs_journal_off_cpu * span);
// Promises that no further record began before `floor`; UINT64_MAX: there are no further records.
void ggs_outbox_flush(struct ggs_outbox * outbox, uint64_t floor);
