// The kernel's rings of events (perf_event_open): one per CPU, with several events that write into
// each.
//
// A ring belongs to a CPU, because inherited events cannot share another kind. Events of several
// threads of a running program share the rings. The kernel drops samples if a ring is full and does
// not say so in the ring: ggs_rings_lost compares its counts with what arrived.
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
    void * base; // NULL if not mapped
};

// One kind of event of one process or thread on one CPU.
struct ggs_ring_event {
    uint64_t id; // as in samples; the list is sorted by it
    int      fd;
    uint32_t ring, kind;
    uint32_t source; // process or thread that it was opened on, from 0
};

struct ggs_rings {
    struct ggs_ring *       rings;
    unsigned                n_rings, n_kinds;
    struct ggs_ring_event * events;
    size_t                  n_events, capacity;
    uint32_t                n_sources;
    size_t                  bytes; // of data per ring, a power of two
    uint64_t                samples[GGS_RING_EVENTS];
    uint8_t *               scratch; // for a record that wraps around
};

// A sample that begins with PERF_SAMPLE_IDENTIFIER; `body` is what follows that number, `bytes`
// long. Or a PERF_RECORD_SWITCH, which ends with it; `body` is what precedes it. It lives until
// `visit` returns.
struct ggs_ring_record {
    const struct ggs_ring_event * event;
    uint32_t                      misc; // of its header
    const void *                  body;
    size_t                        bytes;
};
typedef void (*ggs_ring_visitor)(void * context, const struct ggs_ring_record * record);

// Opens `n` events of one process (-1: all) on every CPU. Fails with the kernel's errno: EACCES and
// EPERM if that is not permitted. Rings are as large as the kernel lets us lock, at most `most`
// bytes.
int ggs_rings_open(struct ggs_rings * rings, const struct perf_event_attr * attributes, unsigned n, pid_t process,
                   size_t most, struct ggs_error * error);
// Opens the same events on another thread. Returns false with errno ESRCH if it has ended.
bool ggs_rings_add(struct ggs_rings * rings, const struct perf_event_attr * attributes, pid_t thread);
void ggs_rings_close(struct ggs_rings * rings); // a zeroed struct is allowed

// Fills one entry per ring, which becomes ready when enough data is there.
void ggs_rings_poll(const struct ggs_rings * rings, struct pollfd * fds);
// Passes on all data.
void ggs_rings_drain(struct ggs_rings * rings, ggs_ring_visitor visit, void * context);
// For events that were opened disabled and that no exec enables.
void ggs_rings_start(const struct ggs_rings * rings);
// Ends counting and writing.
void ggs_rings_stop(const struct ggs_rings * rings);
// How many events of this kind have no sample that arrived here. Stop and drain first.
uint64_t ggs_rings_lost(const struct ggs_rings * rings, unsigned kind);
