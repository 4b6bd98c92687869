// Over time: bytes that ops read from mapped files, page faults, what the disk was asked for, and
// what was moved to and from devices.
//
// A wide window takes each graph run as a whole, its bytes spread evenly over its time; in a narrow
// one every op counts by itself.
#pragma once

#include <stdint.h>

#include "analyze/lanes/timeline.h"
#include "analyze/machine/block-requests.h"
#include "analyze/machine/faults.h"

// One value per pixel of the window. NULL: not recorded, or of transfers: there is only the CPU.
struct ggs_curves {
    struct ggs_timeline_window window;
    double *                   bytes_disk;
    struct ggs_fault_bin *     faults;
    struct ggs_request_bin *   requests;
    double *                   disk_wait_ns;
    double *                   bytes_to_devices;
    double *                   bytes_from_devices;
};

struct ggs_curves_source {
    struct ggs_trace *          trace; // the caller's own (ggs_trace_borrow)
    const struct ggs_overview * overview;
    // What ggs_curves_run_bytes found for the trace, which takes long and is the same for all
    // windows. Called only if it is needed.
    int (*run_bytes)(void * context, const uint64_t ** out, struct ggs_error * error);
    void * context;
};

// By place in overview->run: bytes of mapped files that the run's ops read. The caller frees it.
int ggs_curves_run_bytes(uint64_t ** out, struct ggs_trace * trace, const struct ggs_overview * overview,
                         struct ggs_error * error);

int  ggs_curves_compute(struct ggs_curves * curves, const struct ggs_curves_source * source,
                        struct ggs_timeline_window window, struct ggs_error * error);
void ggs_curves_release(struct ggs_curves * curves);
