// Curves over time: bytes that ops read from mapped files, page faults, block requests, and
// transfers to and from devices.
//
// In a wide window the bytes of each graph run are spread evenly over its time; in a narrow one
// every op counts separately.
#pragma once

#include <stdint.h>

#include "analyze/lanes/timeline.h"
#include "analyze/machine/block-requests.h"
#include "analyze/machine/faults.h"

// One value per pixel of the window. NULL: not recorded; of transfers: there is only the CPU.
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
    // Returns the result of ggs_curves_run_bytes, which is slow and the same for all windows.
    // Called only if needed.
    int (*run_bytes)(void * context, const uint64_t ** out, struct ggs_error * error);
    void * context;
};

// By index in overview->run: bytes of mapped files that the run's ops read. The caller frees it.
int ggs_curves_run_bytes(uint64_t ** out, struct ggs_trace * trace, const struct ggs_overview * overview,
                         struct ggs_error * error);

int  ggs_curves_compute(struct ggs_curves * curves, const struct ggs_curves_source * source,
                        struct ggs_timeline_window window, struct ggs_error * error);
void ggs_curves_release(struct ggs_curves * curves);
