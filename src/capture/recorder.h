// The hot path: op runs into lanes. No lock, no allocation, no system call per op.
//
// A graph run takes a slot; the slot owns one lane per thread index. Whoever computes for that graph finds the slot
// once (a thread-local cursor then walks the graph's nodes with it) and appends one 32-byte unit per op: written when the op
// begins, completed in place at each barrier until the next op begins. So a killed process loses nothing but what was under way.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/ggml-abi.h"
#include "capture/graphs.h"

enum { GGS_SLOTS = 64, GGS_SLOT_THREADS = 512 };

struct ggs_slot; // a slot in use

// Takes a slot for a graph run and makes room in its lanes for `threads` threads. `pool` may be NULL where the engine makes a
// pool of its own for the run. NULL if there is no slot (errno EBUSY) or no room.
struct ggs_slot * ggs_slot_open(uint32_t number, const struct abi_graph * nodes, const struct ggs_known_graph * graph,
                                void * pool, int threads);
// Returns how many op runs could not be kept.
uint64_t ggs_slot_close(struct ggs_slot * run);
uint32_t ggs_slot_number(const struct ggs_slot * run); // its number, UINT32_MAX for NULL

// Around the computing of one node on the calling thread. `absorbed`: nodes computed together with it.
void ggs_op_begin(const struct abi_params * params, struct abi_tensor * node, unsigned absorbed);
void ggs_op_mark_extra(void); // the op under way was computed by an extra buffer type

// Around a barrier: true where an op is under way that wants to know.
bool ggs_op_in_flight(void);
// The op that the calling thread is at; run 0 where it is not known.
void ggs_op_current(uint32_t * run, uint32_t * node);
void ggs_op_barrier(uint64_t enter, uint64_t leave);

// Losses whose run is not known, by enum ggs_loss_reason: how many, and when the first and the last of them happened (ticks).
struct ggs_recorder_loss {
    uint64_t count, begin, end;
};
struct ggs_recorder_loss ggs_recorder_lost(unsigned reason);
void                     ggs_recorder_count_loss(unsigned reason, uint64_t count);

// The OS thread id of the calling thread, asked once per thread.
uint32_t ggs_recorder_thread_id(void);
