// Experts in slots: which of a layer's experts are in memory, and what is read when others are chosen.
//
// One thread at a time: the one that runs the graph.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/weights.h"

// What one graph run knows about a group.
struct ggs_routing {
    struct ggs_expert_group * group;
    const struct abi_tensor * ids;    // the experts of each token
    const struct abi_tensor * hidden; // what the router saw, or NULL
    int64_t                   n_tokens;
    size_t                    step;   // in it, from token to token
    bool                      whole;  // more than there are slots for: the weights are read as a whole
    bool                      routed; // the ids were looked at
    bool                      fits;   // and all of them have slots
    uint32_t                  hits, misses, predicted, predicted_used; // experts, in this run
    uint32_t                  n_needed;
    int32_t *                 needed;   // the slots that are used, each once
    int32_t *                 renamed;  // the ids as slots
    uint32_t                  capacity; // of both
};

// The ids are there: asks for what is missing.
void ggs_experts_route(struct ggs_routing * routing);

// Waits until the experts of the group's k-th weight are there. False if the mapping has to do.
bool ggs_experts_wait(struct ggs_routing * routing, uint32_t k);

// Reads early what the next layer will likely choose, by its router applied to what this layer's router saw. Not once it has chosen.
void ggs_experts_predict(const struct ggs_routing * now, struct ggs_expert_group * next);

// Fills empty slots from a weight that lies in memory as a whole, with the experts that were chosen most.
void ggs_experts_adopt(struct ggs_routing * routing, uint32_t k, const char * data);

// What the disk reads in a second: one that is slow begins without prediction, until it is known whether it has time for it.
void ggs_experts_note_disk(uint64_t rate);

// The waiting share of the time spent in runs, told after each.
void ggs_experts_note_run(uint64_t wait_ns, uint64_t run_ns);
