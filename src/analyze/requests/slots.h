// Slots of a server over time: for each sequence of each context, what its requests do in a window.
// What is returned is bounded by the window's pixels, not by the recording's length.
#pragma once

#include "analyze/lanes/timeline.h"
#include "analyze/requests/requests.h"

enum { GGS_SLOTS_MOST = 8 };

struct ggs_request_slot {
    uint64_t context;
    int64_t  sequence;
};

// A request's part of a decode. Neighbours of a slot that begin in the same pixel are one piece.
struct ggs_slot_piece {
    uint64_t slot;                 // index of ggs_slots.slot
    int64_t  begin_ns, end_ns;     // of the first and of the last decode
    uint64_t prompt_ns, tokens_ns; // in decodes of its prompt, and of generated tokens
    uint64_t request;              // the first one
    uint64_t requests;             // that have a part of it; more than 1 only where they share a pixel
    uint64_t others;               // the most other requests in one of its decodes
};

// A request that has a piece of its own. Sums are about all of its decodes, in the window or not.
struct ggs_slot_request {
    struct ggs_request request;
    uint64_t           prompt_ns, tokens_ns, others;
    bool               has_piece;
};

struct ggs_slots {
    struct ggs_requests       list;
    struct ggs_request_slot   slot[GGS_SLOTS_MOST]; // by context and sequence
    uint64_t                  n, more;              // more: slots that are left out
    struct ggs_slot_piece *   piece;                // in order of time for each slot
    uint64_t                  n_pieces, pieces_capacity;
    struct ggs_slot_request * request; // in order of begins
    uint64_t                  n_requests;
};

// Warm-ups and contexts that draft for another are left out. A recording of a single request has no
// slots.
int  ggs_slots_compute(struct ggs_slots * slots, struct ggs_trace * trace, struct ggs_timeline_window window,
                       struct ggs_error * error);
void ggs_slots_release(struct ggs_slots * slots);
