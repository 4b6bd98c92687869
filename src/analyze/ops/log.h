// The ops of a recording one after the other, in the engine's order, and filters over them.
//
// Every node that was computed has its entry. Of nodes that were computed together the first, the head, has the time; those
// fused into it name it and take no time. Nodes of a backend that is seen as whole graphs are marked as opaque: their
// bytes are known, their times are not.
//
//     struct ggs_log_filter filter = GGS_LOG_ALL;
//     filter.layer = 7;
//     ggs_log_open(&log, &trace, &filter, &error);
//     while ((more = ggs_log_next(log, &entry, &error)) > 0) ...
//     ggs_log_close(log);
//
// Streams: memory is that of a walk (one graph, the op runs of one graph run).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/walk.h"

enum { GGS_LOG_ANY = -2 }; // -1 is a layer of its own: none

struct ggs_log_filter {
    int64_t      first_token, last_token; // INT64_MIN and INT64_MAX: every run, warm-up included
    uint64_t     first_run, last_run;     // graph runs, by number; 0 and 0 for any; tokens do not count then
    int          layer;                   // GGS_LOG_ANY, or one layer; -1: ops of no layer
    const char * op;                      // ggml's name in any case, NULL for any
    const char * tensor;                  // pattern for fnmatch: matches the result or an operand, NULL for any
    int64_t      thread;                  // ops that this thread took part in, with its own times; -1 for any
    // One operand must fulfil all of these.
    enum ggs_memory_source source;                 // GGS_SOURCE_NONE for any
    uint64_t               range_begin, range_end; // bytes of a model file, mapped or copied at load; 0, 0 for any
    uint64_t               range_file;             // of this file only; 0 for any
    uint64_t               buffer;                 // 0 for any
    int64_t                expert;                 // ops that take this expert; -1 for any
    int64_t                since_ns, until_ns;     // ops that touch [since, until)
    bool                   operands;               // fill in entry->operands
    bool                   places_only;            // bytes and main operand may be left out: for counting and finding
};

#define GGS_LOG_ALL                                                                                          \
    {                                                                                                        \
        .first_token = INT64_MIN, .last_token = INT64_MAX, .layer = GGS_LOG_ANY, .thread = -1, .expert = -1, \
        .since_ns = INT64_MIN, .until_ns = INT64_MAX                                                         \
    }

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
    // The operand that says most about where the op's data is: the one that the filter asked for, else the largest that is
    // read from a file, else the largest that is read, else the result.
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
