// The weights that graphs use, and where each of them is.
//
// A weight is a range of a mapped model file that an op reads as a whole; with experts, one part
// per chosen expert. Dense weights are kept (read once into memory) or streamed (read into the ring
// for every use); experts have slots. divide.h decides by the available memory.
//
// All functions need the stream's lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stream/arrival.h"
#include "stream/disk/mapped-files.h"

enum { GGS_GROUP_WEIGHTS = 4, GGS_HISTORY_EXPERTS = 1024 };

enum ggs_weight_where {
    GGS_WEIGHT_MAPPED,   // read through the mapping
    GGS_WEIGHT_STREAMED, // read into the ring
    GGS_WEIGHT_KEPT,     // in its own memory once read
    GGS_WEIGHT_SLOTS,    // experts
};

struct ggs_weight {
    const struct ggs_stream_file * file;
    uint64_t                       offset, bytes; // in it
    uint32_t                       number;        // in order of first use
    const char *                   address;       // in the mapping, where an op first used it; NULL: not used
    enum ggs_weight_where          where;
    struct ggs_expert_group *      group;     // NULL for a dense weight
    uint32_t                       in_group;  // index in the group
    bool                           is_router; // small, and also used for predictions
    // if kept
    char *             kept; // start of its span
    struct ggs_arrival arrival;
    bool               in_use; // by the running op: its memory must not be given back
    // if it has slots: slot i begins at window + i * stride, its data `delta` behind
    char *               window;
    uint64_t             stride, expert_bytes;
    uint32_t             delta;
    bool                 uneven;   // experts begin at different offsets of a block: they are moved after reading
    struct ggs_arrival * arrivals; // by slot
    uint32_t             n_spare;  // chunks of spare memory behind its own slots (spares.h)
    char *               reserved; // address range around the window
    uint64_t             reserved_bytes;
};

struct ggs_expert_slot {
    int32_t  expert; // -1: none
    bool     predicted;
    uint64_t used; // the group's clock at its last use
};

// Weights whose experts are chosen together: gate, up and down of a layer.
struct ggs_expert_group {
    struct ggs_weight * weights[GGS_GROUP_WEIGHTS];
    uint32_t            number, n_weights, n_experts, n_used;
    // Slots with their own memory, of which the last `n_given` were given back. Slots behind them,
    // up to n_experts, have spare memory while a graph that chooses more experts than slots needs
    // it.
    uint32_t                 n_slots, n_given;
    uint32_t                 n_overflow; // number of overflow slots in use
    bool                     full;       // none of its own slots is known to be empty
    struct ggs_expert_slot * slots;      // n_experts of them, NULL while no memory is divided
    int32_t *                slot_of;    // by expert, -1: none
    double *                 score;      // by expert: how often it was chosen, with older choices counting less
    uint64_t *               chosen;     // by expert: how often it was chosen
    double                   weight;     // of the next choice
    uint64_t                 choices;    // number of choices so far
    uint64_t                 clock;      // counts choices and predictions; slots of the current choice have this value
    int                      layer;      // from the weights' names, -1: unknown
    uint64_t                 n_inputs;   // of an expert
    uint32_t                 predicted;  // experts read early since the last choice
    bool                     remembers;  // choices of earlier runs were looked up
    struct ggs_weight *      router;
};

// A zeroed struct is empty.
struct ggs_weight_table {
    struct ggs_map             by_place; // by file and offset: the weight's number + 1
    struct ggs_weight **       weights;  // in order of first use
    size_t                     n, capacity;
    struct ggs_expert_group ** groups; // in order of first use
    size_t                     n_groups, groups_capacity;
    size_t                     n_divided; // weights from here on are undecided
};

void ggs_weight_table_release(struct ggs_weight_table * weights);

// Returns the weight at this place, made if new. NULL if memory is out. NULL also if another place
// has the same key, which is rare: the weight is then left to the mapping.
struct ggs_weight * ggs_weight_table_at(struct ggs_weight_table * weights, const struct ggs_stream_file * file,
                                        uint64_t offset, uint64_t bytes);

// Makes a group of weights with `n_experts` experts each. NULL, and false, if there is no memory or
// no room.
struct ggs_expert_group * ggs_weight_table_add_group(struct ggs_weight_table * weights, uint32_t n_experts,
                                                     uint32_t n_used, int layer, uint64_t n_inputs);
bool                      ggs_expert_group_add(struct ggs_expert_group * group, struct ggs_weight * weight);

// Returns the group of the next layer, NULL if unknown.
struct ggs_expert_group * ggs_weight_table_group_after(const struct ggs_weight_table * weights,
                                                       const struct ggs_expert_group * group);

// Bytes of undecided weights, and of all.
uint64_t ggs_weight_table_undivided(const struct ggs_weight_table * weights);
uint64_t ggs_weight_table_total(const struct ggs_weight_table * weights);

static inline struct ggs_span ggs_weight_span(const struct ggs_weight * weight) {
    return ggs_span_of(weight->offset, weight->bytes, weight->file->alignment);
}

// Memory of a dense weight.
static inline uint64_t ggs_weight_room(const struct ggs_weight * weight) {
    return (ggs_weight_span(weight).bytes + 4095) / 4096 * 4096;
}
