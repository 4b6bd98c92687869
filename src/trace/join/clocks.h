// The difference of two machines' clocks, from the order in which events must have happened.
//
// A server cannot begin to compute a graph before its client begins to send it, and a client cannot
// have the results before the server has computed them. So each graph run that both have recorded
// bounds the difference of their clocks from both sides; the width is its time on the wire. All
// runs together leave little room:
//
//     client   |begin =====================================> end|
//     server           |begin ======================> end|
//              <------>                                   <---->    both positive, for all runs
//
// Clocks also run at different rates, so the difference is a straight line. Of all lines that no
// run contradicts the middle one is chosen; the error is its distance to the outermost ones.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_DRIFT_MOST_PPB = 200000 }; // 0.2 ms per second, beyond any usable clock

// At `at_ns` on the server's clock, the client's clock minus the server's is within these.
struct ggs_clock_bound {
    int64_t at_ns;
    int64_t least_ns, most_ns;
};

// common = t + offset_ns + drift_ppb * (t - origin_ns) / 10^9
struct ggs_clock_line {
    int64_t origin_ns;
    int64_t offset_ns;
    int64_t drift_ppb;
    int64_t error_ns; // -1 if unknown
};

int64_t ggs_clock_line_map(const struct ggs_clock_line * line, int64_t ns);
// Composition: applies `first`, and `then` to its result. Errors add up.
struct ggs_clock_line ggs_clock_line_after(const struct ggs_clock_line * first, const struct ggs_clock_line * then);
// The inverse line.
struct ggs_clock_line ggs_clock_line_inverse(const struct ggs_clock_line * line);

// Finds the line for times from begin_ns to end_ns on the server's clock. Returns false if no line
// fits: a clock was set meanwhile, or the runs are not the same.
bool ggs_clocks_fit(const struct ggs_clock_bound * bounds, uint64_t n, int64_t begin_ns, int64_t end_ns,
                    struct ggs_clock_line * line);
