// The state of the capture library: asleep until an engine is seen, then recording, or off for good.
//
// Nothing here may stop, slow or change the host. On any failure one line goes to stderr, tracing is off, and every call
// is forwarded.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/ggml-abi.h"

enum ggs_capture_state {
    GGS_CAPTURE_ASLEEP,    // no engine seen yet
    GGS_CAPTURE_RECORDING, // the spool is open
    GGS_CAPTURE_FULL,      // there was no more room: what comes is only counted
    GGS_CAPTURE_OFF,       // not wanted, failed, or another process records
};

extern int                  ggs_capture_state; // read relaxed; only ever moves down this list
extern struct abi_functions ggs_engine;        // of the engine, valid while recording

// Is this process recording? Called first in every hook that is not on the hot path; wakes the library up when an engine is
// seen for the first time. `caller`: the hook's return address, or any address inside the engine.
bool ggs_capture_wake(const void * caller);

static inline bool ggs_capture_recording(void) {
    return __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_RECORDING;
}

// Did recording end because there was no more room?
static inline bool ggs_capture_full(void) {
    return __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_FULL;
}

// Tells the engine's libraries again if some were loaded since: backends come after the program's first call.
void ggs_capture_tell_libraries(void);

// Stops tracing for good and says why, once.
__attribute__((format(printf, 1, 2))) void ggs_capture_give_up(const char * format, ...);

// One line to stderr, for what the user should know though recording goes on.
__attribute__((format(printf, 1, 2))) void ggs_capture_note(const char * format, ...);

// There is no more room (errno says why): recording ends, with one line on stderr; the program runs on.
void ggs_capture_stop_full(void);

// The folder that segments go to.
const char * ggs_capture_spool(void);
