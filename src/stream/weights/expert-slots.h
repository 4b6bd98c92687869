// Experts in slots: the experts of a layer that are in memory, and reads for others when they are
// chosen.
//
// All functions need the stream's lock and run in the thread that runs the graph.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/ggml-abi.h"
#include "stream/weights/weights.h"

// The state of a group in one graph run.
struct ggs_routing {
    struct ggs_expert_group * group;
    const struct abi_tensor * ids;    // the experts of each token
    const struct abi_tensor * hidden; // the router's input, or NULL
    int64_t                   n_tokens;
    size_t                    step;                                    // bytes from token to token
    bool                      routed;                                  // the ids were read
    bool                      fits;                                    // all experts have slots
    uint32_t                  hits, misses, predicted, predicted_used; // experts, in this run
    uint32_t                  early[GGS_GROUP_WEIGHTS];                // experts of each weight that were read early
    struct ggs_chosen *       chosen;                                  // distinct experts
    int32_t *                 renamed;                                 // the ids replaced by slots
    size_t                    n_chosen, chosen_capacity, renamed_capacity;
};

struct ggs_chosen {
    int32_t  expert;
    uint32_t slot;
};

// With so many tokens that nearly all experts will be chosen: reads them in advance if there is
// room.
void ggs_expert_slots_foresee(struct ggs_stream * stream, const struct ggs_routing * routing);

// Called when the ids are available: requests missing experts.
void ggs_expert_slots_route(struct ggs_stream * stream, struct ggs_routing * routing);

// Waits for the experts of the group's k-th weight. False: the mapping must be used.
bool ggs_expert_slots_supply(struct ggs_stream * stream, struct ggs_routing * routing, uint32_t k);

// Called when the op that used the weight has ended.
void ggs_expert_slots_used(struct ggs_stream * stream, struct ggs_weight * weight);

// Called when no op of the run is left: drops experts in overflow slots.
void ggs_expert_slots_end(struct ggs_stream * stream);

// Called when spare memory was moved behind the weight's slots: reads their experts.
void ggs_expert_slots_read_overflow(struct ggs_stream * stream, struct ggs_weight * weight, enum ggs_urgency urgency);

// Reads experts that have not been chosen into slots that the current choice does not use. The list
// is reduced to those that are read; returns their number. Does not block. Callable from any thread
// without `overflow`, which uses spare memory if there is no other slot.
uint32_t ggs_expert_slots_read_early(struct ggs_stream * stream, struct ggs_expert_group * group, int32_t * experts,
                                     uint32_t n, enum ggs_urgency urgency, bool overflow);

// Makes room in the stream's scratch memory for all experts of the group.
bool ggs_expert_slots_reserve(struct ggs_stream * stream, const struct ggs_expert_group * group);

static inline int32_t ggs_expert_at(const struct abi_tensor * ids, int64_t token, int64_t rank) {
    return *(const int32_t *) ((const char *) ids->data + token * (int64_t) ids->nb[1] + rank * (int64_t) ids->nb[0]);
}
