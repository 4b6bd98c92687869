// Requests to block devices from the kernel's trace points: device, sector, bytes, thread, issue
// and completion.
//
// Needs root (CAP_PERFMON, and tracefs, which need not be mounted). All devices are watched;
// requests of the recording are found afterwards (disks.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/observe/events.h"
#include "record/observe/outbox.h"
#include "record/observe/rings.h"
#include "record/observe/trace-point.h"

struct ggs_trace_point {
    uint64_t               id;
    struct ggs_trace_field device, sector, sectors, kind;
};

struct ggs_block_requests {
    struct ggs_rings       rings;
    struct ggs_trace_point points[3]; // issue, requeue, complete
    struct open_request {
        struct ggs_journal_request row;
        uint64_t                   sector, left; // not completed yet, in sectors
        bool                       put_back;     // it will be issued again
    } * open;
    size_t n_open, capacity;
};

// A failure names the missing permission.
int  ggs_block_requests_open(struct ggs_block_requests * requests, struct ggs_error * error);
void ggs_block_requests_close(struct ggs_block_requests * requests); // a zeroed struct
// True if requests can be observed here.
int ggs_block_requests_probe(struct ggs_error * error);

void ggs_block_requests_drain(struct ggs_block_requests * requests, struct ggs_events * events);
// Pairs issues with completions; events in order of time.
void ggs_block_requests_add(struct ggs_block_requests * requests, const struct ggs_event * event,
                            struct ggs_outbox * outbox);
// Drops requests issued before `ns` that have not completed.
void     ggs_block_requests_expire(struct ggs_block_requests * requests, uint64_t ns, struct ggs_outbox * outbox);
uint64_t ggs_block_requests_oldest(const struct ggs_block_requests * requests);
uint64_t ggs_block_requests_finish(struct ggs_block_requests * requests,
                                   struct ggs_outbox *         outbox); // returns how many were lost
