// The ops that an analysis is limited to. As trace->filter it limits every walk over ops (walk.h,
// byte-uses.h), and page faults and block requests; sums, heat, curves and logs follow.
//
// A struct ggs_sieve is a filter prepared for one trace: names are matched once.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/access.h"
#include "analyze/walk/trace.h"

enum { GGS_ANY_LAYER = -2 }; // -1 means: no layer
#define GGS_ANY_SLOT INT64_MIN

struct ggs_op_filter {
    int          layer;  // GGS_ANY_LAYER, or one layer; -1: ops without a layer
    const char * op;     // ggml's name, case-insensitive, NULL for any
    const char * tensor; // fnmatch pattern for the result or an operand, NULL for any
    int64_t      thread; // ops on this thread, with its times; -1 for any
    int64_t      slot;   // only runs of this slot; with `thread` a lane; GGS_ANY_SLOT for any
    // One operand must match all of these.
    enum ggs_memory_source source;                 // GGS_SOURCE_NONE for any
    uint64_t               range_begin, range_end; // bytes of a model file, mapped or copied at load; 0, 0 for any
    uint64_t               range_file;             // only in this file; 0 for any
    uint64_t               buffer;                 // 0 for any
    int64_t                expert;                 // ops that use this expert; -1 for any
    int64_t                since_ns, until_ns;     // ops that touch [since, until)
};

#define GGS_OP_FILTER_ALL                                                                                \
    {                                                                                                    \
        .layer = GGS_ANY_LAYER, .thread = -1, .slot = GGS_ANY_SLOT, .expert = -1, .since_ns = INT64_MIN, \
        .until_ns = INT64_MAX                                                                            \
    }

bool ggs_op_filter_is_all(const struct ggs_op_filter * filter); // true for NULL
// True if it needs more than the node: runs of a graph may then differ.
bool ggs_op_filter_is_of_runs(const struct ggs_op_filter * filter);
// True if it needs the place of bytes.
bool ggs_op_filter_asks_bytes(const struct ggs_op_filter * filter);
// GGS_ABSENT with a sentence if the recording lacks the requested layer, op, buffer or thread.
int ggs_op_filter_check(const struct ggs_op_filter * filter, struct ggs_trace * trace, struct ggs_error * error);

// Checks a node only: layer, op, names. trace->filter may be NULL.
bool ggs_op_filter_fits_node(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);

struct ggs_sieve {
    const struct ggs_trace * trace;
    struct ggs_op_filter     filter;  // its strings are borrowed
    bool *                   matches; // by tensor - 1: its name matches the pattern; NULL without one
};

int  ggs_sieve_init(struct ggs_sieve * sieve, const struct ggs_trace * trace, const struct ggs_op_filter * filter,
                    struct ggs_error * error);
void ggs_sieve_release(struct ggs_sieve * sieve); // a zeroed struct is fine

bool ggs_sieve_fits_node(const struct ggs_sieve * sieve, const struct ggs_graph * graph, uint64_t node, const char * op,
                         int layer);
bool ggs_sieve_fits_time(const struct ggs_sieve * sieve, int64_t begin_ns, int64_t end_ns);
// True if this operand matches the requested place. `op`: ggml's number.
bool ggs_sieve_fits_access(const struct ggs_sieve * sieve, uint64_t op, const struct ggs_access * access);
