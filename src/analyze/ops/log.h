// The ops of a recording one after the other, in the engine's order, and filters over them.
//
// Every node that was computed has its entry. Of nodes that were computed together the first, the
// head, has the time; those fused into it name it and take no time. Nodes of a backend that is seen
// as whole graphs are marked as opaque: their bytes are known, their times are not.
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
    int64_t              first_token, last_token; // INT64_MIN and INT64_MAX: every run, warm-up included
    uint64_t             first_run, last_run;     // graph runs, by number; 0 and 0 for any; tokens do not count then
    struct ggs_op_filter ops;
    bool                 operands;    // fill in entry->operands
    bool                 places_only; // bytes and main operand may be left out: for counting and finding
};

#define GGS_LOG_ALL \
    { .first_token = INT64_MIN, .last_token = INT64_MAX, .ops = GGS_OP_FILTER_ALL }

struct ggs_log_operand {
    const struct ggs_tensor * tensor;
    uint32_t                  slot; // GGS_ACCESS_RESULT for the result
    bool                      write, exact;
    uint64_t                  bytes;
    uint64_t                  first;  // first byte that is touched, relative to the tensor
    uint64_t                  ranges; // how many pieces
};

struct ggs_log_entry {
    uint64_t     run, node;
    uint64_t     number;   // of its graph run's entries, from 0, whatever the filter leaves
    uint64_t     absorbed; // nodes that were fused into it: the entries that follow
    int64_t      fused;    // the node that this one was fused into, -1 for none
    int64_t      token;    // -1: none, or a warm-up
    uint64_t     phase;
    const char * op;
    const char * tensor; // the result's name. Strings live as long as the trace
    int          layer;  // -1: none
    uint64_t     threads;
    int64_t      begin_ns, end_ns;
    uint64_t     busy_ns, wait_ns;
    int64_t submit_ns, host_ns; // on a device: when the host handed it over, and how long that took it; -1 if not known
    uint64_t read, written, disk;
    bool     cut;      // its end was not seen
    bool     unwaited; // how long threads waited for each other was not seen: wait_ns is what was
    bool     opaque;   // its times were not seen: begin and end are those of nothing
    // The operand that says most about where the op's data is: the one that the filter asked for,
    // else the largest that is read from a file, else the largest that is read, else the result.
    struct ggs_log_operand   main;
    uint64_t                 n_operands;
    struct ggs_log_operand * operands; // until the next call
};

struct ggs_log;

// GGS_ABSENT if the recording has none of the tokens, or not the layer.
int  ggs_log_open(struct ggs_log ** log, struct ggs_trace * trace, const struct ggs_log_filter * filter,
                  struct ggs_error * error);
void ggs_log_close(struct ggs_log * log); // NULL is fine
// 1 with an entry, 0 at the end, negative on failure.
int ggs_log_next(struct ggs_log * log, struct ggs_log_entry * entry, struct ggs_error * error);
