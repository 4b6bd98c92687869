// How far apart the clocks of two machines are, from what must have happened before what.
//
// A server cannot begin to compute a graph before its client begins to send it, and a client cannot
// have the results before the server has computed them. Each graph run that both have recorded so
// bounds the difference of their clocks, from below and from above; between the two lies its time
// on the wire. All of them together leave little room:
//
//     client   |begin =====================================> end|
//     server           |begin ======================> end|
//              <------>                                   <---->    the difference lies where both stay positive, for all runs
//
// Clocks of two machines also go at different speeds. The difference is taken as a straight line;
// of all lines that no run contradicts the one in the middle is chosen, and the error is how far
// the outermost ones are from it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_DRIFT_MOST_PPB = 200000 }; // 0.2 ms per second: more than any clock that is worth the name

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
    int64_t error_ns; // -1: not known
};

int64_t ggs_clock_line_map(const struct ggs_clock_line * line, int64_t ns);
// Composition: applies `first`, then `then`. Errors add up.
struct ggs_clock_line ggs_clock_line_after(const struct ggs_clock_line * first, const struct ggs_clock_line * then);
// The inverse line.
struct ggs_clock_line ggs_clock_line_inverse(const struct ggs_clock_line * line);

// The line for times from begin_ns to end_ns on the server's clock. False if no line fits: a clock
// was set meanwhile, or these are not the same runs.
bool ggs_clocks_fit(const struct ggs_clock_bound * bounds, uint64_t n, int64_t begin_ns, int64_t end_ns,
                    struct ggs_clock_line * line);
