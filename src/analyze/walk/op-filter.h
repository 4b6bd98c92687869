// Which ops an analysis is about. Put into trace->filter, it limits every walk over ops (walk.h,
// uses.h) and what is told of page faults and disk requests: sums, heat, curves and logs of it
// follow.
//
// A struct ggs_sieve is a filter made ready for one trace: names are matched once.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/access.h"
#include "analyze/walk/trace.h"

enum { GGS_ANY_LAYER = -2 }; // -1 is a layer of its own: none
#define GGS_ANY_SLOT INT64_MIN

struct ggs_op_filter {
    int          layer;  // GGS_ANY_LAYER, or one layer; -1: ops of no layer
    const char * op;     // ggml's name in any case, NULL for any
    const char * tensor; // pattern for fnmatch: matches the result or an operand, NULL for any
    int64_t      thread; // ops that this thread took part in, with its own times; -1 for any
    int64_t      slot;   // of runs of this slot only; with `thread` that is a lane; GGS_ANY_SLOT for any
    // One operand must fulfil all of these.
    enum ggs_memory_source source;                 // GGS_SOURCE_NONE for any
    uint64_t               range_begin, range_end; // bytes of a model file, mapped or copied at load; 0, 0 for any
    uint64_t               range_file;             // of this file only; 0 for any
    uint64_t               buffer;                 // 0 for any
    int64_t                expert;                 // ops that take this expert; -1 for any
    int64_t                since_ns, until_ns;     // ops that touch [since, until)
};

#define GGS_OP_FILTER_ALL                                                                                \
    {                                                                                                    \
        .layer = GGS_ANY_LAYER, .thread = -1, .slot = GGS_ANY_SLOT, .expert = -1, .since_ns = INT64_MIN, \
        .until_ns = INT64_MAX                                                                            \
    }

bool ggs_op_filter_is_all(const struct ggs_op_filter * filter); // NULL is
// Does it ask for more than a node decides by itself? Then the runs of a graph differ.
bool ggs_op_filter_is_of_runs(const struct ggs_op_filter * filter);
// Does it ask where bytes lie?
bool ggs_op_filter_asks_bytes(const struct ggs_op_filter * filter);
// GGS_ABSENT with a sentence if the recording has not the layer, the op, the buffer or the thread
// that are asked for.
int ggs_op_filter_check(const struct ggs_op_filter * filter, struct ggs_trace * trace, struct ggs_error * error);

// A node by itself: layer, op, names. trace->filter may be NULL.
bool ggs_op_filter_fits_node(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);

struct ggs_sieve {
    const struct ggs_trace * trace;
    struct ggs_op_filter     filter;  // its texts are borrowed
    bool *                   matches; // by tensor - 1: its name fits the pattern; NULL without one
};

int  ggs_sieve_init(struct ggs_sieve * sieve, const struct ggs_trace * trace, const struct ggs_op_filter * filter,
                    struct ggs_error * error);
void ggs_sieve_release(struct ggs_sieve * sieve); // a zeroed struct is fine

bool ggs_sieve_fits_node(const struct ggs_sieve * sieve, const struct ggs_graph * graph, uint64_t node, const char * op,
                         int layer);
bool ggs_sieve_fits_time(const struct ggs_sieve * sieve, int64_t begin_ns, int64_t end_ns);
// Is this operand where it is asked for? `op`: ggml's number.
bool ggs_sieve_fits_access(const struct ggs_sieve * sieve, uint64_t op, const struct ggs_access * access);
