// Streams the weights of a model that is larger than the memory it may take: those that are used
// next are read ahead of use into memory of the stream's, and an op sees them there instead of in
// the mapping.
//
// The library's hooks call these functions; disk, memory, clock and threads are handed in, so that
// tests have their own. Nothing here may stop or change the host: what is not understood is left to
// the mapping, and on any failure one line is said.
//
// Who may call what: every function may be called by any thread, at any time between create and
// destroy. Of graphs that run at the same time one is streamed. Locks, in the order in which they
// are taken: the stream's (core.h), then that of the model files, of the engine's buffers, of the
// memory or of the disk. No lock is held while a read is waited for.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/ggml-abi.h"
#include "stream/disk/disk.h"
#include "stream/disk/speed.h"
#include "stream/memory/memory.h"

struct ggs_stream;
struct ggs_journal_streamed_use;

enum ggs_stream_state {
    GGS_STREAM_OFF,     // given up: every call is forwarded
    GGS_STREAM_ASLEEP,  // no graph seen yet
    GGS_STREAM_PASSIVE, // the model fits, or memory is too little: it is left alone
    GGS_STREAM_ON,
};

enum ggs_keep { GGS_KEEP_SPREAD, GGS_KEEP_FIRST, GGS_KEEP_NONE };

struct ggs_stream_settings {
    uint64_t      budget;  // bytes that the whole process may take, 0 for what the machine says
    uint64_t      reserve; // of them, for what nobody counts; 0: ggs_stream_reserve
    enum ggs_keep keep;    // which weights of those that every token uses stay in memory
    int           predict; // experts to read early per layer: -1 as many as a token uses, 0 none
    bool          verify;  // every piece is compared with the file
    bool          quiet;
    bool          verbose; // a line every 10 s
    bool          history; // what experts were chosen is kept from run to run
};

// What a stream stands on. All of it outlives the stream.
struct ggs_stream_world {
    struct ggs_disk *   disk;
    struct ggs_memory * memory;
    uint64_t (*clock)(void); // nanoseconds
    bool (*start_thread)(pthread_t * thread, void * (*work)(void *), void * argument);
    void (*say)(const char * line);
    // Speed of the disk of an open file of `size` bytes; false if it is not known. Nothing is being
    // read. NULL: never.
    bool (*measure)(struct ggs_stream_world * world, int fd, uint64_t size, struct ggs_speed * speed);
    // Told what became of each use of a run, for a recording. NULL: nobody records.
    void (*note)(const struct ggs_journal_streamed_use * uses, uint64_t count);
};

// What was done, for the report and for tests.
struct ggs_stream_counts {
    uint64_t runs, uses;                // graph runs that were streamed, ops whose source was exchanged
    uint64_t bytes_streamed;            // into the ring
    uint64_t bytes_kept;                // once, into what is kept
    uint64_t bytes_experts;             // into slots, because they were chosen
    uint64_t bytes_predicted;           // into slots, before they were chosen
    uint64_t bytes_filled;              // into slots, while the disk had nothing else to do
    uint64_t hits, misses;              // experts that were there when they were chosen, or not
    uint64_t predicted, predicted_used; // experts read early, and those of them that were chosen then
    uint64_t waits, wait_ns, run_ns;    // an op had to wait for the disk; all runs together
    uint64_t tokens, tokens_ns;         // evaluated one by one
    uint64_t batch_tokens, batch_ns;    // evaluated several at a time: prompts, parallel requests
    uint64_t mapped;                    // uses that were left to the mapping
    uint64_t bytes_given;               // back to who needs memory, while graphs ran
    uint64_t looks;                     // at memory, while the model fits
    uint64_t failed;                    // reads that failed
    uint64_t verified;                  // bytes compared with the file
};

// How memory is divided, by the newest decision.
struct ggs_stream_sizes {
    uint64_t model; // all files
    uint64_t dense, experts, kept, slots, streamed, mapped, ring, spare, limit, engine;
    bool     too_little; // memory to stream in
};

