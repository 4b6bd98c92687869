// Spare memory, for graphs that choose more experts of a layer than it has slots: prompts, and all
// graphs where memory is too little for slots of each layer's own.
//
// A weight's window has addresses for all of its experts, and memory for as many as it has slots.
// The rest of the window gets pages while an op needs them: chunks of pages, which are moved there
// (not copied) and later on to another window. Whoever comes first in the order of use is served
// first.
//
// All functions: with the stream's lock held.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/weights/weights.h"

struct ggs_spare {
    char *              at;
    struct ggs_weight * owner; // NULL: it is free
};

struct ggs_spares {
    char *               home;
    uint64_t             chunk; // bytes of each
    uint32_t             n, n_free;
    struct ggs_spare *   spares;
    struct ggs_weight ** wanted; // by whom, in the order of use
    size_t               n_wanted, wanted_capacity;
};

// Takes memory for `n` chunks, in place of what it had. False if there is none. No weight may have
// a chunk.
bool ggs_spares_resize(struct ggs_stream * stream, uint64_t chunk, uint32_t n, bool huge);

// Has memory behind all slots of the weight's group that are taken, as soon as there is some free,
// and then reads what these slots are for.
void ggs_spares_want(struct ggs_stream * stream, struct ggs_weight * weight);

// The same at once, taking chunks from weights whose op is yet to come. False if there are too few
// in all.
bool ggs_spares_need(struct ggs_stream * stream, struct ggs_weight * weight);

// The op has ended, or what was wanted is not: the weight's chunks serve others. Waits for what is
// on its way to them.
void ggs_spares_free(struct ggs_stream * stream, struct ggs_weight * weight);

// Slots of the group that could have spare memory at the same time, for each of its weights.
uint32_t ggs_spares_slots(const struct ggs_stream * stream, const struct ggs_expert_group * group);

// Bytes that are counted as empty at home, and are elsewhere.
uint64_t ggs_spares_away(const struct ggs_stream * stream);
