// Graph runs on a device: which nodes the backend put into its queue, when they ran there, and when their results were there.
//
//     hooks.c            this folder                                 what it learns
//     graph_compute ---> ggs_device_begin .. ggs_device_end          the call that submits: a run under way on this thread
//     ggml_is_empty ---> ggs_device_node                             the node whose commands come next
//                        vulkan.c, cuda.c -> ggs_device_op_*         time stamps around them, on the device's clock
//     synchronize   ---> ggs_device_results                          everything submitted before has its results
//     events        ---> ggs_device_event_*                          likewise, what was submitted before the event
//
// A backend submits and returns; its times are known later. So a run is kept here until its results are there and its times
// were read, and is then written to the journal in one record: GGS_JOURNAL_DEVICE_RUN.
//
// Which node: in their loop over a graph the backends call ggml_is_empty(node), through the dynamic linker, for each node that they do
// not skip, in order, before they record its commands. A jump from node i to j means that i+1 .. j-1 were computed together with i,
// or are empty. Other places of the backend call the function too: only the return address that asked for the graph's first node
// counts, and as long as no command was seen, a call for the first node begins anew (CUDA's backend first looks whether it can
// capture the graph, old releases of Vulkan's make a dry pass).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/ggml-abi.h"
#include "trace/spool.h"

struct ggs_device_run;

// What stamps times, one per kind of device (vulkan.c, cuda.c).
struct ggs_device_clock {
    const char * name;
    void (*node)(struct ggs_device_run * run);      // the next node begins: the commands of the one before are complete
    void (*submitted)(struct ggs_device_run * run); // the submitting call returns: no more commands for this run
    // Results are there: fills the times of its ops, then as drop. May say false and be asked again with the next results; `waiting`
    // runs have been put off, this one included. UINT_MAX: it is now or never.
    bool (*read)(struct ggs_device_run * run, unsigned waiting);
    void (*drop)(struct ggs_device_run * run); // forgets what it keeps for the run
};

// A node that the backend's loop came to.
struct ggs_device_op {
    uint32_t node;
    uint32_t queue;
    uint64_t submit;           // ticks: when the loop came to it
    uint64_t begin_ns, end_ns; // on the device, as CLOCK_MONOTONIC; 0 if no commands were stamped
    uint64_t first, last;      // the clock's
};

struct ggs_device_run {
    uint64_t                        run;
    void *                          backend;
    struct abi_tensor **            nodes;
    uint32_t                        n_nodes;
    uint32_t                        cursor;      // where the next node is looked for
    const void *                    loop;        // return address of the backend's loop, NULL before its first node
    const struct ggs_device_clock * clock;       // NULL until the first command is seen
    void *                          clock_state; // stays with the struct, which is used again
    struct ggs_device_op *          ops;
    uint32_t                        n_ops, capacity;
    uint32_t                        commands; // that were seen so far
    bool                            replayed; // a captured graph ran: the loop did not
    char                    remote[80];       // on another machine: the name of its backend and of its buffers; else ""
    bool                    asked;            // remote: something behind it was asked to be read back
    uint64_t                clock_error_ns;   // how far device times may be off
    uint64_t                begin_ns, results_ns; // CLOCK_MONOTONIC; results_ns 0 while they are not there
    uint64_t                submitted;            // ticks, 0 while the call is under way
    struct ggs_device_run * next;                 // oldest first
};

// Work that a device did for a node: a kernel, a copy or a set.
struct ggs_device_kernel {
    uint32_t     node; // GGS_DEVICE_NO_NODE if it is not known
    uint32_t     stream;
    uint64_t     begin_ns, end_ns;
    uint64_t     bytes;
    const char * name; // lives as long as the library that told it
    uint32_t     grid[3], block[3];
};

// Writes them to the journal; before the run itself.
void ggs_device_write_kernels(const struct ggs_device_run * run, const struct ggs_device_kernel * kernels, uint32_t n);

// The run under way on the calling thread, NULL for none; and the same if its nodes are to be noted.
extern _Thread_local struct ggs_device_run * ggs_device_current;
extern _Thread_local struct ggs_device_run * ggs_device_followed;

// Does the backend compute on a GPU? False until its first run was seen.
bool ggs_device_is_gpu(const void * backend);

// Around the backend's call that submits the graph of the run under way (graph-run.h).
void ggs_device_begin(void * backend, const struct abi_graph * graph);
void ggs_device_end(void);
// The run under way, if any, is the CPU's: its ops are seen by other means.
void ggs_device_cancel(void);

// ggml_is_empty(node) was called from `caller`.
void ggs_device_node(const struct abi_tensor * node, const void * caller);

// A decode of a single token begins: the first one ends the prompt, from where clocks that trace a window count.
void ggs_device_generates(void);

// Everything submitted to `backend` is done: reads the times and writes the runs to the journal.
void ggs_device_results(void * backend);
// RPC's backend only sends, so an empty queue says nothing of the server. What is read back does, since the server answers in order.
// A read from the backend was put into its queue: the next ggs_device_results of it is true of the runs before.
void ggs_device_asked(const void * backend);
// Something was read from a buffer: everything submitted before to the server that has it is done.
void ggs_device_answered(void * buffer);
// Events: recorded behind what was submitted to `backend`; waited for by the host; waited for by another backend, whose results then
// are those of what came before the event too.
void ggs_device_event_record(void * event, void * backend);
void ggs_device_event_results(void * event);
void ggs_device_event_wait(void * backend, void * event);
// The process ends: writes what was put off, and runs whose results were never waited for, without times.
void ggs_device_finish(void);
