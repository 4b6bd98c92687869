// Reads dense weights ahead of use, in the order in which a graph uses them.
//
// A sequence is that order for one kind of graph. When a run begins, its sequence is known. Behind
// its end, the sequence that followed last time is expected, so that the first weights of the next
// token are in memory when it begins. Streamed weights go into the ring, kept ones into their own
// memory.
//
// All functions need the stream's lock and run in the thread that runs the graph.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/weights/weights.h"

enum { GGS_RING_ENTRIES = 2048, GGS_RING_LAPS = 64 };

struct ggs_weight_sequence {
    uint64_t                     hash;
    size_t                       n;
    struct ggs_weight **         weights;
    struct ggs_weight_sequence * next;  // the one that followed last time
    struct ggs_weight_sequence * older; // next in the list of known sequences
};

struct ggs_weight_ring_entry {
    struct ggs_weight * weight;
    uint64_t            lap;        // of its run
    uint64_t            begin, end; // positions in the ring, ever increasing
    struct ggs_arrival  arrival;
};

struct ggs_weight_ring {
    char *                         memory;
    uint64_t                       bytes;
    uint64_t                       head, tail;       // oldest byte in use and next free byte, ever increasing
    struct ggs_weight_ring_entry * entries;          // GGS_RING_ENTRIES of them
    uint64_t                       first, next, end; // oldest in use, next to use, end; ever increasing
    uint64_t                       n_held;           // the last of those before `next`: held by the running op
    struct ggs_weight_sequence *   known;
    struct ggs_weight_sequence *   running; // of the current run
    uint64_t                       lap;     // number of the run
    // The position of reading ahead.
    struct ggs_weight_sequence * cursor;
    size_t                       cursor_at;
    uint64_t                     cursor_lap;
    struct ggs_weight_sequence * assumed[GGS_RING_LAPS]; // by lap: the sequence assumed by reading ahead
};

// Allocates the ring, replacing the previous one. False if memory is out. Nothing may be in flight
// into it.
bool ggs_weight_ring_resize(struct ggs_stream * stream, uint64_t bytes);

// Drops all sequences and entries. Nothing may be in flight.
void ggs_weight_ring_forget(struct ggs_weight_ring * ring);

bool ggs_weight_ring_holds(const struct ggs_stream * stream, const struct ggs_weight * weight);

// Begins a run that uses these weights in this order; ends it, dropping what was read for it and
// not used.
void ggs_weight_ring_begin(struct ggs_stream * stream, struct ggs_weight ** weights, size_t n);
void ggs_weight_ring_end(struct ggs_stream * stream);

// Requests as much of what comes next as there is room for.
void ggs_weight_ring_fill(struct ggs_stream * stream);

// Returns the weight's data for the op that begins, waiting for its arrival. NULL: the mapping must
// be used.
char * ggs_weight_ring_acquire(struct ggs_stream * stream, struct ggs_weight * weight);

// Called when all ops with replaced sources have ended: their room can be reused.
void ggs_weight_ring_release(struct ggs_stream * stream);

// Reads a kept weight unless it was read, and waits for it. False: the mapping must be used.
bool ggs_weight_ring_load(struct ggs_stream * stream, struct ggs_weight * weight);
