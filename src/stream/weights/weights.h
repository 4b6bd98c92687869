// The weights that graphs use, and where each of them is to be found.
//
// A weight is a range of a mapped model file that an op reads whole, or, if it holds experts, one
// part for each expert that a token was given to. Dense weights are kept (read once, then in
// memory) or streamed (read into the ring for every use); experts have slots. divide.h decides, by
// how much memory there is.
//
// All functions: with the stream's lock held.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stream/arrival.h"
#include "stream/disk/files.h"

enum { GGS_GROUP_WEIGHTS = 4, GGS_HISTORY_EXPERTS = 1024 };

enum ggs_weight_where {
    GGS_WEIGHT_MAPPED,   // left to the mapping
    GGS_WEIGHT_STREAMED, // streamed
    GGS_WEIGHT_KEPT,     // in memory of its own, once it was read
    GGS_WEIGHT_SLOTS,    // experts
};

struct ggs_weight {
    const struct ggs_stream_file * file;
    uint64_t                       offset, bytes; // in it
    uint32_t                       number;        // in order of first use
    const char *                   address;       // in the mapping, where an op used it first; NULL: no op has
    enum ggs_weight_where          where;
    struct ggs_expert_group *      group;     // NULL for a dense weight
    uint32_t                       in_group;  // which of the group's weights
    bool                           is_router; // small, and used for predictions too
    // if it is kept
    char *             kept; // where its span begins
    struct ggs_arrival arrival;
    bool               in_use; // by the op that runs: its memory is not given back
    // if it has slots: slot i begins at window + i * stride, its data `delta` behind
    char *               window;
    uint64_t             stride, expert_bytes;
    uint32_t             delta;
    bool                 uneven;   // experts begin at different arrivals of a block: they are moved after reading
    struct ggs_arrival * arrivals; // by slot
    uint32_t             n_spare;  // chunks of spare memory behind the last slot of its own (spares.h)
    char *               reserved; // addresses around the window
    uint64_t             reserved_bytes;
};

struct ggs_expert_slot {
    int32_t  expert; // -1: none
    bool     predicted;
    uint64_t used; // the group's clock
};

// The weights whose experts are chosen together: gate, up and down of a layer.
struct ggs_expert_group {
    struct ggs_weight * weights[GGS_GROUP_WEIGHTS];
    uint32_t            number, n_weights, n_experts, n_used;
    // Slots with memory of their own, of which the last `n_given` were given back. Those behind, up
    // to n_experts, have spare memory while a graph that chooses more experts than there are slots
    // needs them.
    uint32_t                 n_slots, n_given;
    uint32_t                 n_overflow; // slots of that kind that are taken
    bool                     full;       // none of its own slots is empty, as far as is known
    struct ggs_expert_slot * slots;      // n_experts of them, NULL while no memory is divided
    int32_t *                slot_of;    // by expert, -1 where it has none
    double *                 score;      // by expert: how often it was chosen, of which what is long ago counts less
    uint64_t *               chosen;     // by expert: how often it was chosen
    double                   weight;     // of the next choice
    uint64_t                 clock;      // counts choices; slots that the newest one uses have it
    int                      layer;      // by the weights' names, -1: they do not tell
    uint64_t                 n_inputs;   // of an expert
    uint32_t                 predicted;  // experts read early since the last choice
    bool                     remembers;  // what earlier runs chose was looked up
    struct ggs_weight *      router;
};

// A zeroed struct has none.
struct ggs_weight_table {
    struct ggs_map             by_place; // in the file: a weight's number + 1
    struct ggs_weight **       weights;  // in order of first use
    size_t                     n, capacity;
    struct ggs_expert_group ** groups; // in order of first use
    size_t                     n_groups, groups_capacity;
    size_t                     n_divided; // weights behind have not been decided on
};

void ggs_weight_table_release(struct ggs_weight_table * weights);

// The weight at this place, made if it is new. NULL if there is no memory.
struct ggs_weight * ggs_weight_table_at(struct ggs_weight_table * weights, const struct ggs_stream_file * file,
                                        uint64_t offset, uint64_t bytes);

// Makes a group of weights of `n_experts` experts each. NULL, and false, if there is no memory or
// no room.
struct ggs_expert_group * ggs_weight_table_add_group(struct ggs_weight_table * weights, uint32_t n_experts,
                                                     uint32_t n_used, int layer, uint64_t n_inputs);
bool                      ggs_expert_group_add(struct ggs_expert_group * group, struct ggs_weight * weight);

// The group of the layer behind this one, NULL if that is not known.
struct ggs_expert_group * ggs_weight_table_group_after(const struct ggs_weight_table * weights,
                                                       const struct ggs_expert_group * group);

// Bytes of weights that no decision has been taken on, and of all.
uint64_t ggs_weight_table_undivided(const struct ggs_weight_table * weights);
uint64_t ggs_weight_table_total(const struct ggs_weight_table * weights);

static inline struct ggs_span ggs_weight_span(const struct ggs_weight * weight) {
    return ggs_span_of(weight->offset, weight->bytes, weight->file->alignment);
}

// Memory that a dense weight takes.
static inline uint64_t ggs_weight_room(const struct ggs_weight * weight) {
    return (ggs_weight_span(weight).bytes + 4095) / 4096 * 4096;
}
