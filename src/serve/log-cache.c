#include "serve/log-cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void ggs_kept_rows_drop(struct ggs_kept_rows * kept) {
    if (kept == NULL || atomic_fetch_sub(&kept->holders, 1) > 1) return;
    ggs_log_rows_release(&kept->rows);
    free(kept->key);
    free(kept);
}

void ggs_log_cache_init(struct ggs_log_cache * cache) {
    *cache = (struct ggs_log_cache){0};
    pthread_mutex_init(&cache->lock, NULL);
}

void ggs_log_cache_release(struct ggs_log_cache * cache) {
    for (unsigned i = 0; i < GGS_LOG_KEPT; i++) ggs_kept_rows_drop(cache->kept[i]);
    pthread_mutex_destroy(&cache->lock);
}

// Returns the slot of the key; the last slot if it is missing.
static unsigned slot_of(const struct ggs_log_cache * cache, const char * key) {
    unsigned i = 0;
    while (i < GGS_LOG_KEPT - 1 && cache->kept[i] != NULL && strcmp(cache->kept[i]->key, key) != 0) i++;
    return i;
}

static int find_new(const char * key, ggs_log_find find, void * context, struct ggs_kept_rows ** out,
                    struct ggs_error * error) {
    struct ggs_kept_rows * kept = calloc(1, sizeof(*kept));
    if (kept == NULL) return ggs_fail_memory(error);
    atomic_init(&kept->holders, 1);
    kept->key  = strdup(key);
    int status = kept->key == NULL ? ggs_fail_memory(error) : find(context, &kept->rows, error);
    if (status < 0) {
        ggs_kept_rows_drop(kept);
        return status;
    }
    *out = kept;
    return 0;
}

int ggs_log_cache_get(struct ggs_log_cache * cache, const char * key, ggs_log_find find, void * context,
                      struct ggs_kept_rows ** out, struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&cache->lock);
    unsigned               i    = slot_of(cache, key);
    struct ggs_kept_rows * kept = cache->kept[i];
    if (kept == NULL || strcmp(kept->key, key) != 0) {
        struct ggs_kept_rows * found = NULL;
        status                       = find_new(key, find, context, &found, error);
        if (status == 0) {
            ggs_kept_rows_drop(kept);
            kept = found;
        }
    }
    if (status == 0) {
        memmove(&cache->kept[1], &cache->kept[0], i * sizeof(cache->kept[0]));
        cache->kept[0] = kept;
        atomic_fetch_add(&kept->holders, 1);
        *out = kept;
    }
    pthread_mutex_unlock(&cache->lock);
    return status;
}
