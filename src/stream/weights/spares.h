// Spare memory for graphs that choose more experts of a layer than it has slots: prompts, and all
// graphs if memory is too small for slots in every layer.
//
// A weight's window has addresses for all its experts, and memory for as many as it has slots. The
// rest of the window gets pages while an op needs them: chunks of pages, which are moved there (not
// copied) and later to another window. The first in order of use is served first.
//
// All functions need the stream's lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/weights/weights.h"

struct ggs_spare {
    char *              at;
    struct ggs_weight * owner; // NULL: free
};

struct ggs_spares {
    char *               home;
    uint64_t             chunk; // bytes of each chunk
    uint32_t             n, n_free;
    struct ggs_spare *   spares;
    struct ggs_weight ** wanted; // waiting weights in order of use
    size_t               n_wanted, wanted_capacity;
};

// Allocates `n` chunks, replacing the previous ones. False if memory is out. No weight may own a
// chunk.
bool ggs_spares_resize(struct ggs_stream * stream, uint64_t chunk, uint32_t n, bool huge);

// Requests memory behind all taken slots of the weight's group; as soon as some is free, reads
// their experts.
void ggs_spares_want(struct ggs_stream * stream, struct ggs_weight * weight);

// The same at once, taking chunks from weights whose op comes later. False if there are not enough
// in total.
bool ggs_spares_need(struct ggs_stream * stream, struct ggs_weight * weight);

// Called when the op has ended or the request is obsolete: frees the weight's chunks. Waits for
// reads into them.
void ggs_spares_free(struct ggs_stream * stream, struct ggs_weight * weight);

// Number of the group's slots that could have spare memory at once, for each of its weights.
uint32_t ggs_spares_slots(const struct ggs_stream * stream, const struct ggs_expert_group * group);

// Bytes that count as empty in their home window but are in another one.
uint64_t ggs_spares_away(const struct ggs_stream * stream);
