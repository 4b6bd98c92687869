// Streams the weights of a model that is larger than its memory: weights are read ahead of use into
// the stream's memory, and ops read them there instead of in the mapping.
//
// The library's hooks call these functions. Disk, memory, clock and threads are passed in, so that
// tests can replace them. The stream must not stop or change the host: whatever it does not
// understand is left to the mapping, and any failure prints one line.
//
// Thread safety: any thread may call any function between create and destroy. Of concurrent graphs
// one is streamed. Lock order: the stream's (core.h), then that of the model files, the engine's
// buffers, the memory or the disk. No lock is held while waiting for a read.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/ggml-abi.h"
#include "stream/disk/disk.h"
#include "stream/disk/model-disk-speed.h"
#include "stream/memory/memory.h"

struct ggs_stream;
struct ggs_journal_streamed_use;

enum ggs_stream_state {
    GGS_STREAM_OFF,     // given up: every call is forwarded
    GGS_STREAM_ASLEEP,  // no graph seen
    GGS_STREAM_PASSIVE, // the model fits, or memory is too small: it is left alone
    GGS_STREAM_ON,
};

enum ggs_keep { GGS_KEEP_SPREAD, GGS_KEEP_FIRST, GGS_KEEP_NONE };

struct ggs_stream_settings {
    uint64_t      budget;  // bytes for the whole process, 0: what the machine has
    uint64_t      reserve; // of them, for uncounted memory; 0: ggs_stream_reserve
    enum ggs_keep keep;    // which of the weights that every token uses stay in memory
    int           predict; // experts to read early per layer: -1 as many as a token uses, 0 none
    bool          verify;  // compare every piece with the file
    bool          quiet;
    bool          verbose; // a line every 10 s
    bool          history; // keep the choices of experts between runs
};

// The environment of a stream. All of it outlives the stream.
struct ggs_stream_world {
    struct ggs_disk *   disk;
    struct ggs_memory * memory;
    uint64_t (*clock)(void); // nanoseconds
    bool (*start_thread)(pthread_t * thread, void * (*work)(void *), void * argument);
    void (*print)(const char * line);
    // Measures the disk of an open file of `size` bytes with at most `room` bytes of memory; false
    // if unknown. Called while nothing is being read. NULL: never.
    bool (*measure)(struct ggs_stream_world * world, int fd, uint64_t size, uint64_t room, struct ggs_speed * speed);
    // Receives the outcome of each use of a run, for a recording. NULL: not recording.
    void (*record_uses)(const struct ggs_journal_streamed_use * uses, uint64_t count);
};

// Counters, for the report and for tests.
struct ggs_stream_counts {
    uint64_t runs, uses;                // streamed graph runs, ops with a replaced source
    uint64_t bytes_streamed;            // into the ring
    uint64_t bytes_kept;                // into kept weights, once
    uint64_t bytes_experts;             // into slots, after they were chosen
    uint64_t bytes_predicted;           // into slots, before they were chosen
    uint64_t bytes_filled;              // into slots, while the disk was idle
    uint64_t hits, misses;              // chosen experts that were in memory, or not
    uint64_t predicted, predicted_used; // experts read early, and those of them that were then chosen
    uint64_t waits, wait_ns, run_ns;    // waits of ops for the disk; duration of all runs
    uint64_t tokens, tokens_ns;         // evaluated one at a time
    uint64_t batch_tokens, batch_ns;    // evaluated several at a time: prompts, parallel requests
    uint64_t mapped;                    // uses that were left to the mapping
    uint64_t bytes_given;               // given back while graphs ran
    uint64_t looks;                     // checks of memory while the model fits
    uint64_t failed;                    // reads that failed
    uint64_t verified;                  // bytes compared with the file
};

// The current division of memory.
struct ggs_stream_sizes {
    uint64_t model; // all files
    uint64_t dense, experts, kept, slots, streamed, mapped, ring, spare, limit, engine;
    bool     too_little; // memory is too small for streaming
};

// Returns NULL if there is no memory or no thread.
struct ggs_stream * ggs_stream_create(const struct ggs_stream_settings * settings,
                                      const struct ggs_stream_world *    world);