// NULL if there is no memory or no thread.
struct ggs_stream * ggs_stream_create(const struct ggs_stream_settings * settings,
                                      const struct ggs_stream_world *    world);

// No graph may run. Waits for reads that are under way.
void ggs_stream_destroy(struct ggs_stream * stream);

enum ggs_stream_state ggs_stream_now(const struct ggs_stream * stream);

// What it has come to. Also when the process ends in the middle of something: waits for nobody.
struct ggs_stream_facts {
    struct ggs_stream_counts counts;
    struct ggs_stream_sizes  sizes;
    struct ggs_speed         speed; // of the disk; zeros where it is not known
};
struct ggs_stream_facts ggs_stream_facts(struct ggs_stream * stream);

// What it came to, in one sentence for the user. False: nothing was streamed. When the process
// ends, as above.
bool ggs_stream_sum_up(struct ggs_stream * stream, char * text, size_t size);

// The process ends: keeps what the next run wants to know. Waits for nobody.
void ggs_stream_remember(struct ggs_stream * stream);

// The engine whose graphs will be streamed; before the first of them. Its functions outlive the
// stream.
void ggs_stream_set_engine(struct ggs_stream * stream, const struct abi_functions * engine);

// Stops streaming for good and says why, once. Weights come from the mapping from then on.
__attribute__((format(printf, 2, 3))) void ggs_stream_give_up(struct ggs_stream * stream, const char * format, ...);

// ---- model files ----

bool ggs_stream_is_model(int fd); // does the file begin as a GGUF does?

// A model file was mapped. Returns false if it is not followed.
bool ggs_stream_map(struct ggs_stream * stream, int fd, const void * address, size_t length, uint64_t offset);

// A range is about to be unmapped: waits until no graph runs that uses it. Cheap where it is no
// model's.
void ggs_stream_unmap(struct ggs_stream * stream, const void * address, size_t length);

// Is any part of the range a model's?
bool ggs_stream_touches(struct ggs_stream * stream, const void * address, size_t length);

// In a signal handler: may the address be a model's, and has it been said that a model file was
// cut? From then on it has.
bool ggs_stream_may_touch(struct ggs_stream * stream, const void * address);
bool ggs_stream_cut_reported(struct ggs_stream * stream);

// Would the model files that are open now fit beside what the process holds, if each of their bytes
// took `more` 64ths more?
bool ggs_stream_fits_early(struct ggs_stream * stream, uint32_t more);

// The engine copies these bytes into a buffer of its own, or to a device.
void ggs_stream_copied(struct ggs_stream * stream, const void * from, uint64_t bytes);

// The program asked the kernel to read its model, and was not heard because the model does not fit.
// If it turns out to fit, that is made up for.
void ggs_stream_leave_out(struct ggs_stream * stream);

// ---- the engine's buffers ----

void ggs_stream_buffer(struct ggs_stream * stream, const void * buffer, const void * address, uint64_t bytes);
void ggs_stream_buffer_gone(struct ggs_stream * stream, const void * buffer);

// ---- graph runs ----

// A run begins on this thread. Returns whether it is streamed; then ggs_stream_leave must follow,
// on the same thread.
bool ggs_stream_enter(struct ggs_stream * stream, const struct abi_graph * graph);
void ggs_stream_leave(struct ggs_stream * stream);

// A thread of a run is about to compute `node`; called by each of its threads, for each node.
// Returns when the op's sources are there.
void ggs_stream_exchange(struct ggs_stream * stream, struct abi_tensor * node);

static inline void ggs_stream_op(struct ggs_stream * stream, struct abi_tensor * node) {
    const bool * running = (const bool *) stream; // its first member
    if (__builtin_expect(running != NULL && __atomic_load_n(running, __ATOMIC_ACQUIRE), 0))
        ggs_stream_exchange(stream, node);
}

// ---- forks ----

// Around a fork, on the thread that forks. In the child sources are put back, and nothing is
// streamed.
void ggs_stream_before_fork(struct ggs_stream * stream);
void ggs_stream_after_fork(struct ggs_stream * stream);
void ggs_stream_in_child(struct ggs_stream * stream);
