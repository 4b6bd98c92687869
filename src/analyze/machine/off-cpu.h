// Times in which threads had no CPU, joined with what they computed.
//
// A thread has work from the moment at which all threads have finished the previous op (or the
// graph run begins) until it has finished its share of the op. Time without a CPU in that span is
// lost: the other threads wait for it at the barrier. A thread that waits itself loses nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/ops/totals.h"
#include "analyze/walk/names.h"
#include "analyze/walk/trace.h"

struct ggs_off_cpu_span {
    uint64_t process, os_thread;
    int64_t  begin_ns, end_ns;
    uint32_t kind, other; // enum ggs_off_cpu_kind, ggs_off_cpu_other
    uint64_t name;        // string of the trace
};

// By process, thread and time.
struct ggs_off_cpu_spans {
    struct ggs_off_cpu_span * span;
    uint64_t                  n, capacity;
};

// Reads the spans that overlap [begin_ns, end_ns).
int ggs_off_cpu_spans_read(struct ggs_off_cpu_spans * spans, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                           struct ggs_error * error);
void ggs_off_cpu_spans_release(struct ggs_off_cpu_spans * spans); // a zeroed struct is fine
// Returns the time without a CPU of the thread between the two.
uint64_t ggs_off_cpu_spans_within(const struct ggs_off_cpu_spans * spans, uint64_t process, uint64_t os_thread,
                                  int64_t begin_ns, int64_t end_ns);

struct ggs_off_cpu_op {
    const char * name; // of ops
    uint64_t     lost_ns;
};

// What ran on the CPU instead.
struct ggs_off_cpu_runner {
    const char * name; // "" if it was not seen, or none ran
    uint64_t     other;
    uint64_t     ns; // of lost time, summed over threads
};

struct ggs_off_cpu_totals {
    bool                        recorded;
    bool                        others_seen;        // the kernel reported what ran instead
    uint64_t                    spans, lost_events; // lost: switches that the kernel had no room for
    uint64_t                    run_ns;             // of graph runs of the CPU, warm-up left out
    uint64_t                    lost_ns;            // of these: some thread with work had no CPU
    uint64_t                    preempted_ns;       // of these: it could have run
    uint64_t                    foreign_ns; // of these: no thread of its own process ran instead, as far as seen
    uint64_t                    thread_ns;  // lost_ns summed over threads
    struct ggs_off_cpu_op *     by_op;      // most lost first
    uint64_t                    n_by_op, by_op_capacity;
    struct ggs_off_cpu_runner * by_other; // longest first
    uint64_t                    n_by_other, by_other_capacity;
    struct ggs_names *          names, *others;
};

int  ggs_off_cpu_totals_compute(struct ggs_off_cpu_totals * totals, struct ggs_trace * trace,
                                const struct ggs_totals_range * range, struct ggs_error * error);
void ggs_off_cpu_totals_release(struct ggs_off_cpu_totals * totals); // a zeroed struct is fine

// Writes the main programs that ran instead, with their shares of the lost time: "node 61 %, cc1
// 12 %". "" if none was seen.
char * ggs_off_cpu_who(const struct ggs_off_cpu_totals * totals, char * text, size_t size);

const char * ggs_off_cpu_kind_name(uint64_t kind);   // "blocked", "preempted"
const char * ggs_off_cpu_other_name(uint64_t other); // "not seen", "idle", "own", "program"
