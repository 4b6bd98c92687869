// When a recording was made: windows between which it was paused, and moments that were marked.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_windows {
    struct ggs_window *
             window; // and marks, in order of time; the end of one that was open to the end is that of the recording
    uint64_t n;
    uint64_t recorded, marks; // how many of each
    uint64_t recorded_ns;     // in windows
    uint64_t whole_ns;        // from the begin of the program to the end of the recording
};

// Nothing in it if the recording was never paused.
int  ggs_windows_read(struct ggs_windows * windows, struct ggs_trace * trace, struct ggs_error * error);
void ggs_windows_release(struct ggs_windows * windows);
