// The rows of a log that match a filter, in a given order: found once as places, and read one page
// at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/ops/log.h"
#include "analyze/ops/overview.h"

struct ggs_error;

// Sort keys of a log.
enum ggs_log_column {
    GGS_LOG_ROW, // in time order
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
    GGS_LOG_SOURCE, // files before buffers, each by offset
    GGS_LOG_DURATION,
    GGS_LOG_WAIT,
    GGS_LOG_RUN,
    GGS_LOG_NODE,
    GGS_LOG_COLUMNS
};
// "row", "begin_ns", ...; GGS_LOG_COLUMNS for an unknown name.
enum ggs_log_column ggs_log_column_find(const char * name);

struct ggs_log_order {
    enum ggs_log_column column;
    bool                descending; // equal rows stay in time order
    uint64_t            limit;      // keep only the first rows; 0: all
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

// Calls `each` for the entries of `n` places in their order. The filter must be the one that found
// them: it determines the main operand and the thread of the times.
typedef void (*ggs_log_each)(void * context, uint64_t row, const struct ggs_log_entry * entry);
int ggs_log_rows_read(const struct ggs_log_place * places, uint64_t n, struct ggs_trace * trace,
                      const struct ggs_log_filter * filter, ggs_log_each each, void * context,
                      struct ggs_error * error);
