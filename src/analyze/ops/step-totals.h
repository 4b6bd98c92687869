// Totals of token steps. Warm-up is counted, and left out of everything else.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_step_totals {
    uint64_t steps, warmup_steps;
    uint64_t requests; // started, except those of drafting contexts
    uint64_t prompt_tokens,
        generated_tokens;            // of all requests (analyze/requests), except those of drafting contexts
    uint64_t prompt_ns, generate_ns; // of steps, from start to end
    uint64_t generate_steps;
    uint64_t quiet_ns;              // a tenth of these steps take at most this: undisturbed by the machine
    uint64_t between_ns;            // from the previous step to each of these, with drafting
    uint64_t decoded_tokens;        // generated in these
    uint64_t graph_steps, graph_ns; // of programs without tokens
    int64_t  slowest_step;          // of generating steps, or of graph runs; -1 for none
    uint64_t slowest_ns;
    // drafts
    uint64_t draft_steps, draft_ns; // of drafting contexts; not in the times above
    uint64_t drafting_ns;           // of these, except prompts
    uint64_t drafted_tokens, accepted_tokens, rejected_tokens;
};

// For steps first..last, by number.
int ggs_step_totals_compute(struct ggs_step_totals * steps, struct ggs_trace * trace, int64_t first_step,
                            int64_t last_step, struct ggs_error * error);
