// Graph runs. The engine's graph functions call each other; the outermost call on a thread is the
// run.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/graphs.h"
#include "preload/ggml-abi.h"
#include "trace/spool.h"

// What the calling thread is doing.
struct ggs_nesting {
    unsigned                          depth; // of graph functions
    uint64_t                          run;   // graph run, 0: not recorded
    const struct ggs_captured_graph * graph;
    bool                              guessed; // the graph is a guess until the run's end
    uint32_t                          flags;   // enum ggs_run_flags, written at its end
    uint64_t                          schedule, decode;
    unsigned                          transfer_depth;
    unsigned                          alloc_depth;
    unsigned                          outer;         // of decodes, scheduler calls and graph runs (window.h)
    bool                              skipped;       // these are not recorded
    unsigned                          memory_depth;  // in functions that change sequences
    const void *                      embeddings_of; // the context whose embeddings have been recorded as read
    bool                              unrecorded;    // its newest decode
};
extern _Thread_local struct ggs_nesting ggs_in;

// Around every graph function; only the outermost pair counts. `backend` is NULL for the CPU's own
// function, `caller` the hook's return address.
void ggs_graph_run_enter(const struct abi_graph * graph, void * backend, const void * caller);
void ggs_graph_run_leave(const struct abi_graph * graph, int64_t status);
// Around a call that schedules a graph over backends. `outermost`: none was under way on this
// thread. (graph-hooks.c)
void ggs_schedule_enter(const void * scheduler, const struct abi_graph * graph, const void * caller);
void ggs_schedule_leave(bool outermost, int status);
// Called by the stream library: what it did for the run under way on this thread.
void ggscope_note_streamed(const struct ggs_journal_streamed_use * uses, uint64_t count);
// The recording is over: forgets which graphs were run.
void ggs_graph_run_reset(void);
// Counts op runs of the run under way that were lost since `begin` (ticks). They belong to no run
// if recording has ended before it.
void ggs_graph_run_lost(unsigned reason, uint64_t count, uint64_t begin);
