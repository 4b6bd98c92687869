// Walks a recording op by op in the engine's order: by graph run, then by node.
//
//     struct ggs_walk * walk;
//     ggs_walk_open(&walk, &trace, 0, INT64_MAX, &error);  // token steps first..last
//     while ((more = ggs_walk_run(walk, &error)) > 0)      // walk->run and walk->graph
//         while (ggs_walk_op(walk))                        // walk->op is its next op
//             ggs_walk_accesses(walk, &accesses, &error);  // optional: its bytes
//     ggs_walk_close(walk);
//
// Memory: one graph and the op runs of one graph run. With a trace->filter the walk yields only
// matching ops, but all runs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/access.h"
#include "analyze/walk/op-filter.h"
#include "analyze/walk/trace.h"

// One op: a node computed in a graph run, on one or more threads.
struct ggs_op_seen {
    uint64_t                  node;
    uint64_t                  absorbed;         // nodes fused with it
    uint64_t                  op;               // ggml's number
    const char *              name;             // ggml's name
    const struct ggs_tensor * result;           // of the node
    int                       layer;            // -1: none
    int64_t                   begin_ns, end_ns; // first start to last end
    uint64_t                  wall_ns;          // between the two
    uint64_t                  busy_ns, wait_ns; // summed over threads; wait in and after the op
    uint64_t                  n_op_runs;
    const struct ggs_op_run * op_runs;   // by thread
    bool                      cut;       // some thread's end was not seen
    bool                      unwaited;  // some waits between threads were not seen, for example on a device
    bool                      opaque;    // of a run that is seen as a whole: no times, no op runs
    int64_t                   submit_ns; // on a device: time of its submission by the host; -1 if unknown
    int64_t                   host_ns;   // the host's time for it; -1 if unknown
};

struct ggs_walk {
    struct ggs_trace *       trace;
    struct ggs_run           run;
    const struct ggs_graph * graph; // NULL if the run has no ops
    struct ggs_op_seen       op;
    // Set these after open.
    bool sums_only;    // omits op.op_runs (NULL): three times as fast
    bool with_opaque;  // includes nodes of runs that are seen as a whole
    bool with_submits; // for these, includes times of submission
    // private
    struct ggs_cursor *      runs;
    struct ggs_cursor *      op_runs;
    struct ggs_cursor *      submits; // NULL until a run needs it
    struct ggs_submit        submit;  // the next one
    bool                     submit_there;
    const uint64_t * const * words;   // the current chunk of op runs, by column
    uint64_t                 at, end; // of it: the next row, and the number of rows
    struct ggs_op_run *      rows;    // of the run, by (node, thread)
    uint64_t                 n_rows, capacity, next;
    struct ggs_node_sum *    sums;  // if sums_only: by node
    struct ggs_op_run *      parts; // of a run whose rows are in several chunks
    uint64_t                 parts_capacity;
    uint64_t *               first;  // by node: counting sort
    int *                    layers; // by node
    uint64_t                 first_capacity, layers_capacity, sums_capacity;
    uint64_t                 layers_of; // the graph of `layers`
    struct ggs_access_list   accesses;
    bool                     indexed; // the run's index data is in `accesses`
    bool                     opaque;  // the run is opaque, and its nodes are requested
    struct ggs_sieve *       sieve;   // NULL: every op
    struct verdicts {
        uint8_t * memory; // by node of the graph: cached verdict
        uint64_t  capacity, graph;
    } verdicts;
    int              failed; // reading an op's bytes failed: the next ggs_walk_run reports it
    struct ggs_error failure;
};

// True if the run was computed by a server whose recording is included. Its time and ops are those
// of that run: runs.peer.
static inline bool ggs_run_is_elsewhere(const struct ggs_run * run) {
    return (run->flags & GGS_RUN_OPAQUE) != 0 && run->peer != 0 && run->opaque == 0;
}

// Walks steps first..last (by number, without warm-up); INT64_MIN and INT64_MAX for everything with
// warm-up.
int ggs_walk_open(struct ggs_walk ** walk, struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                  struct ggs_error * error);
// Walks graph runs first..last, by number.
int ggs_walk_open_runs(struct ggs_walk ** walk, struct ggs_trace * trace, uint64_t first_run, uint64_t last_run,
                       struct ggs_error * error);
// Walks graph runs that touch the time from begin_ns to end_ns. Returns 1, or 0 without a walk if
// there are none.
int  ggs_walk_open_window(struct ggs_walk ** walk, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                          struct ggs_error * error);
void ggs_walk_close(struct ggs_walk * walk); // NULL is fine

// Returns 1 with another run, 0 at the end, or a negative status.
int  ggs_walk_run(struct ggs_walk * walk, struct ggs_error * error);
bool ggs_walk_op(struct ggs_walk * walk);

// Returns the bytes that walk->op reads and writes. Valid until the next call.
int ggs_walk_accesses(struct ggs_walk * walk, const struct ggs_access_list ** out, struct ggs_error * error);

// A fused op by node: 0 is the head, which has all of the time; those up to op.absorbed start with
// it and take none, so that times count once. False if the graph has no such node.
bool ggs_walk_part(const struct ggs_walk * walk, uint64_t part, struct ggs_op_seen * out);
// The bytes of that part; their sum is that of the op.
int ggs_walk_part_accesses(struct ggs_walk * walk, uint64_t part, const struct ggs_access_list ** out,
                           struct ggs_error * error);
