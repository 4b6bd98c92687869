// What the processor reports about a memory access that raised a signal.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum ggs_fault_access { GGS_ACCESS_UNKNOWN, GGS_ACCESS_READ, GGS_ACCESS_WRITE };

// AArch64: a signal frame ends with records, each with a magic number and its size, up to one of
// magic 0. The record of the exception syndrome (ESR_MAGIC) may be missing: emulators
// omit it. (Compiled everywhere, so that it is tested everywhere.)
static inline enum ggs_fault_access ggs_fault_access_aarch64(const void * records, size_t size) {
    enum { SYNDROME = 0x45535201, DATA_ABORT = 0x24, WRITE = 1 << 6, MAINTENANCE = 1 << 8 };
    struct {
        uint32_t magic, size;
    } head;
    const char * at = records;
    for (size_t left = size; left >= sizeof(head); at += head.size, left -= head.size) {
        memcpy(&head, at, sizeof(head));
        if (head.magic == 0 || head.size < sizeof(head) || head.size > left) break;
        if (head.magic != SYNDROME) continue;
        uint64_t syndrome;
        if (head.size < sizeof(head) + sizeof(syndrome)) break;
        memcpy(&syndrome, at + sizeof(head), sizeof(syndrome));
        // The exception class, from this level (0x25) or the one below.
        if ((syndrome >> 26 & 0x3e) != DATA_ABORT) return GGS_ACCESS_UNKNOWN;
        // Cache maintenance is reported as a write and changes nothing.
        return (syndrome & (WRITE | MAINTENANCE)) == WRITE ? GGS_ACCESS_WRITE : GGS_ACCESS_READ;
    }
    return GGS_ACCESS_UNKNOWN;
}

// `context` is the third argument of a signal handler.
static inline enum ggs_fault_access ggs_fault_access(const void * context) {
    const ucontext_t * user = context;
#if defined(__x86_64__)
    // Bit 1 of a page fault's error code is set for a write.
    return (user->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? GGS_ACCESS_WRITE : GGS_ACCESS_READ;
#elif defined(__aarch64__)
    return ggs_fault_access_aarch64(user->uc_mcontext.__reserved, sizeof(user->uc_mcontext.__reserved));
#else
    (void) user;
    return GGS_ACCESS_UNKNOWN;
#endif
}

// An access that faults again on a page that was opened for it is one that the page does not allow:
// a write that the processor does not report as such, or a jump. Each thread keeps the last page
// that was opened for it. `generation` changes whenever pages are closed, and is odd meanwhile.
struct ggs_fault_last {
    uintptr_t page;
    uint64_t  generation;
};

// True if it is the same page again and no pages were closed meanwhile. Otherwise keeps the page.
static inline bool ggs_fault_repeated(struct ggs_fault_last * last, uintptr_t page, uint64_t generation) {
    if (last->page == page && last->generation == generation && generation % 2 == 0) return true;
    *last = (struct ggs_fault_last){page, generation};
    return false;
}
