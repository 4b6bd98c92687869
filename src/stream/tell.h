// What the user is told: one line when streaming begins, one every 10 s if asked for, one at the
// end.
//
// All functions: with the stream's lock held, by the thread that runs the graph.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/stream.h"

// A pass is one evaluation of the model: one graph run, or several where a device computes parts of
// it.
struct ggs_tell {
    bool                     begun;                // the first line was said
    uint64_t                 began, ended, tokens; // of the newest pass
    uint32_t                 last;                 // number of the weight that its newest run began with
    uint64_t                 said_at;              // when the last line of --verbose was
    struct ggs_stream_counts said;                 // and what had been counted by then
};

// What a token reads, and how much of it is in memory, as memory is divided.
struct ggs_expectation {
    double bytes, resident; // of a token
    double seconds;         // that the disk needs for the rest; 0: its speed is not known
};

struct ggs_expectation ggs_tell_expect(const struct ggs_stream * stream);

// Memory is divided and streaming begins. Says so once per process. `pieces`: a device computes
// other parts of the model.
void ggs_tell_begin(struct ggs_stream * stream, bool pieces);

// Around each graph run: counts tokens.
void ggs_tell_run_begin(struct ggs_stream * stream);
void ggs_tell_run_end(struct ggs_stream * stream);
