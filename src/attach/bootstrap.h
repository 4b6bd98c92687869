// Starts a thread in the process that calls `ggscope_attach` of the capture library there.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "attach/stub.h"

struct ggs_c_library;
struct ggs_error;
struct ggs_tracee;

struct ggs_bootstrap {
    const char *    path;  // of the library, as seen by the process; unused with `image` or `entry`
    const uint8_t * image; // contents of the library; NULL: the process can open the file
    size_t          image_size;
    uint64_t        entry;    // address of ggscope_attach if the library is already loaded, else 0
    uint64_t        block_at; // address of its ggscope_attach_block, else 0
    const char *    request;  // for ggscope_attach
    // results
    uint64_t stub;     // address of struct ggs_stub in the process, until acknowledged
    uint64_t stood_ns; // time for which a thread of the program was stopped
};

// Fails on machines that attaching is not made for.
int ggs_bootstrap_check(struct ggs_error * error);
// Starts the thread. On return nothing of the process is traced or stopped. If it fails, or if
// ggscope is killed meanwhile, the process is unchanged.
int ggs_bootstrap_start(struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee,
                        const struct ggs_c_library * library, struct ggs_error * error);
// Waits for ggscope_attach and reads its result.
int ggs_bootstrap_finish(const struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee, uint64_t patience_ns,
                         int * result, struct ggs_error * error);
