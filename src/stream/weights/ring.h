// Dense weights that are read ahead of use, in the order in which a graph uses them.
//
// A sequence is that order for one kind of graph. When a run of it begins, what comes in it is
// known; behind its end the sequence that followed it last time is taken, so that the first weights
// of the next token are there when it begins. Streamed weights go into the ring, kept ones to their
// own memory.
//
// All functions: with the stream's lock held, by the thread that runs the graph.
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
    struct ggs_weight_sequence * next;  // what came after it
    struct ggs_weight_sequence * older; // of those that are known
};

struct ggs_weight_ring_entry {
    struct ggs_weight * weight;
    uint64_t            lap;        // of the run it is for
    uint64_t            begin, end; // in the ring, counted on
    struct ggs_arrival  arrival;
};

struct ggs_weight_ring {
    char *                         memory;
    uint64_t                       bytes;
    uint64_t                       head, tail;       // the oldest byte in use, the next free one; both count on
    struct ggs_weight_ring_entry * entries;          // GGS_RING_ENTRIES of them
    uint64_t                       first, next, end; // oldest in use, next to be used, behind the newest; count on
    uint64_t                       n_held;           // of those before `next`, the last ones: the op that runs has them
    struct ggs_weight_sequence *   known;
    struct ggs_weight_sequence *   running; // of the run
    uint64_t                       lap;     // counts runs
    // Where reading ahead is.
    struct ggs_weight_sequence * cursor;
    size_t                       cursor_at;
    uint64_t                     cursor_lap;
    struct ggs_weight_sequence * assumed[GGS_RING_LAPS]; // by lap: the sequence that reading ahead took for it
};

// Takes memory for the ring, in place of what it had. False if there is none. Nothing may be on its
// way into it.
bool ggs_weight_ring_resize(struct ggs_stream * stream, uint64_t bytes);

// Forgets all sequences and entries. Nothing may be on its way.
void ggs_weight_ring_forget(struct ggs_weight_ring * ring);

bool ggs_weight_ring_holds(const struct ggs_stream * stream, const struct ggs_weight * weight);

// A run begins that uses these weights in this order; it ends: what was read for it and not used is
// dropped.
void ggs_weight_ring_begin(struct ggs_stream * stream, struct ggs_weight ** weights, size_t n);
void ggs_weight_ring_end(struct ggs_stream * stream);

// Asks for as much of what comes next as there is room for.
void ggs_weight_ring_fill(struct ggs_stream * stream);

// The weight's data for the op that begins, waiting until it has come. NULL if the mapping has to
// do.
char * ggs_weight_ring_acquire(struct ggs_stream * stream, struct ggs_weight * weight);

// Every op that was given something has ended: its room may be used again.
void ggs_weight_ring_release(struct ggs_stream * stream);

// Reads a kept weight, if it has not been, and waits for it. False if the mapping has to do.
bool ggs_weight_ring_load(struct ggs_stream * stream, struct ggs_weight * weight);
