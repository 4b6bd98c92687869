// Memory: how much of it may be had, when it becomes short, and pages to read into. What the core
// asks of the machine.
//
// memory/kernel.h asks the kernel; tests take memory away as they like.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Every function may be called by any thread, but for those of pressure, which one thread calls.
struct ggs_memory {
    // ---- how much may be had ----
    uint64_t (*limit)(struct ggs_memory * memory); // bytes that the process may take in all
    // Bytes left below the tightest limit, whoever else is in the group; UINT64_MAX without a
    // limit. What the page cache holds counts as left: it can be dropped.
    uint64_t (*left)(struct ggs_memory * memory);
    uint64_t (*held)(struct ggs_memory * memory);  // by the process, and not to be dropped
    double (*stalled)(struct ggs_memory * memory); // percent of the last 10 s in which everybody waited for memory

    // ---- pressure ----
    // From here on `wait` returns early when less than `margin` is left, where the kernel tells.
    void (*watch)(struct ggs_memory * memory, uint64_t margin);
    bool (*wait)(struct ggs_memory * memory, int ms); // true: the kernel told of pressure
    // As `left`, and what the machine has left. `told`: `wait` will return in time, nobody has to
    // look often.
    uint64_t (*left_now)(struct ggs_memory * memory, bool * told);

    // ---- pages ---- Addresses that begin at a multiple of GGS_HUGE_PAGE, without memory behind
    // them. NULL if there are none.
    char * (*reserve)(struct ggs_memory * memory, size_t bytes);
    void (*release)(struct ggs_memory * memory, char * at, size_t bytes); // all of what was reserved
    // Gives a part of them memory, which has no pages until it is touched. Children of a fork do
    // not get it.
    bool (*commit)(struct ggs_memory * memory, char * at, size_t bytes, bool huge);
    // Lets the whole pages of a part go; it can be touched again. Returns the bytes. Allocates
    // nothing.
    uint64_t (*let_go)(struct ggs_memory * memory, char * at, size_t bytes);
    // Moves pages that were committed to another reserved place; what was there is gone, and `from`
    // is empty.
    bool (*move)(struct ggs_memory * memory, char * from, char * to, size_t bytes);
    uint64_t (*empty)(struct ggs_memory * memory); // bytes that were committed, or let go, and have no pages
    uint64_t (*missing)(struct ggs_memory * memory, const char * at, size_t bytes); // of these, those without pages
};

enum { GGS_HUGE_PAGE = 2 << 20 };
