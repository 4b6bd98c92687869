// The calling thread.
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/sandbox.h"

// The operating system's thread number, queried once per thread; 0 if a sandbox forbids it.
static inline uint32_t ggs_thread_id(void) {
    static _Thread_local uint32_t id;
    if (id == 0 && !ggs_sandboxed()) id = (uint32_t) syscall(SYS_gettid);
    return id;
}
