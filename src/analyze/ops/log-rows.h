// The rows of a log that a filter leaves, in the order that is wanted: found once as places, and
// read a page at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/ops/log.h"
#include "analyze/ops/overview.h"

struct ggs_error;

// What a log can be sorted by.
enum ggs_log_column {
    GGS_LOG_ROW, // as the engine went
    GGS_LOG_BEGIN,
    GGS_LOG_TOKEN,
    GGS_LOG_PHASE,
    GGS_LOG_OP,
    GGS_LOG_NAME,
    GGS_LOG_LAYER,
    GGS_LOG_THREADS,
    GGS_LOG_READ,
    GGS_LOG_WRITTEN,
    GGS_LOG_BYTES,  // read and written
    GGS_LOG_SOURCE, // files before buffers, each by where the data lies
    GGS_LOG_DURATION,
    GGS_LOG_WAIT,
    GGS_LOG_RUN,
    GGS_LOG_NODE,
    GGS_LOG_COLUMNS
};
// "row", "begin_ns", ...; GGS_LOG_COLUMNS if there is none of that name.
enum ggs_log_column ggs_log_column_find(const char * name);

struct ggs_log_order {
    enum ggs_log_column column;
    bool                descending; // rows that are equal stay as the engine went
    uint64_t            limit;      // keep so many of the first; 0: all
};

struct ggs_log_place {
    uint32_t row, run, node;
};

struct ggs_log_rows {
    struct ggs_log_place * places;
    uint64_t               n, capacity;
};

int  ggs_log_rows_find(struct ggs_log_rows * rows, struct ggs_trace * trace, const struct ggs_overview * overview,
                       const struct ggs_log_filter * filter, struct ggs_log_order order, struct ggs_error * error);
void ggs_log_rows_release(struct ggs_log_rows * rows);

// Calls `each` for the entries of `n` places in their order. The filter is the one that they were
// found with: it decides which operand is the main one, and whose times.
typedef void (*ggs_log_each)(void * context, uint64_t row, const struct ggs_log_entry * entry);
int ggs_log_rows_read(const struct ggs_log_place * places, uint64_t n, struct ggs_trace * trace,
                      const struct ggs_log_filter * filter, ggs_log_each each, void * context,
                      struct ggs_error * error);
