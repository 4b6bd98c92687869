// Where an event of the machine belongs: the op that a fault or a block request happened in, the
// weight whose bytes it is about, the phase. Ask in order of time, as the tables have them; a look
// back of a few graph runs is fine.
#pragma once

#include <stdint.h>

#include "analyze/walk/op-filter.h"

// Stages of a recording, by time.
enum ggs_stage {
    GGS_STAGE_LOAD,     // before the first token step: the program starts, the model is loaded
    GGS_STAGE_WARMUP,   // in a warm-up step
    GGS_STAGE_PROMPT,   // in a step that feeds prompt
    GGS_STAGE_GENERATE, // in a step that generates, or does both
    GGS_STAGE_GRAPH,    // in a graph run of a program without tokens
    GGS_STAGE_BETWEEN,  // between steps and after the last: sampling, output, the end
    GGS_STAGES,
};
const char * ggs_stage_name(uint64_t stage); // "load", "warm-up", ...

struct ggs_whereabouts {
    const char *   op;     // NULL for none
    const char *   result; // name of what it computes, "" for none
    int            layer;  // of the op, -1 for none
    const char *   weight; // whose bytes lie at that offset of the file, NULL for none
    int64_t        expert; // of that weight, -1 for none
    enum ggs_stage stage;
};

// An event: when it was, how long, and at which bytes of which file (0 for none).
struct ggs_where_event {
    int64_t  begin_ns;
    uint64_t duration_ns, file, offset;
};
// Is it in an op, at bytes and at a time that the filter leaves? NULL leaves everything. Threads
// and buffers of ops mean nothing here.
bool ggs_where_fits(const struct ggs_whereabouts * where, const struct ggs_where_event * event,
                    const struct ggs_op_filter * filter);

struct ggs_where;

int  ggs_where_open(struct ggs_where ** where, struct ggs_trace * trace, struct ggs_error * error);
void ggs_where_close(struct ggs_where * where); // NULL is fine

// Is the event, in this op of this run, one that the trace's filter leaves? 1, 0 or a failure.
// `where` may be NULL: every one is.
int ggs_where_wants(struct ggs_where * where, const struct ggs_where_event * event, uint64_t run, uint64_t node,
                    struct ggs_error * error);

// `run` 0: none; `file` 0: none. Texts live as long as the trace.
int ggs_where_find(struct ggs_where * where, int64_t ns, uint64_t run, uint64_t node, uint64_t file, uint64_t offset,
                   struct ggs_whereabouts * out, struct ggs_error * error);
