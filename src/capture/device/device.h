// Graph runs on a device: which nodes the backend put into its queue, when they ran there, and when
// their results were there.
//
//     device-hooks.c     this folder                              what it learns
//     graph_compute ---> ggs_device_begin .. ggs_device_end       the call that submits: a run under way on this thread
//     ggml_is_empty ---> ggs_device_node                          the node whose commands come next
//                        backend-kind.h: vulkan.c, cuda.c         times of its commands, on the device's clock
//     synchronize   ---> ggs_device_results                       everything submitted before has its results
//     events        ---> ggs_device_event_*                       likewise, what was submitted before the event
//     backend_free  ---> ggs_device_remove_*                      runs without results never get any
//
// A backend submits and returns; its times are known later. So a run is kept here until its results
// are there and its times were read, and is then written to the journal in one record:
// GGS_JOURNAL_DEVICE_RUN.
//
// Which node: in their loop over a graph the backends call ggml_is_empty(node), through the dynamic
// linker, for each node that they do not skip, in order, before they record its commands. A jump
// from node i to j means that i+1 .. j-1 were computed together with i, or are empty. Other places
// of the backend call the function too: only the return address that asked for the graph's first
// node counts, and as long as no command was seen, a call for the first node begins again (CUDA's
// backend first checks whether it can capture the graph, old releases of Vulkan's make a dry pass).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/device/backend-kind.h"
#include "preload/ggml-abi.h"
#include "trace/spool.h"

// A node that the backend's loop came to.
struct ggs_device_op {
    uint32_t node;
    uint32_t queue;
    uint64_t submit;           // ticks: when the loop came to it
    uint64_t begin_ns, end_ns; // on the device, as CLOCK_MONOTONIC; 0 if no commands were timed
    uint64_t first, last;      // the kind's: its first and last stamp
};

// Of a run whose graph is computed piece by piece (capture/values/device-values.h): nodes from `first` on
// are handed to the backend, and it is kept from computing more than the group that begins there.
enum { GGS_DEVICE_PIECE_HEADS = 8 };
struct ggs_device_piece {
    bool     on;
    bool     asked; // by the backend's loop: `next` is known
    uint32_t first, end;
    uint32_t next;                          // the node behind what was computed
    uint32_t heads[GGS_DEVICE_PIECE_HEADS]; // where further groups begin that cannot be told apart from the first
    unsigned n_heads;
};

struct ggs_device_run {
    uint64_t                        run;
    void *                          backend; // the engine's object
    const struct ggs_backend_kind * kind;    // NULL for an unknown device
    void *                          state;   // the kind's; stays with the struct, which is used again for the same kind
    bool                            timed;   // the kind keeps something for the run: read or drop must be called
    struct abi_tensor **            nodes;
    uint32_t                        n_nodes;
    uint32_t                        cursor; // where the next node is looked for
    const void *                    loop;   // return address of the backend's loop, NULL before its first node
    struct ggs_device_op *          ops;
    uint32_t                        n_ops, capacity;
    uint32_t                        commands; // that were seen so far
    bool                            on_cpu;
    struct ggs_device_piece         piece;
    bool                            replayed;       // a captured graph ran: the loop did not
    char                            remote[80];     // kind->remote: the name of its backend and of its buffers; else ""
    bool                            asked;          // kind->remote: something behind it was asked to be read back
    uint64_t                        clock_error_ns; // how far device times may be off
    uint64_t                        begin_ns, results_ns; // CLOCK_MONOTONIC; results_ns 0 while they are not there
    uint64_t                        submitted;            // ticks, 0 while the call is under way
    struct ggs_device_run *         next;                 // oldest first
};

// The run under way on the calling thread, NULL for none; and the same if its nodes are followed.
extern _Thread_local struct ggs_device_run * ggs_device_current;
extern _Thread_local struct ggs_device_run * ggs_device_followed;

// Around the backend's call that submits the graph of the run under way (graph-run.h).
void ggs_device_begin(void * backend, const struct abi_graph * graph);
void ggs_device_end(void);
// The run under way, if any, is the CPU's: its ops are seen by other means.
void ggs_device_cancel(void);

// ggml_is_empty(node) was called from `caller`. False if the backend is to pass the node over.
bool ggs_device_node(const struct abi_tensor * node, const void * caller);

// A decode of a single token begins.
void ggs_device_generating(void);

// Everything submitted to `backend` is done: reads the times and writes the runs to the journal.
void ggs_device_results(void * backend);
// Remote backends only send, so an empty queue says nothing of the server. What is read back does.
// A read from the backend was put into its queue: the next ggs_device_results of it is true of the
// runs before.
void ggs_device_asked(const void * backend);
// Something was read from a buffer: everything submitted before to the server that has it is done.
void ggs_device_answered(void * buffer);
// Events: recorded behind what was submitted to `backend`; waited for by the host; waited for by
// another backend, whose results then are those of what came before the event too.
void ggs_device_event_record(void * event, void * backend);
void ggs_device_event_results(void * event);
void ggs_device_event_wait(void * backend, void * event);

// Around the freeing of a backend, whose address another one may get. Its runs without results are
// taken away before, and written without times afterwards, when the backend is done with them.
struct ggs_device_run * ggs_device_remove_begin(void * backend);
void                    ggs_device_remove_end(struct ggs_device_run * runs);

// True if the results of all runs were seen.
bool ggs_device_is_idle(void);
// The recording is over, and its runs are finished: forgets events.
void ggs_device_reset(void);
// The process ends: writes what was put off, and runs whose results were never waited for, without
// times.
void ggs_device_finish(void);
