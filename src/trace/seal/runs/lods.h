// Lanes, and levels of detail: what each lane did, in bins of 2^level ns, so that a timeline of
// hours draws from a few thousand rows.
//
// The finest level is chosen so that a bin holds some 40 op runs on average; each further level is
// four times as wide. A recording that is being sealed has it from the op runs of its first chunk,
// if it is that long: what comes later must not change what is written. Lanes move forward in time,
// so one open bin per lane and level suffices; a bin that is left is written and added to the one
// above it.
#pragma once

#include <stdint.h>

#include "trace/seal/runs/devices.h"
#include "trace/writer.h"

enum { GGS_LOD_LEVELS = 8, GGS_LOD_SHIFT = 2 };
enum { GGS_DEVICE_SLOT = 1024 }; // slot of a device's lanes: this plus its number; the CPU's slots are below

struct ggs_lod_lane {
    uint64_t       number; // row of the lanes table + 1
    uint64_t       device;
    int64_t        slot;
    uint64_t       thread;
    int64_t        covered_ns;           // up to here its time is accounted for
    struct ggs_lod bins[GGS_LOD_LEVELS]; // begin_ns -1: none is open
};

// What waits for the level to be chosen.
struct ggs_lod_op {
    size_t            lane;
    struct ggs_op_run op;
};

// A bin of the finest level, and whose it is.
struct ggs_lod_bin {
    uint64_t       device;
    struct ggs_lod bin;
};

struct ggs_lods {
    struct ggs_writer *        writer;
    const struct ggs_devices * devices;
    unsigned                   level;  // the finest
    unsigned                   levels; // how many there are
    struct ggs_lod_lane *      lanes;
    size_t                     n_lanes, capacity;
    int64_t                    limit_ns; // times beyond it are damage
    uint64_t             credit; // so many bins may still be opened without an op that begins there: more are damage
    bool                 open;   // the level is not chosen yet
    struct ggs_lod_op *  early;  // until then
    size_t               n_early, early_capacity;
    uint64_t             span_ns; // as told to ggs_lods_init
    bool                 keeps;   // bins that are left, for a recording that goes on
    struct ggs_lod_bin * left;
    size_t               n_left, left_capacity;
    bool                 replays; // bins come from ggs_lods_replay
    // rows of the coarser levels wait here, so that a chunk holds one level
    struct ggs_block waiting[GGS_LOD_LEVELS];
};

// About `op_runs` op runs on `lanes` lanes, the last of them near `span_ns`.
void ggs_lods_init(struct ggs_lods * lods, struct ggs_writer * writer, const struct ggs_devices * devices,
                   uint64_t op_runs, uint64_t span_ns, uint64_t lanes);
void ggs_lods_release(struct ggs_lods * lods);
// Leaves the level open until ggs_lods_choose, which takes it from the op runs so far, or the end,
// which takes what ggs_lods_init was told.
void ggs_lods_leave_open(struct ggs_lods * lods);
void ggs_lods_choose(struct ggs_lods * lods);
// A bin of the finest level that was left when a part was written.
void ggs_lods_replay(struct ggs_lods * lods, const struct ggs_lod_bin * bin);
// And where a lane was then: the bin that was open (begin_ns -1: none).
void ggs_lods_resume(struct ggs_lods * lods, uint64_t device, int64_t slot, uint64_t thread, int64_t covered_ns,
                     const struct ggs_lod * bin);
// The lane, which is made and written if it is new. Lives until the next call. NULL when out of
// memory.
struct ggs_lod_lane * ggs_lods_lane(struct ggs_lods * lods, const struct ggs_device * device, int64_t slot,
                                    uint64_t thread);
void                  ggs_lods_add(struct ggs_lods * lods, struct ggs_lod_lane * lane, const struct ggs_op_run * op);
void                  ggs_lods_finish(struct ggs_lods * lods);
