// Experts in slots: which of a layer's experts are in memory, and what is read when others are
// chosen.
//
// All functions: with the stream's lock held, by the thread that runs the graph.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/ggml-abi.h"
#include "stream/weights/weights.h"

// What one graph run knows about a group.
struct ggs_routing {
    struct ggs_expert_group * group;
    const struct abi_tensor * ids;    // the experts of each token
    const struct abi_tensor * hidden; // what the router saw, or NULL
    int64_t                   n_tokens;
    size_t                    step;                                    // in it, from token to token
    bool                      routed;                                  // the ids were looked at
    bool                      fits;                                    // and all experts have slots
    uint32_t                  hits, misses, predicted, predicted_used; // experts, in this run
    struct ggs_chosen *       chosen;                                  // each expert once
    int32_t *                 renamed;                                 // the ids as slots
    size_t                    n_chosen, chosen_capacity, renamed_capacity;
};

struct ggs_chosen {
    int32_t  expert;
    uint32_t slot;
};

// So many tokens that nearly all experts will be chosen: reads them before they are, if there is
// room for them.
void ggs_experts_foresee(struct ggs_stream * stream, const struct ggs_routing * routing);

// The ids are there: asks for what is missing.
void ggs_experts_route(struct ggs_stream * stream, struct ggs_routing * routing);

// Waits until the experts of the group's k-th weight are there. False if the mapping has to do.
bool ggs_experts_supply(struct ggs_stream * stream, struct ggs_routing * routing, uint32_t k);

// The op that used the weight has ended.
void ggs_experts_used(struct ggs_stream * stream, struct ggs_weight * weight);

// No op of the run is left: what was chosen beyond the slots is forgotten.
void ggs_experts_end(struct ggs_stream * stream);

// Spare memory has come to lie behind the weight's slots: reads what they are for.
void ggs_experts_read_overflow(struct ggs_stream * stream, struct ggs_weight * weight, enum ggs_urgency urgency);

// Reads experts that have not been chosen, as far as there are slots that the newest choice does
// not use. Of the list those remain that are read; returns their number. Nothing is waited for.
uint32_t ggs_experts_read_early(struct ggs_stream * stream, struct ggs_expert_group * group, int32_t * experts,
                                uint32_t n, enum ggs_urgency urgency);

// Room in the stream's scratch memory for all experts of the group.
bool ggs_experts_reserve(struct ggs_stream * stream, const struct ggs_expert_group * group);

static inline int32_t ggs_expert_at(const struct abi_tensor * ids, int64_t token, int64_t rank) {
    return *(const int32_t *) ((const char *) ids->data + token * (int64_t) ids->nb[1] + rank * (int64_t) ids->nb[0]);
}
