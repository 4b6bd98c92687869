// Decides how much memory weights may use, and when to decide again.
//
// All functions except ggs_budget_is_time need the stream's lock and run in the thread that runs
// the graph.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_stream;

struct ggs_budget {
    uint64_t next_check; // time to check whether a fitting model still fits; read without the lock
    double   given_up;   // share of the memory for weights that was given up because all processes waited for memory
    uint64_t divided, most_divided; // memory for weights, current and maximum
    uint64_t seen;                  // bytes of weights, in the last run
    bool     more_come;             // that run had new weights and was a small part of the model
    uint64_t checked, stalled_checked, settled_checked, unused_checked;
    bool     disk_checked;
    bool     fits_reported, too_little_reported, unused_reported; // once each
    bool     unreported; // the start of streaming is reported when all weights are known
    bool     pieces;     // a device computes other parts of the model
};

// True if the open model files fit, with `more` 64ths added per byte. For use before the engine's
// buffers are known. Callable from any thread.
bool ggs_budget_fits_early(struct ggs_stream * stream, uint32_t more);

// For a graph that reads no weight that could be streamed: it is a part without weights, the engine
// has copied all that it uses, or the file cannot be read directly. Leaves models alone that fit,
// were copied or cannot be read.
void ggs_budget_unused(struct ggs_stream * stream);

// True if a decision is due: there are new weights, or memory is short. `piece`: the graph is a
// small part of a larger one, which shows its weights one by one; the decision then waits until no
// more come.
bool ggs_budget_due(struct ggs_stream * stream, bool piece);

// Decides. False if nothing is to be streamed, which it reports. No op may run; waits for reads.
bool ggs_budget_decide(struct ggs_stream * stream);

// For a model that fits: true if it is time to check again. Once a second; cheap, from any thread.
bool ggs_budget_is_time(struct ggs_stream * stream);

// True if others have taken so much memory that it does not fit.
bool ggs_budget_outgrown(struct ggs_stream * stream);
