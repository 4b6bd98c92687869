// Caches the rows of recently filtered logs for further pages.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "analyze/ops/log-rows.h"

struct ggs_kept_rows {
    _Atomic unsigned    holders;
    char *              key; // filter and order as text
    struct ggs_log_rows rows;
};
void ggs_kept_rows_drop(struct ggs_kept_rows * kept); // NULL is fine

enum { GGS_LOG_KEPT = 8 };
struct ggs_log_cache {
    pthread_mutex_t        lock;
    struct ggs_kept_rows * kept[GGS_LOG_KEPT]; // newest first
};
void ggs_log_cache_init(struct ggs_log_cache * cache);
void ggs_log_cache_release(struct ggs_log_cache * cache);

// Returns the cached rows of the key, else the result of `find`. One thread runs it at a time,
// because others probably want the same rows. The caller drops the result.
typedef int (*ggs_log_find)(void * context, struct ggs_log_rows * rows, struct ggs_error * error);
int ggs_log_cache_get(struct ggs_log_cache * cache, const char * key, ggs_log_find find, void * context,
                      struct ggs_kept_rows ** out, struct ggs_error * error);