// No graph may run. Waits for reads in flight.
void ggs_stream_destroy(struct ggs_stream * stream);

enum ggs_stream_state ggs_stream_now(const struct ggs_stream * stream);

// Reads the results. Does not block, so it is safe while the process ends.
struct ggs_stream_facts {
    struct ggs_stream_counts counts;
    struct ggs_stream_sizes  sizes;
    struct ggs_speed         speed; // of the disk; zeros if unknown
};
struct ggs_stream_facts ggs_stream_facts(struct ggs_stream * stream);

// Writes the results as one sentence for the user. False: nothing was streamed. Does not block.
bool ggs_stream_sum_up(struct ggs_stream * stream, char * text, size_t size);

// Called when the process ends: saves data for the next run. Does not block.
void ggs_stream_remember(struct ggs_stream * stream);

// Sets the engine whose graphs will be streamed; call it before the first graph. The engine's
// functions outlive the stream.
void ggs_stream_set_engine(struct ggs_stream * stream, const struct abi_functions * engine);

// Stops streaming for good and reports the reason once. Weights then come from the mapping.
__attribute__((format(printf, 2, 3))) void ggs_stream_give_up(struct ggs_stream * stream, const char * format, ...);

// ---- model files ----

bool ggs_stream_is_model(int fd); // true if the file begins like a GGUF

// Reports that a model file was mapped. Returns false if it is not followed.
bool ggs_stream_map(struct ggs_stream * stream, int fd, const void * address, size_t length, uint64_t offset);

// Reports that a range will be unmapped: waits until no graph uses it. Cheap for other ranges.
void ggs_stream_unmap(struct ggs_stream * stream, const void * address, size_t length);

// True if any part of the range belongs to a model.
bool ggs_stream_touches(struct ggs_stream * stream, const void * address, size_t length);

// For a signal handler. may_touch: true if the address may belong to a model. cut_reported: true if
// a truncated model file has been reported; the call counts as the report.
bool ggs_stream_may_touch(struct ggs_stream * stream, const void * address);
bool ggs_stream_cut_reported(struct ggs_stream * stream);

// True if the open model files fit beside the process's memory, with `more` 64ths added per byte.
bool ggs_stream_fits_early(struct ggs_stream * stream, uint32_t more);

// Reports that the engine copies these bytes into a buffer of its own, or to a device.
void ggs_stream_copied(struct ggs_stream * stream, const void * from, uint64_t bytes);

// Reports that a request of the program to read its model was suppressed because the model does not
// fit. If it turns out to fit, the read is made up for.
void ggs_stream_leave_out(struct ggs_stream * stream);

// ---- the engine's buffers ----

void ggs_stream_buffer(struct ggs_stream * stream, const void * buffer, const void * address, uint64_t bytes);
void ggs_stream_buffer_gone(struct ggs_stream * stream, const void * buffer);

// ---- graph runs ----

// Begins a run on this thread. True if it is streamed: ggs_stream_leave must follow on the same
// thread.
bool ggs_stream_enter(struct ggs_stream * stream, const struct abi_graph * graph);
void ggs_stream_leave(struct ggs_stream * stream);

// Called by each thread of a run for each node before computing it. Returns when the op's sources
// are available.
void ggs_stream_exchange(struct ggs_stream * stream, struct abi_tensor * node);

static inline void ggs_stream_op(struct ggs_stream * stream, struct abi_tensor * node) {
    const bool * running = (const bool *) stream; // its first member
    if (__builtin_expect(running != NULL && __atomic_load_n(running, __ATOMIC_ACQUIRE), 0))
        ggs_stream_exchange(stream, node);
}

// ---- forks ----

// Call these around a fork, on the forking thread. A child of a program that has not computed may
// use the stream, like a program that loads a model itself. Of one that has, it lacks the stream's
// threads and memory: its sources are restored, false is returned, and it must not use the stream.
void ggs_stream_before_fork(struct ggs_stream * stream);
void ggs_stream_after_fork(struct ggs_stream * stream);
bool ggs_stream_in_child(struct ggs_stream * stream);
