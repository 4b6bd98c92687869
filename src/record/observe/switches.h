// Context switches of a program's threads, paired into times without a CPU.
//
// The kernel reports both sides of a switch of one's own threads without privileges
// (PERF_RECORD_SWITCH). Only the trace point sched_switch, which needs root, says who ran instead.
// The events use the rings of page faults.
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/observe/events.h"
#include "record/observe/outbox.h"
#include "record/observe/trace-point.h"

enum { GGS_SWITCH_THREADS = 4096 }; // a power of two

// The thread of a number, modulo GGS_SWITCH_THREADS: two live threads that share an entry lose
// spans to each other.
struct ggs_switch_thread {
    uint32_t os_thread, pid;
    uint32_t source; // of the events that saw it leave
    uint32_t cpu;
    uint64_t left_ns; // 0 while it runs
    uint32_t preempted;
    uint32_t next; // kernel's number of the next thread
    char     next_name[16];
    bool     next_seen;
};

// A thread of ours by its kernel number, which differs in containers.
struct ggs_switch_own {
    uint32_t kernel_thread, pid;
};

struct ggs_switches {
    struct ggs_switch_thread * threads; // NULL if not recorded
    struct ggs_switch_own *    own;
    uint64_t                   point; // of the trace point, 0 if unreadable
    struct ggs_trace_field     previous, next, name;
    uint64_t                   lost; // a thread left twice: an event is missing
};

// Returns false when out of memory. Finds the trace point, which may be missing.
bool ggs_switches_init(struct ggs_switches * switches);
void ggs_switches_release(struct ggs_switches * switches); // a zeroed struct is allowed

// Describes the two events, given those of faults; the second only if `point` is not 0.
void ggs_switches_describe(const struct ggs_switches * switches, const struct perf_event_attr * base,
                           struct perf_event_attr attributes[2]);
// Decodes a PERF_RECORD_SWITCH: `body` is what follows its header.
void ggs_switches_decode(struct ggs_events * events, uint32_t misc, uint32_t source, const void * body, size_t bytes);
// Decodes a sample of the trace point: `body` is what follows its identifier.
void ggs_switches_decode_point(const struct ggs_switches * switches, struct ggs_events * events, uint32_t source,
                               const void * body, size_t bytes);

// Pairs events, which are in time order.
void ggs_switches_add(struct ggs_switches * switches, const struct ggs_event * event, struct ggs_outbox * outbox);
