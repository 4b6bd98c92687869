// Arithmetic on times of a trace, which is untrusted: it never overflows.
#pragma once

#include <stdint.h>

#include "trace/reader.h"

static inline int64_t ggs_time_after(int64_t begin_ns, uint64_t duration_ns) {
    int64_t end;
    return duration_ns > INT64_MAX || __builtin_add_overflow(begin_ns, (int64_t) duration_ns, &end) ? INT64_MAX : end;
}

// 0 if the end is before the start.
static inline uint64_t ggs_time_between(int64_t begin_ns, int64_t end_ns) {
    return end_ns > begin_ns ? (uint64_t) end_ns - (uint64_t) begin_ns : 0;
}

// Waits of a thread inside an op, in barriers: not work.
static inline uint64_t ggs_op_run_inner(const struct ggs_op_run * row) {
    return row->inner_wait_ns < row->duration_ns ? row->inner_wait_ns : row->duration_ns;
}
static inline uint64_t ggs_op_run_busy(const struct ggs_op_run * row) {
    return row->duration_ns - ggs_op_run_inner(row);
}
static inline uint64_t ggs_op_run_wait(const struct ggs_op_run * row) {
    return row->wait_ns + ggs_op_run_inner(row);
}

// The bin of a time in [begin_ns, end_ns) divided into n; n if it is outside.
static inline uint64_t ggs_time_bin(int64_t begin_ns, int64_t end_ns, uint64_t n, int64_t ns) {
    if (ns < begin_ns || ns >= end_ns) return n;
    double   share = (double) ggs_time_between(begin_ns, ns) / (double) ggs_time_between(begin_ns, end_ns);
    uint64_t at    = (uint64_t) (share * (double) n);
    return at < n ? at : n - 1;
}
