// Weights that are read ahead of use, in the order in which a graph uses them.
//
// A sequence is that order for one kind of graph. When a run of it begins, what comes in it is known; behind its end the sequence
// that followed it last time is taken, so that the first weights of the next token are there when it begins. What is read
// goes into a ring, or to the place where the weight will be kept. One thread at a time: the one that runs the graph.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/weights.h"

struct ggs_weight_sequence {
    uint64_t                     hash;
    uint32_t                     n;
    struct ggs_weight **         weights;
    struct ggs_weight_sequence * next; // what came after it
};

// The sequence of these weights. NULL if there is no memory for a new one.
struct ggs_weight_sequence * ggs_weight_sequence_of(struct ggs_weight ** weights, uint32_t n);

// Takes memory for the ring, in place of what it had. False if there is none.
bool ggs_queue_resize(uint64_t bytes);

// From here on this is the ring, until it is called with NULL. What was read ahead is forgotten.
void ggs_queue_borrow(char * memory, uint64_t bytes);
bool ggs_queue_borrows(void);

// Can the ring hold this weight?
bool ggs_queue_holds(const struct ggs_weight * weight);

// Forgets all sequences and what was read for them.
void ggs_queue_reset(void);

void ggs_queue_begin(struct ggs_weight_sequence * sequence); // a run begins
void ggs_queue_end(void);                                    // it ended: what was read for it and not used is dropped

// Asks for as much of what comes next as there is room for.
void ggs_queue_fill(void);

// The weight's data for the op that begins now, waiting where it has not come yet. NULL if the mapping has to do.
char * ggs_queue_take(struct ggs_weight * weight);

// Brings a weight to where it is kept, now.
void ggs_queue_load(struct ggs_weight * weight);

// Every op that was given something has ended: its room may be used again.
void ggs_queue_release(void);

// Has what was read the same bytes as the file? Only with --verify; counts, and says where it has not.
bool ggs_queue_verify(int file, uint64_t offset, const char * data, uint64_t bytes);
