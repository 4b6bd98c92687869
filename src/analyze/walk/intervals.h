// A set of bytes: disjoint intervals, ascending. A zeroed struct is the empty set.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_interval {
    uint64_t begin, end;
};

struct ggs_intervals {
    struct ggs_interval * data;
    uint64_t              n, capacity;
};

void ggs_intervals_release(struct ggs_intervals * set);
bool ggs_intervals_add(struct ggs_intervals * set, uint64_t begin, uint64_t end); // false: out of memory
// Adds many ascending, disjoint intervals, each shifted by `base`, in time linear in their number
// and the size of the set.
struct ggs_range;
bool ggs_intervals_add_ranges(struct ggs_intervals * set, uint64_t base, const struct ggs_range * ranges, uint64_t n);
uint64_t ggs_intervals_bytes(const struct ggs_intervals * set);
uint64_t ggs_intervals_inside(const struct ggs_intervals * set, uint64_t begin, uint64_t end); // bytes between the two

// Returns the sizes of a recording's GGUF files, and the bytes of them in the sets (by file - 1).
struct ggs_trace;
void ggs_intervals_of_models(const struct ggs_intervals * sets, const struct ggs_trace * trace, uint64_t * touched,
                             uint64_t * bytes);
// Bytes of those files in `sets` but not in `others`.
uint64_t ggs_intervals_besides(const struct ggs_intervals * sets, const struct ggs_intervals * others,
                               const struct ggs_trace * trace);
