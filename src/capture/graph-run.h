// Graph runs. The engine's graph functions call each other; the outermost call on a thread is the
// run.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/graphs.h"
#include "preload/ggml-abi.h"
#include "trace/spool.h"

// State of the calling thread.
struct ggs_nesting {
    unsigned                          depth; // of graph functions
    uint64_t                          run;   // graph run, 0 if not recorded
    const struct ggs_captured_graph * graph;
    bool                              guessed; // the graph is a guess until the run ends
    uint32_t                          flags;   // enum ggs_run_flags, written at the run's end
    uint64_t                          schedule, decode;
    uint64_t                          ran; // the newest decode with a graph run
    unsigned                          transfer_depth;
    unsigned                          alloc_depth;
    unsigned                          outer;         // calls that windows decide about (window.h)
    bool                              skipped;       // these are not recorded
    unsigned                          memory_depth;  // in functions that change sequences
    const void *                      embeddings_of; // context whose embeddings were read
    bool                              unrecorded;    // the newest decode is not recorded
};
extern _Thread_local struct ggs_nesting ggs_in;

// Surround every graph function; only the outermost pair counts. `backend` is NULL for the CPU's
// own function, `caller` is the hook's return address.
void ggs_graph_run_enter(const struct abi_graph * graph, void * backend, const void * caller);
void ggs_graph_run_leave(const struct abi_graph * graph, int64_t status);
// Surround a call that schedules a graph over backends. `outermost`: no other one is in progress on
// this thread (graph-hooks.c).
void ggs_schedule_enter(const void * scheduler, const struct abi_graph * graph, const void * caller);
void ggs_schedule_leave(bool outermost, int status);
// Called by the stream library with what it did for this thread's run.
void ggscope_note_streamed(const struct ggs_journal_streamed_use * uses, uint64_t count);
// Forgets which graphs have run, for another recording.
void ggs_graph_run_reset(void);
// Counts op runs of this thread's run that were lost since `begin` (ticks). They belong to no run
// if recording ended before it.
void ggs_graph_run_lost(unsigned reason, uint64_t count, uint64_t begin);
