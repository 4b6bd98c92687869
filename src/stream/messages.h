// Messages to the user: one line when streaming begins, one every 10 s with --verbose, one at the
// end.
//
// All functions need the stream's lock and run in the thread that runs the graph.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/stream.h"

// A pass is one evaluation of the model: one graph run, or several if a device computes parts of
// it.
struct ggs_messages {
    bool                     begun;                // the first line was printed
    uint64_t                 began, ended, tokens; // of the current pass
    uint32_t                 last;                 // number of the first weight of its latest run
    uint64_t                 printed_at;           // time of the last line of --verbose
    struct ggs_stream_counts printed;              // the counters at that time
};

// Bytes that a token reads, and the part of them in memory, for the current division.
struct ggs_expectation {
    double bytes, resident; // per token
    double seconds;         // disk time for the rest; 0: speed unknown
};

struct ggs_expectation ggs_messages_expect(const struct ggs_stream * stream);

// Reports once per process that streaming begins. `pieces`: a device computes other parts of the
// model.
void ggs_messages_begin(struct ggs_stream * stream, bool pieces);

// Called around each graph run: counts tokens.
void ggs_messages_run_begin(struct ggs_stream * stream);
void ggs_messages_run_end(struct ggs_stream * stream);
