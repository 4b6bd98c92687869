// A recording as tracks with slices, for formats that timeline viewers read.
//
//     tokens, context 0      | token 0                  | token 1 |          one track per context
//     CPU                    |   graph run 1            |   run 2 |          one per backend, and per run at the same time
//     CPU thread 0           | token 0                  | token 1 |          one per thread: token > graph run > op, wait
//                            |   graph run 1            |  run 2  |
//                            |   op |op  |wait|op |     |  op |op |
//     buffer bytes           a counter
//     bytes read from disk   a counter: as ops address them
//     page faults 0          | minor fault |   | major fault |               if they were recorded; as many tracks as happen at a time
//     windows, marks         | recorded |      | recorded |                  if recording was paused, or something was marked
//     bytes requested ...    a counter: what the disk was asked for, if that was recorded
//
// Each device but the CPU, and each process of a joined experiment but the first, is a group of
// tracks of its own. Of a device:
//     graph runs             |   run 3            |                          from the call to the results
//     queue                  | op |op  |   |op |                             the device's own times
//     kernels                |k|k||k |k|                                     if they were recorded
//     to it, from it         | transfer |                                    as the host called for them
//     busy                   a counter: percent of the time
//     memory                 a counter: bytes of the buffers that lie there
//
// Slices of a track come in order: a slice begins when or after the one before it on its track
// ended, inside its parent.
#pragma once

#include <stdint.h>

#include "export/export.h"

enum ggs_track_kind {
    GGS_TRACK_TOKENS,
    GGS_TRACK_BACKEND,
    GGS_TRACK_THREAD,
    GGS_TRACK_COUNTER,
    GGS_TRACK_FAULTS,
    GGS_TRACK_KERNELS,
    GGS_TRACK_TRANSFERS,
    GGS_TRACK_WINDOWS
};
enum ggs_slice_kind {
    GGS_SLICE_TOKEN,
    GGS_SLICE_RUN,
    GGS_SLICE_OP,
    GGS_SLICE_WAIT,
    GGS_SLICE_FAULT,
    GGS_SLICE_KERNEL,
    GGS_SLICE_TRANSFER,
    GGS_SLICE_WINDOW,
    GGS_SLICES
};

struct ggs_timeline_track {
    uint64_t            id; // from 1
    enum ggs_track_kind kind;
    char                name[96];
    uint64_t            os_thread; // of a thread's track
    uint64_t            group;     // 0, or the device or process that it belongs to
    const char *        group_name;
    bool                percent; // a counter of percent, not of bytes
    // private to timeline.c
    int64_t key[2];
    int64_t end_ns; // of what was written last
    int64_t token;  // slice that is open, -1 for none
    int64_t token_end_ns;
};

struct ggs_timeline_slice {
    enum ggs_slice_kind kind;
    const char *        name;
    int64_t             begin_ns, end_ns; // end_ns only of ops, waits and faults: others are ended by `end`
    // The arguments of an op (walk->op, accesses) and of a run (walk->run).
    const struct ggs_walk *        walk;
    const struct ggs_access_list * accesses;
    const struct ggs_step *        step;  // of a token's slice, if it has one of its own
    const struct ggs_fault *       fault; // of a fault's slice
    const struct ggs_kernel *      kernel;
    const struct ggs_transfer *    transfer;
};

// The phase of a token's or a run's slice.
static inline uint64_t ggs_slice_phase(const struct ggs_timeline_slice * slice) {
    return slice->step != NULL ? slice->step->phase : slice->walk == NULL ? GGS_PHASE_NONE : slice->walk->run.phase;
}

// `leaf` is a slice with both ends; `begin` and `end` enclose others. All may return a negative
// status.
struct ggs_timeline {
    int (*track)(void * context, const struct ggs_timeline_track * track, struct ggs_error * error);
    int (*begin)(void * context, const struct ggs_timeline_track * track, const struct ggs_timeline_slice * slice,
                 struct ggs_error * error);
    int (*end)(void * context, const struct ggs_timeline_track * track, int64_t ns, struct ggs_error * error);
    int (*leaf)(void * context, const struct ggs_timeline_track * track, const struct ggs_timeline_slice * slice,
                struct ggs_error * error);
    int (*count)(void * context, const struct ggs_timeline_track * track, int64_t ns, uint64_t value,
                 struct ggs_error * error);
    void * context;
};

int ggs_timeline_write(struct ggs_export * export, const struct ggs_timeline * timeline, struct ggs_error * error);
