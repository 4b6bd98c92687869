// Recorded windows, between which recording was paused, and marked moments.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_windows {
    struct ggs_window * window; // windows and marks in order of time; an open one ends with the recording
    uint64_t            n;
    uint64_t            recorded, marks; // number of each
    uint64_t            recorded_ns;     // in windows
    uint64_t            whole_ns;        // from the program's start to the recording's end
};

// Empty if the recording was never paused.
int  ggs_windows_read(struct ggs_windows * windows, struct ggs_trace * trace, struct ggs_error * error);
void ggs_windows_release(struct ggs_windows * windows);
