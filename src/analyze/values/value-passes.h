// Reads the values of a recording pass by pass. A pass is what the engine computes at once for a
// batch of tokens: the graph runs of one scheduler call.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/values/value-ops.h"

// A token, identified by what does not depend on batches.
struct ggs_value_where {
    uint64_t lane;     // number of its text: context, sequence, and restarts of the sequence
    int64_t  sequence; // for display
    int64_t  position;
    int64_t  token; // -1 if unknown
    bool     generated;
};

struct ggs_value_row {
    uint32_t op;
    int32_t  token;     // index in the pass; -1 for all tokens together
    uint32_t run, node; // that computed it
    uint64_t elements, nan, inf, hash;
    double   rms;
    double   largest; // absolute value
    float    sketch[GGS_OP_VALUE_SKETCH];
};

struct ggs_value_pass {
    struct ggs_value_row *   rows; // rows of an op are adjacent, tokens ascending
    uint64_t                 n_rows, rows_capacity;
    struct ggs_value_where * tokens;
    uint64_t                 n_tokens, tokens_capacity;
    uint32_t *               order; // all ops of its graphs in order of computation
    uint64_t                 n_order, order_capacity;
    uint64_t *               first; // by op: index of its first row + 1
    uint64_t                 n_first, first_capacity;
    uint64_t                 run; // the first one
    int64_t                  step;
};

void ggs_value_pass_release(struct ggs_value_pass * pass);
// `token` -1 asks for the row of all tokens together. NULL if there is none.
const struct ggs_value_row * ggs_value_pass_row(const struct ggs_value_pass * pass, uint64_t op, int32_t token);

struct ggs_value_passes;

// Ops are added to `ops` as they appear. The caller must not use the trace meanwhile.
int  ggs_value_passes_open(struct ggs_value_passes ** passes, struct ggs_trace * trace, struct ggs_value_ops * ops,
                           struct ggs_error * error);
void ggs_value_passes_close(struct ggs_value_passes * passes); // NULL is allowed
// Returns 1 with a pass that the caller releases, 0 at the end, negative on failure. Skips
// warm-ups.
int ggs_value_passes_next(struct ggs_value_passes * passes, struct ggs_value_pass * pass, struct ggs_error * error);
