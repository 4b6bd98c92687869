// A recording as tracks with slices, for the formats of timeline viewers.
//
//     tokens, context 0      | token 0                  | token 1 |   one track per context
//     CPU                    |   graph run 1            |   run 2 |   one per backend and concurrent run
//     CPU thread 0           | token 0                  | token 1 |   one per thread:
//                            |   graph run 1            |  run 2  |   token > graph run > op, wait
//                            |   op |op  |wait|op |     |  op |op |
//     buffer bytes           a counter
//     bytes read from disk   a counter: as ops address them
//     page faults 0          | minor fault |   | major fault |        if recorded; one per concurrent fault
//     windows, marks         | recorded |      | recorded |           if recording was paused or marked
//     bytes requested ...    a counter: block requests, if recorded
//
// Each device except the CPU, and each process of a joined experiment except the first, is a group
// of tracks. A device has:
//     graph runs             |   run 3            |                   from the call to the results
//     queue                  | op |op  |   |op |                      the device's own times
//     kernels                |k|k||k |k|                              if recorded
//     to it, from it         | transfer |                             at the host's calls
//     busy                   a counter: percent of the time
//     memory                 a counter: bytes of the buffers on the device
//
// Slices of a track are in order: a slice begins at or after the end of the previous one, inside
// its parent.
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

struct ggs_track {
    uint64_t            id; // from 1
    enum ggs_track_kind kind;
    char                name[96];
    uint64_t            os_thread; // of a thread's track
    uint64_t            group;     // 0, or the device or process of the track
    const char *        group_name;
    bool                percent; // a counter in percent, not bytes
    // private to timeline.c
    int64_t key[2];
    int64_t end_ns; // of the slice written last
    int64_t token;  // the open slice, -1 for none
    int64_t token_end_ns;
};

struct ggs_track_slice {
    enum ggs_slice_kind kind;
    const char *        name;
    int64_t             begin_ns, end_ns; // end_ns only for ops, waits and faults: `end` ends others
    // Arguments of an op (walk->op, accesses) and of a run (walk->run).
    const struct ggs_walk *        walk;
    const struct ggs_access_list * accesses;
    const struct ggs_step *        step;  // of a token's slice
    const struct ggs_fault *       fault; // of a fault's slice
    const struct ggs_kernel *      kernel;
    const struct ggs_transfer *    transfer;
};

// Phase of a token's or run's slice.
static inline uint64_t ggs_slice_phase(const struct ggs_track_slice * slice) {
    return slice->step != NULL ? slice->step->phase : slice->walk == NULL ? GGS_PHASE_NONE : slice->walk->run.phase;
}

// `leaf` writes a slice with both ends; `begin` and `end` enclose others. All may return a negative
// status.
struct ggs_tracks {
    int (*track)(void * context, const struct ggs_track * track, struct ggs_error * error);
    int (*begin)(void * context, const struct ggs_track * track, const struct ggs_track_slice * slice,
                 struct ggs_error * error);
    int (*end)(void * context, const struct ggs_track * track, int64_t ns, struct ggs_error * error);
    int (*leaf)(void * context, const struct ggs_track * track, const struct ggs_track_slice * slice,
                struct ggs_error * error);
    int (*count)(void * context, const struct ggs_track * track, int64_t ns, uint64_t value, struct ggs_error * error);
    void * context;
};

int ggs_tracks_write(struct ggs_export * export, const struct ggs_tracks * timeline, struct ggs_error * error);
