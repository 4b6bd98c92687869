// Goes through the values of a recording pass by pass. A pass is what the engine computes at once
// for a batch of tokens: the graph runs of one scheduler call.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/values/value-ops.h"

// A token, by what is the same in a recording with other batches.
struct ggs_value_where {
    uint64_t lane;     // number of the text that it belongs to: context, sequence, and how often that began again
    int64_t  sequence; // for people
    int64_t  position;
    int64_t  token; // -1 if it is not known
    bool     generated;
};

struct ggs_value_row {
    uint32_t op;
    int32_t  token;     // of the pass; -1: all of them together
    uint32_t run, node; // that computed it
    uint64_t elements, nan, inf, hash;
    double   rms;
    double   largest; // absolute value
    float    sketch[GGS_OP_VALUE_SKETCH];
};

struct ggs_value_pass {
    struct ggs_value_row *   rows; // those of an op together, tokens ascending
    uint64_t                 n_rows, rows_capacity;
    struct ggs_value_where * tokens;
    uint64_t                 n_tokens, tokens_capacity;
    uint32_t *               order; // ops of its graphs as computed, with those that have no values
    uint64_t                 n_order, order_capacity;
    uint64_t *               first; // by op: index of its first row + 1
    uint64_t                 n_first, first_capacity;
    uint64_t                 run; // the first one
    int64_t                  step;
};

void ggs_value_pass_release(struct ggs_value_pass * pass);
// NULL if there is none. `token` -1: of all tokens together.
const struct ggs_value_row * ggs_value_pass_row(const struct ggs_value_pass * pass, uint64_t op, int32_t token);

struct ggs_value_passes;

// `ops` gets the ops as they come. The trace is used by it alone meanwhile.
int  ggs_value_passes_open(struct ggs_value_passes ** passes, struct ggs_trace * trace, struct ggs_value_ops * ops,
                           struct ggs_error * error);
void ggs_value_passes_close(struct ggs_value_passes * passes); // NULL is fine
// 1 with a pass that the caller releases, 0 at the end, negative on failure. Warm-ups are left out.
int ggs_value_passes_next(struct ggs_value_passes * passes, struct ggs_value_pass * pass, struct ggs_error * error);
