// Lanes and levels of detail: what each lane did, in bins of 2^level ns, so that a timeline of
// hours is drawn from a few thousand rows.
//
// The finest level has about 40 op runs per bin on average; each further level is four times as
// wide. A live recording chooses it from the op runs of its first chunk, if it is that long: later
// records must not change what is written. Lanes move forward in time, so one open bin per lane and
// level suffices; a bin that is left is written and added to the one above it.
#pragma once

#include <stdint.h>

#include "trace/seal/runs/devices.h"
#include "trace/writer.h"

enum { GGS_LOD_LEVELS = 8, GGS_LOD_SHIFT = 2 };
enum { GGS_DEVICE_SLOT = 1024 }; // slot of a device's lanes: this plus its number

struct ggs_lod_lane {
    uint64_t       number; // row of the lanes table + 1
    uint64_t       device;
    int64_t        slot;
    uint64_t       thread;
    int64_t        covered_ns;           // its time is accounted for up to here
    struct ggs_lod bins[GGS_LOD_LEVELS]; // begin_ns -1 if none is open
};

// An op that waits for the level to be chosen.
struct ggs_lod_op {
    size_t            lane;
    struct ggs_op_run op;
};

// A bin of the finest level, and its lane.
struct ggs_lod_bin {
    uint64_t       device;
    struct ggs_lod bin;
};

struct ggs_lods {
    struct ggs_writer *        writer;
    const struct ggs_devices * devices;
    unsigned                   level;  // the finest
    unsigned                   levels; // number of levels
    struct ggs_lod_lane *      lanes;
    size_t                     n_lanes, capacity;
    int64_t                    limit_ns; // later times are damage
    uint64_t                   credit;   // bins that may be opened without an op; more are damage
    bool                       open;     // the level is not chosen
    struct ggs_lod_op *        early;    // ops until then
    size_t                     n_early, early_capacity;
    uint64_t                   span_ns; // argument of ggs_lods_init
    bool                       keeps;   // keeps bins that are left, for a live recording
    struct ggs_lod_bin *       left;
    size_t                     n_left, left_capacity;
    bool                       replays; // bins come from ggs_lods_replay
    // Rows of coarser levels wait here, so that a chunk has one level.
    struct ggs_block waiting[GGS_LOD_LEVELS];
};

// For about `op_runs` op runs on `lanes` lanes, the last of them near `span_ns`.
void ggs_lods_init(struct ggs_lods * lods, struct ggs_writer * writer, const struct ggs_devices * devices,
                   uint64_t op_runs, uint64_t span_ns, uint64_t lanes);
void ggs_lods_release(struct ggs_lods * lods);
// Leaves the level open until ggs_lods_choose, which uses the op runs so far, or the end, which
// uses the arguments of ggs_lods_init.
void ggs_lods_leave_open(struct ggs_lods * lods);
void ggs_lods_choose(struct ggs_lods * lods);
// Adds a bin of the finest level from a part.
void ggs_lods_replay(struct ggs_lods * lods, const struct ggs_lod_bin * bin);
// Restores the state of a lane: the bin that was open (begin_ns -1 for none).
void ggs_lods_resume(struct ggs_lods * lods, uint64_t device, int64_t slot, uint64_t thread, int64_t covered_ns,
                     const struct ggs_lod * bin);
// Returns the lane, which is made and written if it is new. It lives until the next call. NULL when
// out of memory.
struct ggs_lod_lane * ggs_lods_lane(struct ggs_lods * lods, const struct ggs_device * device, int64_t slot,
                                    uint64_t thread);
void                  ggs_lods_add(struct ggs_lods * lods, struct ggs_lod_lane * lane, const struct ggs_op_run * op);
void                  ggs_lods_finish(struct ggs_lods * lods);
