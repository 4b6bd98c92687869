// Token steps added up. Warm-up is counted, and left out of everything else.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_steps {
    uint64_t steps, warmup_steps;
    uint64_t prompt_tokens, generated_tokens; // a prompt yields one, every further step one for each sequence in it
    uint64_t prompt_ns, generate_ns;          // of steps, begin to end
    uint64_t generate_steps;
    uint64_t graph_steps, graph_ns; // of programs without tokens
    int64_t  slowest_step;          // of those that generate, or of graph runs; -1 for none
    uint64_t slowest_ns;
};

// Steps first..last, by number.
int ggs_steps_sum(struct ggs_steps * steps, struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                  struct ggs_error * error);
