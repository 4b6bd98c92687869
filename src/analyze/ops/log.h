// The ops of a recording in the engine's order, and filters over them.
//
// Every computed node has an entry. Of fused nodes the first, the head, has the time; those fused
// into it refer to it and take no time. Nodes of a backend that is seen as whole graphs are marked
// as opaque: their bytes are known, their times are not.
//
//     struct ggs_log_filter filter = GGS_LOG_ALL;
//     filter.ops.layer = 7;
//     ggs_log_open(&log, &trace, &filter, &error);
//     while ((more = ggs_log_next(log, &entry, &error)) > 0) ...
//     ggs_log_close(log);
//
// Streams: memory is that of a walk (one graph, the op runs of one graph run).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/op-filter.h"
#include "analyze/walk/walk.h"

struct ggs_log_filter {
    int64_t              first_token, last_token; // INT64_MIN and INT64_MAX: every run, with warm-up
    uint64_t             first_run, last_run;     // graph runs by number, which override tokens; 0 and 0: any
    struct ggs_op_filter ops;
    bool                 operands;    // fill in entry->operands
    bool                 places_only; // bytes and main operand are optional: for counting and finding
};

#define GGS_LOG_ALL \
    { .first_token = INT64_MIN, .last_token = INT64_MAX, .ops = GGS_OP_FILTER_ALL }

struct ggs_log_operand {
    const struct ggs_tensor * tensor;
    uint32_t                  slot; // GGS_ACCESS_RESULT for the result
    bool                      write, exact;
    uint64_t                  bytes;
    uint64_t                  first;  // first touched byte, relative to the tensor
    uint64_t                  ranges; // number of ranges
};

struct ggs_log_entry {
    uint64_t     run, node;
    uint64_t     number;   // in its graph run, from 0, without filtering
    uint64_t     absorbed; // nodes fused into it: the following entries
    int64_t      fused;    // the node that this one is fused into, -1 for none
    int64_t      token;    // -1: none, or a warm-up
    uint64_t     phase;
    const char * op;
    const char * tensor; // name of the result. Strings live as long as the trace
    int          layer;  // -1: none
    uint64_t     threads;
    int64_t      begin_ns, end_ns;
    uint64_t     busy_ns, wait_ns;
    int64_t      submit_ns, host_ns; // on a device: time and duration of the host's submission; -1 if unknown
    uint64_t     read, written, disk;
    bool         cut;      // end not seen
    bool         unwaited; // waits between threads were not fully seen: wait_ns is the seen part
    bool         opaque;   // times not seen: begin and end are invalid
    // The main source of the op's data: the operand that the filter selects, else the largest read
    // from a file, else the largest read, else the result.
    struct ggs_log_operand   main;
    uint64_t                 n_operands;
    struct ggs_log_operand * operands; // valid until the next call
};

struct ggs_log;

// GGS_ABSENT if the recording lacks the tokens or the layer.
int  ggs_log_open(struct ggs_log ** log, struct ggs_trace * trace, const struct ggs_log_filter * filter,
                  struct ggs_error * error);
void ggs_log_close(struct ggs_log * log); // NULL is fine
// Returns 1 with an entry, 0 at the end, negative on failure.
int ggs_log_next(struct ggs_log * log, struct ggs_log_entry * entry, struct ggs_error * error);
