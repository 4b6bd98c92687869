// Amounts over time: distributes the bytes or nanoseconds of an interval over bins.
#pragma once

#include <stddef.h>
#include <stdint.h>

// `n` equal bins over [begin_ns, end_ns); each is a double, `stride` bytes apart.
struct ggs_time_bins {
    int64_t  begin_ns, end_ns;
    uint64_t n;
    double * first;
    size_t   stride;
};

// Adds `amount`, spread evenly between two times and clipped to the bins; an instant counts at its
// place.
void ggs_time_bins_add(const struct ggs_time_bins * bins, int64_t from_ns, int64_t to_ns, double amount);
