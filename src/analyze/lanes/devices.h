// What each device did: how long it computed and when, of how much of that ops are known, and what
// was moved to and from its memory.
//
// Filled while totals.c walks over the recording: begin, then every run and every op of it, then
// end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/diff/spread.h"
#include "analyze/walk/walk.h"

enum { GGS_DEVICE_BINS = 64 };

// Transfers in one direction between the host's memory and the device's, or from another device.
struct ggs_device_moved {
    uint64_t count, bytes;
    // Of those whose end was seen: an asynchronous one only tells when it was asked for.
    uint64_t timed, timed_bytes, ns;
    uint64_t overlap_ns; // how much of ns ops ran on the device
};

struct ggs_device_totals {
    struct ggs_device row;
    const char *      name;
    uint64_t          queues;
    uint64_t          runs, run_ns;         // begin to results
    uint64_t          timed_runs, timed_ns; // of those the ones whose ops have times
    uint64_t          peer_runs;            // of the runs, those that a server's recording has op by op
    struct ggs_spread timed_run,
        whole_run;       // of generated tokens: what one takes that has op times, and one that has none
    uint64_t ops, op_ns; // ops that have times; op_ns is how long it was busy with them
    // Busy nanoseconds in equal parts of begin_ns .. end_ns of the list.
    uint64_t                bins[GGS_DEVICE_BINS];
    struct ggs_device_moved in, out; // of the whole recording, whatever part of it is asked for
};

struct ggs_device_transfer {
    int64_t  begin_ns, end_ns;
    int64_t  reach_ns; // the latest end of this one and all before it
    uint64_t overlap_ns;
    uint64_t device; // index in the list
    bool     in;
};

struct ggs_device_list {
    struct ggs_device_totals * device; // by number
    uint64_t                   n;
    int64_t                    begin_ns, end_ns; // the first graph run's begin to the last one's end
    // below: private
    struct ggs_device_transfer * transfers; // by begin
    uint64_t                     n_transfers, capacity;
};

int  ggs_device_list_begin(struct ggs_device_list * list, struct ggs_trace * trace, struct ggs_error * error);
void ggs_device_list_run(struct ggs_device_list * list, const struct ggs_run * run);
void ggs_device_list_op(struct ggs_device_list * list, const struct ggs_run * run, const struct ggs_op_seen * op);
void ggs_device_list_end(struct ggs_device_list * list);
void ggs_device_list_release(struct ggs_device_list * list);

// Bytes that were moved to and from devices between two times, spread over `n` bins. An
// asynchronous transfer counts where it was asked for. `to` and `from` are zeroed before.
int ggs_device_transfers(const struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, uint64_t n, double * to,
                         double * from, struct ggs_error * error);

// Are the times of ops of all its graph runs known?
static inline bool ggs_device_is_timed(const struct ggs_device_totals * device) {
    return device->timed_runs == device->runs;
}
// How much of the time between the first graph run and the last the device was busy, from 0 to 1;
// negative if that is not known: some of its runs have no op times.
double ggs_device_busy(const struct ggs_device_list * list, const struct ggs_device_totals * device);
// Another one than the CPU computed, or has memory.
bool ggs_device_list_has_other(const struct ggs_device_list * list);
