// The composition of batches: prompt, generated and drafted tokens of each decode, and its number
// of requests.
#pragma once

#include "analyze/walk/trace.h"

struct ggs_composition {
    int64_t  begin_ns, end_ns;
    int64_t  token; // step, -1 for a warm-up
    uint64_t context;
    uint64_t decodes; // number of decodes in this entry
    uint64_t prompt_tokens, generate_tokens, verify_tokens;
    uint64_t requests; // maximum in one of them
};

struct ggs_compositions {
    struct ggs_composition * batch; // in order of time per context
    uint64_t                 n, capacity;
};

// At most `most` entries: neighbours are merged and their tokens summed. Warm-ups are left out.
int  ggs_compositions_compute(struct ggs_compositions * compositions, struct ggs_trace * trace, uint64_t most,
                              struct ggs_error * error);
void ggs_compositions_release(struct ggs_compositions * compositions);
