// Graph runs on a device: which nodes the backend put into its queue, when they ran, and when their
// results arrived.
//
//     device-hooks.c     this folder                          what it shows
//     graph_compute ---> ggs_device_begin, ggs_device_end     this thread's run is submitted
//     ggml_is_empty ---> ggs_device_node                      the node whose commands come next
//                        backend-kind.h: vulkan.c, cuda.c     device times of its commands
//     synchronize   ---> ggs_device_results                   all earlier submissions have results
//     events        ---> ggs_device_event_*                   so have those before the event
//     backend_free  ---> ggs_device_remove_*                  pending runs never get results
//
// A backend submits and returns; times are known later. So a run is kept here until its results
// have arrived and its times are read, and is written to the journal in one record:
// GGS_JOURNAL_DEVICE_RUN.
//
// The node: in their loop over a graph the backends call ggml_is_empty(node), through the dynamic
// linker, for each node that they do not skip, in order, before they record its commands. A jump
// from node i to j means that i+1 .. j-1 were computed together with i, or are empty. Other code of
// the backend calls the function too, so only the return address of the call for the graph's first
// node counts. Until a command is recorded, a call for the first node starts over (CUDA's backend
// first checks whether it can capture the graph, old releases of Vulkan's make a dry pass).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/device/backend-kind.h"
#include "preload/ggml-abi.h"
#include "trace/spool.h"

// A node that the backend's loop has reached.
struct ggs_device_op {
    uint32_t node;
    uint32_t queue;
    uint64_t submit;           // ticks: when the loop reached it
    uint64_t begin_ns, end_ns; // on the device, as CLOCK_MONOTONIC; 0 if no commands were timed
    uint64_t first, last;      // the kind's: its first and last stamp
};

// For a run whose graph is computed piece by piece (capture/values/device-values.h): the backend
// gets nodes from `first` on and is kept from computing more than the group that begins there.
enum { GGS_DEVICE_PIECE_HEADS = 8 };
struct ggs_device_piece {
    bool     on;
    bool     asked; // the backend's loop has set `next`
    uint32_t first, end;
    uint32_t next;                          // the node after the computed ones
    uint32_t heads[GGS_DEVICE_PIECE_HEADS]; // further groups, computed with the first
    unsigned n_heads;
};

struct ggs_device_run {
    uint64_t                        run;
    void *                          backend; // the engine's object
    const struct ggs_backend_kind * kind;    // NULL for an unknown device
    void *                          state;   // the kind's; kept when the struct is reused
    bool                            timed;   // the run has state: read or drop must follow
    struct abi_tensor **            nodes;
    uint32_t                        n_nodes;
    uint32_t                        cursor; // where the search of the next node begins
    const void *                    loop;   // return address of the backend's loop, or NULL
    struct ggs_device_op *          ops;
    uint32_t                        n_ops, capacity;
    uint32_t                        commands; // so far
    bool                            on_cpu;
    struct ggs_device_piece         piece;
    bool                            replayed;             // a captured graph ran: the loop did not
    char                            remote[80];           // if remote: name of its backend; else ""
    bool                            asked;                // if remote: a later read is queued
    uint64_t                        clock_error_ns;       // bound of the error of device times
    uint64_t                        begin_ns, results_ns; // CLOCK_MONOTONIC; results_ns 0 if none
    uint64_t                        submitted;            // ticks, 0 during the call
    struct ggs_device_run *         next;                 // oldest first
};

// The calling thread's run, or NULL; and the same if its nodes are followed.
extern _Thread_local struct ggs_device_run * ggs_device_current;
extern _Thread_local struct ggs_device_run * ggs_device_followed;

// Surround the backend's call that submits the graph of this thread's run (graph-run.h).
void ggs_device_begin(void * backend, const struct abi_graph * graph);
void ggs_device_end(void);
// Declares this thread's run, if any, to be the CPU's, whose ops other hooks record.
void ggs_device_cancel(void);

// For a call of ggml_is_empty(node) from `caller`. Returns false if the backend must skip the node.
bool ggs_device_node(const struct abi_tensor * node, const void * caller);

// Begins a decode of a single token.
void ggs_device_generating(void);

// Everything submitted to `backend` is done: reads the times and writes the runs to the journal.
void ggs_device_results(void * backend);
// Remote backends only send, so an empty queue proves nothing; data read back does. For a read that
// was put into the queue: the next ggs_device_results completes the runs before it.
void ggs_device_asked(const void * backend);
// For data read from a buffer: everything submitted earlier to its server is done.
void ggs_device_answered(void * buffer);
// Events: recorded after what was submitted to `backend`; awaited by the host; awaited by another
// backend, whose results imply those before the event.
void ggs_device_event_record(void * event, void * backend);
void ggs_device_event_results(void * event);
void ggs_device_event_wait(void * backend, void * event);

// Surround the freeing of a backend, whose address another one may get. Its runs without results
// are removed before, and written without times after, when the backend no longer uses them.
struct ggs_device_run * ggs_device_remove_begin(void * backend);
void                    ggs_device_remove_end(struct ggs_device_run * runs);

// True if all runs have their results.
bool ggs_device_is_idle(void);
// Forgets events after a recording, when all runs have ended.
void ggs_device_reset(void);
// For the end of the process: writes postponed runs, and runs without results, without times.
void ggs_device_finish(void);
