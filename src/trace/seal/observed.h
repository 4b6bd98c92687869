// Page faults, context switches and block requests: relates kernel events to what the engine's
// threads were doing. Part of sealing.
//
// Both sides are in time order: the machine's records, and the units of each lane. So each lane is
// read once, up to the last op that began before a record. A run's step is known only once the run
// is written, in the order of runs; records wait in the spool until all runs that began before them
// are written.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/part.h"
#include "trace/seal/places.h"
#include "trace/seal/tick-clock.h"
#include "trace/spool-reader.h"
#include "trace/writer.h"

// A reader of a lane beside that of the runs, and its current op.
struct ggs_observed_lane {
    struct ggs_spool_stream stream;
    struct ggs_part_op      op;
};

// A written run that later records may still belong to.
struct ggs_observed_run {
    uint64_t run;
    int64_t  step, begin_ns, end_ns;
    bool     bounded; // the ends of its ops are bounds
};

struct ggs_observed {
    struct ggs_writer *             writer;
    struct ggs_places *             places;
    const struct ggs_seal_options * options;
    struct ggs_spool *              spool;
    struct ggs_clock                clock; // a copy: conversions cache a piece
    uint64_t                        pid;   // of the recorded process
    struct ggs_observed_lane *      lanes;
    size_t                          n_lanes;
    struct ggs_observed_run *       runs; // by number
    size_t                          n_runs, capacity;
    struct ggs_part *               part;           // sealed places of records, or NULL
    struct ggs_part_keep *          keep;           // of an incremental seal; or NULL
    struct ggs_record               ahead;          // the next record
    uint32_t                        ahead_sequence; // its position in the stream
    uint64_t                        ahead_position;
    bool                            more;   // `ahead` is valid
    bool                            active; // there is a machine stream
    uint64_t                        damaged;
};

// After pass 1, with `writer`, `places`, `options` and `spool` set.
int  ggs_observed_init(struct ggs_observed * observed, const struct ggs_clock * clock, struct ggs_error * error);
void ggs_observed_release(struct ggs_observed * observed);

// Opens readers of the spool's current lanes, all at the beginning. False when out of memory.
bool ggs_observed_lanes(struct ggs_observed * observed);
// Save and restore the position of a lane's reader, by its index in the spool.
void ggs_observed_save(const struct ggs_observed * observed, size_t lane, struct ggs_part_lane * out);
void ggs_observed_load(struct ggs_observed * observed, size_t lane, const struct ggs_part_lane * saved);

// For streams that were opened again, and may have more.
void ggs_observed_reopen(struct ggs_observed * observed);

// Adds a written run.
void ggs_observed_run(struct ggs_observed * observed, const struct ggs_run * run);
// All runs that began before `ns` are written: writes the records up to then.
void ggs_observed_emit(struct ggs_observed * observed, int64_t ns);
