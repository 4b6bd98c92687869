// Brings a thread of ours into the process, which calls `ggscope_attach` of the capture library there.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "attach/stub.h"

struct ggs_c_library;
struct ggs_error;
struct ggs_tracee;

struct ggs_bootstrap {
    const char *    path;  // of the library, as the process sees it; unused if `image` or `entry` is there
    const uint8_t * image; // the library itself, NULL: the process sees the file
    size_t          image_size;
    uint64_t        entry;   // address of ggscope_attach if the process has the library already, else 0
    const char *    request; // for ggscope_attach
    // results
    uint64_t stub;     // address of struct ggs_stub in the process, until it is acknowledged
    uint64_t stood_ns; // how long a thread of the program stood
};

// Starts it: when this returns nothing of the process is traced or stopped. If it fails, or ggscope is killed meanwhile,
// the process is as it was.
int ggs_bootstrap_start(struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee,
                        const struct ggs_c_library * library, struct ggs_error * error);
// Waits for ggscope_attach to return, and gets what it returned.
int ggs_bootstrap_finish(const struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee, uint64_t patience_ns,
                         int * result, struct ggs_error * error);
