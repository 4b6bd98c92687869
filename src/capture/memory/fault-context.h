// What the processor says of a memory access that raised a signal.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum ggs_access { GGS_ACCESS_UNKNOWN, GGS_ACCESS_READ, GGS_ACCESS_WRITE };

// `context` is the third argument of a signal handler.
static inline enum ggs_access ggs_fault_access(const void * context) {
    const ucontext_t * user = context;
#if defined(__x86_64__)
    return (user->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? GGS_ACCESS_WRITE
                                                       : GGS_ACCESS_READ; // bit 1 of the page fault's error code
#elif defined(__aarch64__)
    // The frame ends in records, each with its size; that of the exception syndrome may be missing (emulators leave it out).
    enum { DATA_ABORT = 0x24, WRITE = 1 << 6 }; // exception class; "write, not read"
    const char * at  = (const char *) user->uc_mcontext.__reserved;
    const char * end = at + sizeof(user->uc_mcontext.__reserved);
    while (at + sizeof(struct _aarch64_ctx) <= end) {
        const struct _aarch64_ctx * head = (const struct _aarch64_ctx *) at;
        if (head->magic == 0 || head->size < sizeof(*head)) break;
        if (head->magic == ESR_MAGIC) {
            uint64_t syndrome = ((const struct esr_context *) at)->esr;
            if ((syndrome >> 26 & 0x3f & ~1ull) != DATA_ABORT) return GGS_ACCESS_UNKNOWN;
            return (syndrome & WRITE) != 0 ? GGS_ACCESS_WRITE : GGS_ACCESS_READ;
        }
        at += head->size;
    }
    return GGS_ACCESS_UNKNOWN;
#else
    (void) user;
    return GGS_ACCESS_UNKNOWN;
#endif
}
