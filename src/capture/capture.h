// The state of the capture library: asleep until an engine is found, recording, and off.
//
// Nothing here may stop, slow or change the host. On any failure one line goes to stderr, recording
// is off, and every call is forwarded. A preloaded library records once; an attached one any number
// of times (attached.c).
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/ggml-abi.h"

enum ggs_capture_state {
    GGS_CAPTURE_ASLEEP,    // no engine found
    GGS_CAPTURE_RECORDING, // the spool is open
    GGS_CAPTURE_FULL,      // no room: further records are only counted
    GGS_CAPTURE_OFF,       // not wanted, failed, ended, or another process records
};

extern int ggs_capture_state; // read relaxed; moves up this list only for another recording

enum { GGS_CAPTURE_PATH = PATH_MAX - 64 };

struct ggs_capture_settings {
    char     output[GGS_CAPTURE_PATH]; // the experiment's directory, absolute; "" if out of reach
    char     spool[GGS_CAPTURE_PATH];  // where segments go
    bool     spool_is_set;             // made by ggscope
    bool     follow;                   // children are recorded too
    bool     prove, residency;
    bool     ring;
    uint64_t most_bytes;
    char     gpu_ops[32];     // "first:N", "all", "none" or ""
    bool     attached;        // existing objects are learned when they are used
    char     model[PATH_MAX]; // a model file that it uses; "" if unknown
};

extern struct ggs_capture_settings ggs_capture; // of the recording; set before it begins

// Registers what forked children do first. False if that was done before, or is impossible.
bool ggs_capture_watch_forks(void);

// Begins a recording with the settings of ggs_capture once an engine is found.
void ggs_capture_begin(void);
// Ends the recording while the program runs on. Closes the window, waits for graph runs in
// progress, calls `restore`, and frees all memory of the recording.
void ggs_capture_end(void (*restore)(void));

// True if this process records. Every hook outside of the hot path calls it first; it starts the
// recording when it first finds an engine. `caller`: the hook's return address, or any address
// inside the engine.
bool ggs_capture_wake(const void * caller);

static inline bool ggs_capture_recording(void) {
    return __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_RECORDING;
}

// True if recording has ended for lack of room.
static inline bool ggs_capture_full(void) {
    return __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_FULL;
}

// Counts a graph that a forked child computes without being followed.
void ggs_capture_count_unrecorded(void);

// True if the path is one of the recording's own files.
bool ggs_capture_is_own_file(const char * path);

// True if this process records in a folder of its own inside the experiment.
bool ggs_capture_has_own_spool(void);

// True while the ggscope that asked for the recording lives.
bool ggs_capture_is_watched(void);

// Writes the engine's libraries to the journal again if more were loaded: backends are loaded after
// the program's first call.
void ggs_capture_emit_libraries(void);

// Stops recording and prints one line on stderr.
__attribute__((format(printf, 1, 2))) void ggs_capture_disable(const char * format, ...);
// The line of ggs_capture_disable; "" if there was none.
const char * ggs_capture_problem(void);

// Prints one line on stderr; recording goes on.
__attribute__((format(printf, 1, 2))) void ggs_capture_warn(const char * format, ...);

// Ends recording for lack of room (errno says why) and prints one line on stderr. The program runs
// on.
void ggs_capture_stop_full(void);
