// The rows of a log that a filter leaves, in the order that is wanted; found once, and kept for the pages that follow.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyze/ops/log.h"
#include "analyze/ops/overview.h"

struct ggs_error;

// In the order of the columns of a row.
enum ggs_log_column {
    GGS_LOG_ROW,
    GGS_LOG_BEGIN,
    GGS_LOG_TOKEN,
    GGS_LOG_PHASE,
    GGS_LOG_OP,
    GGS_LOG_NAME,
    GGS_LOG_LAYER,
    GGS_LOG_THREADS,
    GGS_LOG_READ,
    GGS_LOG_WRITTEN,
    GGS_LOG_SOURCE,
    GGS_LOG_WHERE,
    GGS_LOG_DURATION,
    GGS_LOG_WAIT,
    GGS_LOG_RUN,
    GGS_LOG_NODE,
    GGS_LOG_COLUMNS,
};
extern const char * const ggs_log_columns[GGS_LOG_COLUMNS]; // their names

struct ggs_log_place {
    uint32_t row, run, node;
};

struct ggs_log_rows {
    _Atomic unsigned       holders;
    char *                 key; // the filter and the order as text
    struct ggs_log_place * places;
    uint64_t               n, capacity;
};

struct ggs_log_order {
    enum ggs_log_column column; // GGS_LOG_ROW: as the engine went
    bool                descending;
};

int  ggs_log_rows_find(struct ggs_log_rows ** out, struct ggs_trace * trace, const struct ggs_overview * overview,
                       const struct ggs_log_filter * filter, struct ggs_log_order order, struct ggs_error * error);
void ggs_log_rows_drop(struct ggs_log_rows * rows); // NULL is fine

// What was found lately. A zeroed struct with its lock initialised is empty.
enum { GGS_LOG_KEPT = 8 };
struct ggs_log_cache {
    pthread_mutex_t       lock;
    struct ggs_log_rows * kept[GGS_LOG_KEPT]; // the newest first
};
void ggs_log_cache_init(struct ggs_log_cache * cache);
void ggs_log_cache_release(struct ggs_log_cache * cache);
// Holds what is there for the key; NULL where nothing is. The lock stays with the caller until put or unlock.
struct ggs_log_rows * ggs_log_cache_lock(struct ggs_log_cache * cache, const char * key);
void                  ggs_log_cache_put(struct ggs_log_cache * cache, struct ggs_log_rows * rows, const char * key);
void                  ggs_log_cache_unlock(struct ggs_log_cache * cache);
