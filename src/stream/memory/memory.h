// The core's interface to memory: limits, pressure, and pages to read into.
//
// memory/machine-memory.h asks the kernel; tests take memory away at will.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Any thread may call any function, except those of pressure, which one thread calls.
struct ggs_memory {
    // ---- limits ----
    uint64_t (*limit)(struct ggs_memory * memory); // total bytes for the process
    // Bytes left below the tightest limit, with all members of the group counted; UINT64_MAX
    // without a limit. Page cache counts as left, because it can be dropped.
    uint64_t (*left)(struct ggs_memory * memory);
    uint64_t (*held)(struct ggs_memory * memory);  // by the process, not droppable
    double (*stalled)(struct ggs_memory * memory); // percent of the last 10 s in which all tasks waited for memory

    // ---- pressure ----
    // Makes `wait` return early when less than `margin` is left, if the kernel reports it.
    void (*watch)(struct ggs_memory * memory, uint64_t margin);
    bool (*wait)(struct ggs_memory * memory, int ms); // true: the kernel reported pressure
    // Like `left`, including the machine's free memory. `notified`: `wait` will return in time, so
    // frequent checks are unnecessary.
    uint64_t (*left_now)(struct ggs_memory * memory, bool * notified);

    // ---- pages ----
    // Reserves addresses at a multiple of GGS_HUGE_PAGE, without memory. NULL if there are none.
    char * (*reserve)(struct ggs_memory * memory, size_t bytes);
    void (*release)(struct ggs_memory * memory, char * at, size_t bytes); // the whole reservation
    // Commits memory to a part of them, which has no pages until touched. Children of a fork do not
    // inherit it.
    bool (*commit)(struct ggs_memory * memory, char * at, size_t bytes, bool huge);
    // Drops the whole pages of a part, which can be touched again. Returns the bytes. Allocates
    // nothing.
    uint64_t (*let_go)(struct ggs_memory * memory, char * at, size_t bytes);
    // Moves committed pages to another reserved place, replacing its contents; `from` is empty
    // afterwards.
    bool (*move)(struct ggs_memory * memory, char * from, char * to, size_t bytes);
    uint64_t (*empty)(struct ggs_memory * memory); // bytes that were committed or dropped and have no pages
    uint64_t (*missing)(struct ggs_memory * memory, const char * at,
                        size_t bytes); // the bytes of this range without pages
};

enum { GGS_HUGE_PAGE = 2 << 20 };
