// Reads of files that go on while the engine computes: by a few threads, or by io_uring.
//
// Threads are the default, because they go on by themselves: with io_uring the thread that computes has to hand on what comes next, between two ops, and the others
// wait for it meanwhile. Measured on two cores: 140 against 166 ms per token for a dense model, 209 against 260 for a large mixture of experts.
//
// One thread at a time calls these functions. Nothing is copied and nothing goes through the page cache: files are open with
// O_DIRECT, so offsets, sizes and addresses are multiples of GGS_READ_ALIGNMENT.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_READ_ALIGNMENT = 4096, GGS_READ_PIECE = 1 << 20 };

// Something on its way into memory, in one or more reads. The caller's; it stays where it is until nothing is pending.
struct ggs_arrival {
    uint32_t pending; // reads that are not done
    bool     failed;  // at least one of them: nothing of it may be used
};

enum ggs_reader_kind { GGS_READER_NONE, GGS_READER_URING, GGS_READER_THREADS };

// Starts what this kernel has. `wanted` is "uring", "threads" or NULL for the best. Returns the kind, GGS_READER_NONE where nothing works.
enum ggs_reader_kind ggs_reader_start(const char * wanted);

// How many reads can be under way at a time.
uint32_t ggs_reader_depth(void);

// How large one read may be at most: GGS_READ_PIECE, or less. Nothing may be in flight.
void ggs_reader_set_piece(uint32_t bytes);

// Asks for `bytes` at `offset`, of which the first `needed` must be there (a file ends where it ends). `urgent`: an op waits for it, or soon will.
void ggs_reader_ask(struct ggs_arrival * load, int fd, uint64_t offset, size_t bytes, size_t needed, void * to,
                    bool urgent);

// Hands what was asked for to the kernel.
void ggs_reader_submit(void);

// Takes note of what is done, without waiting.
void ggs_reader_poll(void);

// Waits until nothing of `load` is pending. Returns whether it had to wait. `soon`, if there is one, is called when only its last read is under way:
// threads that sleep until then have time to wake up.
bool ggs_reader_wait(struct ggs_arrival * load, void (*soon)(void));

// Waits for everything.
void ggs_reader_drain(void);

static inline bool ggs_arrival_done(const struct ggs_arrival * load) {
    return __atomic_load_n(&load->pending, __ATOMIC_ACQUIRE) == 0;
}
