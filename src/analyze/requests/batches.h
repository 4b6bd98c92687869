// What batches were made of: for each decode how many of its tokens were prompt, generated and
// drafted, and of how many requests.
#pragma once

#include "analyze/walk/trace.h"

struct ggs_composition {
    int64_t  begin_ns, end_ns;
    int64_t  token; // step, -1 for a warm-up
    uint64_t context;
    uint64_t decodes; // that it stands for
    uint64_t prompt_tokens, generate_tokens, verify_tokens;
    uint64_t requests; // the most in one of them
};

struct ggs_compositions {
    struct ggs_composition * batch; // in order of time for each context
    uint64_t                 n, capacity;
};

// At most `most` of them: neighbours become one, with their tokens added up. Warm-ups are left out.
int  ggs_compositions_compute(struct ggs_compositions * compositions, struct ggs_trace * trace, uint64_t most,
                              struct ggs_error * error);
void ggs_compositions_release(struct ggs_compositions * compositions);
