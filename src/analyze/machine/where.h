// Attributes machine events: the op of a fault or block request, the weight of its bytes, the
// phase. Query in order of time, as in the tables; going back a few graph runs is fine.
#pragma once

#include <stdint.h>

#include "analyze/walk/op-filter.h"

// Stages of a recording, by time.
enum ggs_stage {
    GGS_STAGE_LOAD,     // before the first token step: program start, model loading
    GGS_STAGE_WARMUP,   // in a warm-up step
    GGS_STAGE_PROMPT,   // in a step that feeds prompt
    GGS_STAGE_GENERATE, // in a step that generates, or does both
    GGS_STAGE_GRAPH,    // in a graph run of a program without tokens
    GGS_STAGE_BETWEEN,  // between and after steps: sampling, output, exit
    GGS_STAGES,
};
const char * ggs_stage_name(uint64_t stage); // "load", "warm-up", ...

struct ggs_whereabouts {
    const char *   op;     // NULL for none
    const char *   result; // name of its result, "" for none
    int            layer;  // of the op, -1 for none
    const char *   weight; // at that offset of the file, NULL for none
    int64_t        expert; // of that weight, -1 for none
    enum ggs_stage stage;
};

// An event: time, duration, and bytes of a file (0 for none).
struct ggs_where_event {
    int64_t  begin_ns;
    uint64_t duration_ns, file, offset;
};
// True if it is in an op, at bytes and at a time that match the filter. NULL matches everything.
// Threads and buffers of ops are ignored.
bool ggs_where_fits(const struct ggs_whereabouts * where, const struct ggs_where_event * event,
                    const struct ggs_op_filter * filter);

struct ggs_where;

int  ggs_where_open(struct ggs_where ** where, struct ggs_trace * trace, struct ggs_error * error);
void ggs_where_close(struct ggs_where * where); // NULL is fine

// Returns 1 if the event in this op of this run matches the trace's filter, 0 or a failure. `where`
// NULL matches everything.
int ggs_where_wants(struct ggs_where * where, const struct ggs_where_event * event, uint64_t run, uint64_t node,
                    struct ggs_error * error);

// `run` 0: none; `file` 0: none. Strings live as long as the trace.
int ggs_where_find(struct ggs_where * where, int64_t ns, uint64_t run, uint64_t node, uint64_t file, uint64_t offset,
                   struct ggs_whereabouts * out, struct ggs_error * error);
