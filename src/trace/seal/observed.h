// Page faults, context switches and block requests: joins what the kernel said with what the
// engine's threads were doing. Part of sealing.
//
// Both sides come in order of time: the machine's records by their times, the units of each lane
// by theirs. So one look at each lane suffices, at the last op that began by then. A run's step is
// known only once the run is written, which happens in the order of runs; records wait in the spool
// until all runs that had begun before them are.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/clock.h"
#include "trace/seal/part.h"
#include "trace/seal/places.h"
#include "trace/spool-reader.h"
#include "trace/writer.h"

// A reader of a lane beside that of the runs, and the op that it is at.
struct ggs_observed_lane {
    struct ggs_spool_stream stream;
    struct ggs_part_op      op;
};

// A written run that later records may still belong to.
struct ggs_observed_run {
    uint64_t run;
    int64_t  step, begin_ns, end_ns;
    bool     bounded; // the ends of its ops were not seen
};

struct ggs_observed {
    struct ggs_writer *             writer;
    struct ggs_places *             places;
    const struct ggs_seal_options * options;
    struct ggs_spool *              spool;
    struct ggs_clock                clock; // a copy: conversions remember where they were
    uint64_t                        pid;   // of the process that is recorded
    struct ggs_observed_lane *      lanes;
    size_t                          n_lanes;
    struct ggs_observed_run *       runs; // by number
    size_t                          n_runs, capacity;
    struct ggs_part *      part;  // where the places of records are sealed already, while there are any; or NULL
    struct ggs_part_keep * keep;  // of an incremental seal; or NULL
    struct ggs_record      ahead; // the next record
    uint32_t               ahead_sequence; // and where it is in the stream
    uint64_t               ahead_position;
    bool                   more;   // there is one
    bool                   active; // there is a stream for them
    uint64_t               damaged;
};

// After pass 1, with `writer`, `places`, `options` and `spool` set.
int  ggs_observed_init(struct ggs_observed * observed, const struct ggs_clock * clock, struct ggs_error * error);
void ggs_observed_release(struct ggs_observed * observed);

// Readers for the spool's lanes as they are now, all at the beginning. False when out of memory.
bool ggs_observed_lanes(struct ggs_observed * observed);
// Where the reader of a lane is, by its index in the spool; and back.
void ggs_observed_save(const struct ggs_observed * observed, size_t lane, struct ggs_part_lane * out);
void ggs_observed_load(struct ggs_observed * observed, size_t lane, const struct ggs_part_lane * saved);

// The spool's streams were opened again, and may have more.
void ggs_observed_reopen(struct ggs_observed * observed);

// A run was written.
void ggs_observed_run(struct ggs_observed * observed, const struct ggs_run * run);
// No run that is not written yet began before `ns`: tells what happened until then.
void ggs_observed_emit(struct ggs_observed * observed, int64_t ns);
