// Totals of each device: when it computed, the part of it with known ops, and transfers to and from
// its memory.
//
// Filled while totals.c walks the recording: begin, every run and every op, end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/diff/spread.h"
#include "analyze/walk/walk.h"

enum { GGS_DEVICE_BINS = 64 };

// Transfers in one direction between host and device memory, or from another device.
struct ggs_device_moved {
    uint64_t count, bytes;
    // Only those whose end was seen: for asynchronous ones only the call is known.
    uint64_t timed, timed_bytes, ns;
    uint64_t overlap_ns; // the part of `ns` in which ops ran on the device
};

struct ggs_device_totals {
    struct ggs_device row;
    const char *      name;
    uint64_t          queues;
    uint64_t          runs, run_ns;         // from start to results
    uint64_t          timed_runs, timed_ns; // of those, runs with op times
    uint64_t          peer_runs;            // of the runs, those recorded op by op in a server's recording
    struct ggs_spread timed_run,
        whole_run;       // of generated tokens: duration of a run with op times, and of one without
    uint64_t ops, op_ns; // ops with times; op_ns: busy time
    // Busy nanoseconds in equal parts of the list's begin_ns .. end_ns.
    uint64_t                bins[GGS_DEVICE_BINS];
    struct ggs_device_moved in, out; // of the whole recording, regardless of the requested part
};

struct ggs_device_transfer {
    int64_t  begin_ns, end_ns;
    int64_t  reach_ns; // latest end of this and all earlier ones
    uint64_t overlap_ns;
    uint64_t device; // index in the list
    bool     in;
};

struct ggs_device_list {
    struct ggs_device_totals * device; // by number
    uint64_t                   n;
    int64_t                    begin_ns, end_ns; // from the first graph run's start to the last one's end
    // private
    struct ggs_device_transfer * transfers; // by begin
    uint64_t                     n_transfers, capacity;
};

int  ggs_device_list_begin(struct ggs_device_list * list, struct ggs_trace * trace, struct ggs_error * error);
void ggs_device_list_run(struct ggs_device_list * list, const struct ggs_run * run);
void ggs_device_list_op(struct ggs_device_list * list, const struct ggs_run * run, const struct ggs_op_seen * op);
void ggs_device_list_end(struct ggs_device_list * list);
void ggs_device_list_release(struct ggs_device_list * list);

// Bytes moved to and from devices between two times, in `n` bins. An asynchronous transfer counts
// at its call. `to` and `from` must be zeroed.
int ggs_device_transfers(const struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, uint64_t n, double * to,
                         double * from, struct ggs_error * error);

// True if all its graph runs have op times.
static inline bool ggs_device_is_timed(const struct ggs_device_totals * device) {
    return device->timed_runs == device->runs;
}
// Utilisation of the device between the first and the last graph run, from 0 to 1; negative if
// unknown because some runs have no op times.
double ggs_device_busy(const struct ggs_device_list * list, const struct ggs_device_totals * device);
// True if a device other than the CPU computed or has memory.
bool ggs_device_list_has_other(const struct ggs_device_list * list);
