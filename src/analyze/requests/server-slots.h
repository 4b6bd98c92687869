// A server's slots over time: the activity of requests in a window, per sequence of each context.
// The result is limited by the pixels of the window, not by the length of the recording.
#pragma once

#include "analyze/lanes/timeline.h"
#include "analyze/requests/requests.h"

enum { GGS_SLOTS_MOST = 8 };

struct ggs_request_slot {
    uint64_t context;
    int64_t  sequence;
};

// A request's part of a decode. Neighbours of a slot that start in the same pixel are merged.
struct ggs_slot_piece {
    uint64_t slot;                 // index of ggs_slots.slot
    int64_t  begin_ns, end_ns;     // of the first and last decode
    uint64_t prompt_ns, tokens_ns; // in decodes of its prompt, and of generated tokens
    uint64_t request;              // the first one
    uint64_t requests;             // number of merged requests; more than 1 only within a pixel
    uint64_t others;               // maximum of other requests in one of its decodes
};

// A request with a piece of its own. Sums cover all of its decodes.
struct ggs_slot_request {
    struct ggs_request request;
    uint64_t           prompt_ns, tokens_ns, others;
    bool               has_piece;
};

struct ggs_slots {
    struct ggs_requests       list;
    struct ggs_request_slot   slot[GGS_SLOTS_MOST]; // by context and sequence
    uint64_t                  n, more;              // more: omitted slots
    struct ggs_slot_piece *   piece;                // in order of time per slot
    uint64_t                  n_pieces, pieces_capacity;
    struct ggs_slot_request * request; // in order of starts
    uint64_t                  n_requests;
};

// Warm-ups and drafting contexts are left out. A recording of a single request has no slots.
int  ggs_slots_compute(struct ggs_slots * slots, struct ggs_trace * trace, struct ggs_timeline_window window,
                       struct ggs_error * error);
void ggs_slots_release(struct ggs_slots * slots);
