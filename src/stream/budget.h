// How much memory weights may take, and when that is decided anew.
//
// All functions but ggs_budget_is_time: with the stream's lock held, by the thread that runs the
// graph.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_stream;

struct ggs_budget {
    uint64_t next_look;             // whether a model that fits still does; read without the lock
    double   given_up;              // share of the memory for weights, because everybody waits for memory
    uint64_t divided, most_divided; // memory for weights, now and at most
    uint64_t seen;                  // bytes of weights, by the last run
    bool     more_come;             // that run had new ones, and was a small part of the model
    uint64_t looked, looked_stalled, looked_settled, looked_unused;
    bool     looked_at_disk;
    bool     told_fits, told_too_little, told_copied; // each once
    bool     untold;                                  // that streaming begins: it is said when all weights are known
    bool     pieces;                                  // a device computes other parts of the model
};

// Would the model files that are open now fit, if each of their bytes took `more` 64ths more? Asked
// before anything is known of the engine's buffers. Any thread.
bool ggs_budget_fits_early(struct ggs_stream * stream, uint32_t more);

// A graph reads no weight in a mapping: it is a piece without weights, or the engine has copied all
// that it uses. Leaves a model alone that fits, and one that was copied.
void ggs_budget_unused(struct ggs_stream * stream);

// Is a decision due: weights were seen that none was taken for, or memory is short? `piece`: the
// graph is a small part of one that is run in pieces, which shows its weights one by one; then it
// is waited until no more come.
bool ggs_budget_due(struct ggs_stream * stream, bool piece);

// Takes it. False if nothing is to be streamed, which it says. No op may run; waits for reads.
bool ggs_budget_decide(struct ggs_stream * stream);

// The model was found to fit. Is it time to look whether it still does? Once a second; cheap, from
// any thread.
bool ggs_budget_is_time(struct ggs_stream * stream);

// Does it no longer, because others took memory?
bool ggs_budget_outgrown(struct ggs_stream * stream);
