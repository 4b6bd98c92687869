// Amounts over time: bytes or nanoseconds that belong to an interval, shared out over bins.
#pragma once

#include <stddef.h>
#include <stdint.h>

// `n` bins of equal width over [begin_ns, end_ns); each is a double, `stride` bytes from the one
// before.
struct ggs_time_bins {
    int64_t  begin_ns, end_ns;
    uint64_t n;
    double * first;
    size_t   stride;
};

// Adds `amount`, which came evenly between two times. What lies outside of the bins is left out; a
// moment counts where it is.
void ggs_time_bins_add(const struct ggs_time_bins * bins, int64_t from_ns, int64_t to_ns, double amount);
