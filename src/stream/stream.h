// The stream library's life and what its parts share.
//
// It stands in for the kernel's paging where a model is larger than the memory it may take: weights that are used next are
// read ahead of use into memory of its own, and an op sees them there instead of in the mapping. Nothing here may stop or
// change the host: what is not understood is left to the mapping, and on any failure one line goes to stderr.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/ggml-abi.h"
#include "stream/disk/disk.h"

enum ggs_stream_state {
    GGS_STREAM_OFF,     // not wanted, or given up: every call is forwarded
    GGS_STREAM_ASLEEP,  // no graph seen yet
    GGS_STREAM_PASSIVE, // the model fits: it is left alone
    GGS_STREAM_ON,
};

enum ggs_keep { GGS_KEEP_SPREAD, GGS_KEEP_FIRST, GGS_KEEP_NONE };

struct ggs_stream_settings {
    uint64_t      budget;  // bytes that the whole process may take, 0 for what the machine says
    enum ggs_keep keep;    // which weights of those that every token uses stay in memory
    int           predict; // experts to read early per layer: -1 as many as a token uses, 0 none
    bool          verify;  // every piece is compared with the file
    bool          quiet;
    char          reader[16]; // "uring", "threads", or "" for the best
};

// Counted by the thread that runs the graph; a report is written at the end of the process.
struct ggs_stream_counts {
    uint64_t runs, uses;                // graph runs that were streamed, ops whose source was exchanged
    uint64_t bytes_streamed;            // into the ring
    uint64_t bytes_kept;                // once, into what is kept
    uint64_t bytes_experts;             // into slots, because they were chosen
    uint64_t bytes_predicted;           // into slots, before they were chosen
    uint64_t hits, misses;              // experts that were there when they were chosen, or not
    uint64_t predicted, predicted_used; // experts read early, and those of them that were chosen then
    uint64_t waits, wait_ns;            // an op had to wait for the disk
    uint64_t mapped;                    // uses that were left to the mapping
    uint64_t bytes_given;               // back to who needs memory, while graphs ran
    uint64_t looks;                     // at memory, while the model fits
    uint64_t failed;                    // reads that failed
    uint64_t verified;                  // bytes compared with the file
};

extern int                        ggs_stream_state;
extern struct ggs_stream_settings ggs_stream_settings;
extern struct ggs_stream_counts   ggs_stream_counts;
extern struct abi_functions       ggs_engine;
extern struct ggs_disk            ggs_stream_disk; // zeros where it is not known

static inline int ggs_stream_now(void) {
    return __atomic_load_n(&ggs_stream_state, __ATOMIC_RELAXED);
}

// Wakes the library up when the engine computes for the first time: checks its layout. Returns whether it may go on; a model that fits now may not always.
bool ggs_stream_wake(const void * caller);

// Starts what reads, when something is to be streamed for the first time. False if there is none: then it has given up, and said so.
bool ggs_stream_start_reader(void);

__attribute__((format(printf, 1, 2))) void ggs_stream_say(const char * format, ...);

// Stops streaming for good and says why, once. Weights come from the mapping from here on.
__attribute__((format(printf, 1, 2))) void ggs_stream_give_up(const char * format, ...);

// A read failed: counts it, and gives up where that is because the file was changed.
void ggs_stream_note_failure(void);

uint64_t ggs_stream_clock(void); // nanoseconds
