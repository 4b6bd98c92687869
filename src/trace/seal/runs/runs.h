// Graph runs: joins a run's journal records with the units in the lanes of its slot, writes op runs
// and index data, and counts the fate of every node.
//
// Runs are written in the order of their numbers. A run that has ended waits for earlier ones; its
// units stay in the spool, because no two runs share a slot at the same time. A run whose slot or
// thread begins another one before its end will never end: it is interrupted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/observed.h"
#include "trace/seal/part.h"
#include "trace/seal/runs/devices.h"
#include "trace/seal/runs/graphs.h"
#include "trace/seal/runs/lods.h"
#include "trace/seal/runs/steps.h"
#include "trace/spool-reader.h"

struct ggs_device_ops;

struct ggs_open_run {
    struct ggs_run          row;
    bool                    done;      // it has ended, or never will
    bool                    submitted; // on a device: submitted, results are missing
    bool                    placed;    // step and phase are known
    int64_t                 values;    // slot with the values of a device's ops, -1 for none
    uint64_t                scheduler;
    struct ggs_device_ops * device; // NULL on the CPU
    struct ggs_work *       work;   // its kernels
    size_t                  n_work, work_capacity;
};

// A kernel's time for a node.
struct ggs_work {
    uint32_t node;
    int64_t  begin_ns, end_ns;
};

struct ggs_device_queue {
    uint64_t device;
    uint32_t queue; // as the engine numbers it
};

enum ggs_seen_node { // fate of a node in a run
    GGS_NODE_WAS_EXECUTED = 1,
    GGS_NODE_WAS_ABSORBED = 2,
    GGS_NODE_WAS_SKIPPED  = 4, // the engine reached it and had nothing to do
};

// What the threads read so far say about a node: when the last of them ended it, and when the first
// of them began the next op.
struct ggs_node_edges {
    int64_t ended_ns, next_ns;
};

struct ggs_node_begin {
    uint64_t node;
    int64_t  begin_ns;
};

// Source and destination of op runs.
enum ggs_runs_mode {
    GGS_RUNS_FROM_LANES, // from the spool's lanes into the trace
    GGS_RUNS_INTO_PART,  // from lanes into a part, while the program runs (incremental.h)
    GGS_RUNS_FROM_PART,  // from a part into the trace; from lanes after its last block
};

struct ggs_run_range {
    uint64_t first, last;
};

struct ggs_runs {
    struct ggs_writer *       writer;
    struct ggs_clock *        clock;
    struct ggs_spool *        spool;
    struct ggs_graphs *       graphs;
    struct ggs_steps *        steps;
    struct ggs_lods *         lods;
    struct ggs_devices *      devices;
    struct ggs_observed *     observed;
    struct ggs_open_run *     open; // by number
    size_t                    n_open, capacity;
    uint64_t                  last;     // number of the newest run
    struct ggs_run_range *    left_out; // excluded runs: their units belong to no run
    size_t                    n_left_out, left_out_capacity;
    int64_t                   newest_step; // of the last written run
    uint64_t *                os_threads;  // of the lanes, by index in the spool
    uint64_t *                unmatched;   // units per lane that belong to no run
    uint8_t *                 nodes;       // scratch: fate of each node
    struct ggs_node_edges *   edges;       // scratch
    size_t                    nodes_capacity, edges_capacity;
    int64_t *                 positions; // of the newest scheduler call's tokens
    size_t                    n_positions, positions_capacity;
    uint64_t                  positions_of; // that scheduler call
    struct ggs_device_queue * queues;
    size_t                    n_queues, queues_capacity;
    struct ggs_op_run *       held; // of a run without barriers, until all begins are known
    struct ggs_node_begin *   begins;
    size_t                    n_held, held_capacity, begins_capacity;
    enum ggs_runs_mode        mode;
    struct ggs_part *         part; // GGS_RUNS_FROM_PART: sealed runs
    struct ggs_part_keep *    keep; // GGS_RUNS_INTO_PART: data beside op runs
    void (*whole)(void * context);  // GGS_RUNS_INTO_PART: a chunk was closed between runs
    void *   whole_context;
    bool     lossy; // op runs of unknown runs were lost
    uint64_t count, interrupted, unseen, damaged, lost;
    uint64_t lost_weights; // their files are gone or were changed
};

int  ggs_runs_init(struct ggs_runs * runs, struct ggs_error * error); // after `spool` was set
void ggs_runs_release(struct ggs_runs * runs);

// ---- runs-part.c ----

// Opens the first block of a part, if there is one, after `observed` was set up.
void ggs_runs_begin_part(struct ggs_runs * runs);
// After the last run of the open block: copies its chunks and bins, and opens the next block.
void ggs_runs_end_block(struct ggs_runs * runs);
// Save and restore the state of every lane for a block of a part (part.h): an array of
// spool->n_lanes that the caller frees, NULL when out of memory. The spool may have other lanes
// when it is restored.
struct ggs_part_lane * ggs_runs_save(const struct ggs_runs * runs);
int                    ggs_runs_load(struct ggs_runs * runs, const struct ggs_part_lane * lanes, size_t n);

// ---- runs.c ----

void ggs_runs_begin(struct ggs_runs * runs, const struct ggs_journal_run * run, const char * backend, size_t length,
                    uint64_t scheduler);
// Excludes a run from the recording.
void ggs_runs_leave_out(struct ggs_runs * runs, uint64_t run);
void ggs_runs_threads(struct ggs_runs * runs, uint64_t run, uint64_t threads, uint64_t slot, uint64_t flags);
void ggs_runs_lost(struct ggs_runs * runs, uint64_t run, uint64_t count);
void ggs_runs_end(struct ggs_runs * runs, const struct ggs_journal_run_end * end);
// For device-runs.c: finds an open run by its number, NULL for none; and ends a run.
struct ggs_open_run * ggs_runs_find(struct ggs_runs * runs, uint64_t run);
void                  ggs_runs_done(struct ggs_runs * runs, struct ggs_open_run * open);
// For the end of the journal: open runs were interrupted, and units left in lanes belong to no run.
// Writes losses. `ended`: the program ended by itself.
void ggs_runs_finish(struct ggs_runs * runs, int64_t ns, bool ended);
