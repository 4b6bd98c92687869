// Merges the events of all CPUs' rings into one order. Each ring is in order by itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ggs_event_kind {
    GGS_EVENT_FAULT    = 1, // a fault begins
    GGS_EVENT_MINOR    = 2, // and ends
    GGS_EVENT_MAJOR    = 3,
    GGS_EVENT_ISSUE    = 4, // a request goes to its disk
    GGS_EVENT_REQUEUE  = 5, // is put back, to be issued again
    GGS_EVENT_COMPLETE = 6,
    GGS_EVENT_NEXT     = 7, // the next thread when a thread leaves the CPU
    GGS_EVENT_LEAVE    = 8, // it leaves
    GGS_EVENT_RETURN   = 9, // it runs again, here or on another CPU
};

struct ggs_event {
    uint64_t ns; // CLOCK_MONOTONIC
    uint32_t kind;
    uint32_t pid, os_thread;
    uint32_t write;
    uint32_t source;  // fault: the events that saw it (struct ggs_ring_event)
    uint64_t address; // likewise
    uint64_t device, sector, bytes;
    uint32_t cpu, preempted; // switch
    uint32_t previous, next; // likewise: threads by the kernel's numbers
    char     name[16];       // of the next
};

struct ggs_events {
    struct ggs_event * list;
    size_t             n, capacity;
    uint64_t           dropped;  // out of memory
    int64_t            ahead_ns; // our clock minus the kernel's: we may be in a time namespace
};

void ggs_events_release(struct ggs_events * events);
void ggs_events_add(struct ggs_events * events, const struct ggs_event * event);
// Calls `visit` for everything before `ns`, in order, and removes it.
void ggs_events_drain(struct ggs_events * events, uint64_t                                  ns,
                      void (*visit)(void * context, const struct ggs_event * event), void * context);
