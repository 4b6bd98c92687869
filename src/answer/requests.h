// ggscope requests --json, /api/x/N/requests, /api/x/N/slots.
#pragma once

#include "analyze/requests/batches.h"
#include "analyze/requests/cells.h"
#include "analyze/requests/requests.h"
#include "analyze/requests/server-slots.h"
#include "answer/fields.h"

enum { GGS_MOMENTS_MOST = 512 }; // of an answer in JSON

struct ggs_requests_options {
    bool     costs, cells, batches; // requested in addition to the requests
    uint64_t most;                  // moments of cells and batches
    uint64_t request;               // only this one; 0: all
    // A window of the list, in the order of a key of a request. `sort` NULL: in order of begin.
    const char * sort;
    bool         descending;
    uint64_t     from, count; // count 0: all
};

struct ggs_requests_answer {
    const struct ggs_trace *    trace; // borrowed
    struct ggs_requests_options options;
    struct ggs_requests         list;
    uint64_t                    total; // requests, in the window or not
    struct ggs_cell_uses        cells;
    struct ggs_compositions     batches;
};

int  ggs_requests_answer_compute(struct ggs_requests_answer * answer, struct ggs_trace * trace,
                                 const struct ggs_requests_options * options, struct ggs_error * error);
void ggs_requests_answer_write(struct ggs_json * json, const struct ggs_requests_answer * answer);
void ggs_requests_answer_release(struct ggs_requests_answer * answer);

extern const struct ggs_object ggs_requests_object;  // of a struct ggs_requests_answer
extern const struct ggs_object ggs_slots_object;     // of a struct ggs_slots
extern const struct ggs_object ggs_request_contexts; // "contexts", of a struct ggs_requests
