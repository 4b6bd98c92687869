// The kernel's rings of events (perf_event_open): a ring for each CPU, and several events that
// write into each.
//
// A ring belongs to a CPU because events that are inherited by threads and children cannot share
// one that does not. Events of several threads of a program that runs already share the rings. The
// kernel drops what a full ring has no room for and does not say so in the ring: ggs_rings_lost
// compares its counts with what arrived.
#pragma once

#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

enum { GGS_RING_EVENTS = 5 };

struct ggs_ring {
    int    cpu;
    int    fd;   // of the event that made it
    void * base; // NULL: not mapped
};

// One kind of event of one process or thread on one CPU.
struct ggs_ring_event {
    uint64_t id; // as samples name it; the list is in their order
    int      fd;
    uint32_t ring, kind;
    uint32_t source; // the process or thread that it was opened on, counted from 0
};

struct ggs_rings {
    struct ggs_ring *       rings;
    unsigned                n_rings, n_kinds;
    struct ggs_ring_event * events;
    size_t                  n_events, capacity;
    uint32_t                n_sources;
    size_t                  bytes; // of data in each, a power of two
    uint64_t                samples[GGS_RING_EVENTS];
    uint8_t *               scratch; // for a record that goes around the end of its ring
};

// A sample that begins with PERF_SAMPLE_IDENTIFIER; `body` is what follows that number, `bytes` of
// it. Or a PERF_RECORD_SWITCH, which ends with it: `body` is what stands before. It lives until
// `see` returns.
struct ggs_ring_record {
    const struct ggs_ring_event * event;
    uint32_t                      misc; // of its header
    const void *                  body;
    size_t                        bytes;
};
typedef void (*ggs_rings_see)(void * context, const struct ggs_ring_record * record);

// Opens `n` events of one process (-1: all) on every CPU. Fails with errno as the kernel set it:
// EACCES and EPERM if that is not permitted. Rings are as large as the kernel lets us lock, `most`
// bytes at most.
int ggs_rings_open(struct ggs_rings * rings, const struct perf_event_attr * attributes, unsigned n, pid_t process,
                   size_t most, struct ggs_error * error);
// Opens the same events on one more thread. False with errno ESRCH if it has ended.
bool ggs_rings_add(struct ggs_rings * rings, const struct perf_event_attr * attributes, pid_t thread);
void ggs_rings_close(struct ggs_rings * rings); // a zeroed struct is fine

// Fills one entry for each ring, which is ready when enough waits there.
void ggs_rings_poll(const struct ggs_rings * rings, struct pollfd * fds);
// Hands over all that waits.
void ggs_rings_drain(struct ggs_rings * rings, ggs_rings_see see, void * context);
// For events that were opened disabled, and that no exec enables.
void ggs_rings_start(const struct ggs_rings * rings);
// Nothing more is counted or written from here on.
void ggs_rings_stop(const struct ggs_rings * rings);
// How many times an event of this kind happened without a sample that arrived here. Stop and drain
// first.
uint64_t ggs_rings_lost(const struct ggs_rings * rings, unsigned kind);
