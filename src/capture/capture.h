// The state of the capture library: asleep until an engine is seen, then recording, then off.
//
// Nothing here may stop, slow or change the host. On any failure one line goes to stderr, tracing
// is off, and every call is forwarded. A preloaded library records once; an attached one records
// any number of times (attached.c).
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/ggml-abi.h"

enum ggs_capture_state {
    GGS_CAPTURE_ASLEEP,    // no engine seen yet
    GGS_CAPTURE_RECORDING, // the spool is open
    GGS_CAPTURE_FULL,      // there was no more room: what comes is only counted
    GGS_CAPTURE_OFF,       // not wanted, failed, over, or another process records
};

extern int ggs_capture_state; // read relaxed; moves down this list, and up again only when another recording begins

enum { GGS_CAPTURE_PATH = PATH_MAX - 64 };

struct ggs_capture_settings {
    char     output[GGS_CAPTURE_PATH]; // the experiment's directory, absolute; "" if it is out of sight
    char     spool[GGS_CAPTURE_PATH];  // where segments go
    bool     spool_is_set;             // made by ggscope
    bool     follow;                   // children are recorded too
    bool     prove, residency;
    bool     ring;
    uint64_t most_bytes;
    char     gpu_ops[32];     // "first:N", "all", "none" or ""
    bool     attached;        // the program ran before: what existed then is learned from what it uses
    char     model[PATH_MAX]; // a model file that it is known to use; "" for none
};

extern struct ggs_capture_settings ggs_capture; // of the recording; set before it begins

// A recording begins, as ggs_capture says, when an engine is seen.
void ggs_capture_begin(void);
// The recording ends while the program runs on. Waits for the graph runs that are under way, and
// closes the window meanwhile. Afterwards nothing of it is left in memory. `restore` is called when
// nothing is recorded any more, and before memory goes.
void ggs_capture_end(void (*restore)(void));

// True if this process records. Every hook that is not on the hot path calls it first; it starts
// the recording when an engine is seen for the first time. `caller`: the hook's return address, or
// any address inside the engine.
bool ggs_capture_wake(const void * caller);

static inline bool ggs_capture_recording(void) {
    return __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_RECORDING;
}

// True if recording has ended because there was no more room.
static inline bool ggs_capture_full(void) {
    return __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_FULL;
}

// Counts a graph that is computed and not recorded, if this is a forked child that is not followed.
void ggs_capture_count_unrecorded(void);

// True if the path is one of the recording's own files.
bool ggs_capture_is_own_file(const char * path);

// True if this process records in a folder of its own inside the experiment.
bool ggs_capture_has_own_spool(void);

// True while the ggscope that asked for the recording lives.
bool ggs_capture_is_watched(void);

// Writes the engine's libraries to the journal again if some were loaded since: backends come after
// the program's first call.
void ggs_capture_emit_libraries(void);

// Stops recording, with one line on stderr.
__attribute__((format(printf, 1, 2))) void ggs_capture_disable(const char * format, ...);
// That line; "" if there was none.
const char * ggs_capture_problem(void);

// One line on stderr; recording goes on.
__attribute__((format(printf, 1, 2))) void ggs_capture_warn(const char * format, ...);

// There is no more room (errno says why): recording ends, with one line on stderr; the program runs
// on.
void ggs_capture_stop_full(void);
