// The experts that a run chose, and their weights.
//
// Source 2 of a MUL_MAT_ID node has them: [used, tokens] numbers. All matrices of a layer share one
// choice, so each choice is listed once, at the first node that uses it. The routing weight is what
// a MUL node multiplies the experts' outputs with, [1, used, tokens]. The probability is the
// router's output before scaling, if the graph still has it.
#pragma once

#include <stdint.h>

#include "analyze/walk/walk.h"

struct ggs_choice {
    uint64_t        node; // the first MUL_MAT_ID that uses it
    uint64_t        ids;  // tensor
    int             layer;
    uint64_t        used, tokens;
    const int64_t * experts;       // [tokens][used]
    float *         weights;       // the same shape, NULL if unknown
    float *         probabilities; // NULL if unknown
};

// A zeroed struct is valid.
struct ggs_choices {
    struct ggs_choice *    choice;
    uint64_t               n, capacity;
    struct ggs_access_list index; // the small tensors of the run
};
void ggs_choices_release(struct ggs_choices * choices);

// Lists the choices of walk->run in the order of the graph. The result is valid until the next
// call.
int ggs_choices_of(struct ggs_choices * choices, struct ggs_walk * walk, struct ggs_error * error);

// Returns the choice with a node's expert ids, NULL if there is none.
const struct ggs_choice * ggs_choice_of_node(const struct ggs_choices * choices, const struct ggs_trace * trace,
                                             const struct ggs_graph * graph, uint64_t node);
