#include "serve/routes/log-rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const char * const ggs_log_columns[GGS_LOG_COLUMNS] = {[GGS_LOG_ROW]      = "row",
                                                       [GGS_LOG_BEGIN]    = "begin_ns",
                                                       [GGS_LOG_TOKEN]    = "token",
                                                       [GGS_LOG_PHASE]    = "phase",
                                                       [GGS_LOG_OP]       = "op",
                                                       [GGS_LOG_NAME]     = "name",
                                                       [GGS_LOG_LAYER]    = "layer",
                                                       [GGS_LOG_THREADS]  = "threads",
                                                       [GGS_LOG_READ]     = "read",
                                                       [GGS_LOG_WRITTEN]  = "written",
                                                       [GGS_LOG_SOURCE]   = "source",
                                                       [GGS_LOG_WHERE]    = "where",
                                                       [GGS_LOG_DURATION] = "duration_ns",
                                                       [GGS_LOG_WAIT]     = "wait_ns",
                                                       [GGS_LOG_RUN]      = "run",
                                                       [GGS_LOG_NODE]     = "node"};

enum { PLACES_MOST = 1 << 24 };

// What a row is sorted by: a number, or the address of a text that lives as long as the trace.
struct sorted {
    uint64_t             key;
    struct ggs_log_place place;
};

struct finding {
    struct ggs_log_rows * rows;
    struct ggs_log_order  order;
    struct sorted *       sorted; // NULL where they stay as the engine went
    uint64_t              capacity;
};

void ggs_log_rows_drop(struct ggs_log_rows * rows) {
    if (rows == NULL || atomic_fetch_sub(&rows->holders, 1) > 1) return;
    free(rows->places);
    free(rows->key);
    free(rows);
}

// ---- finding ----

static uint64_t signed_key(int64_t value) {
    return (uint64_t) value ^ 1ull << 63;
}

static uint64_t where_of(const struct ggs_log_entry * entry) {
    const struct ggs_tensor * tensor = entry->main.tensor;
    if (tensor == NULL) return 0;
    return tensor->source == GGS_SOURCE_DISK ? tensor->file_offset + entry->main.first : tensor->buffer;
}

static uint64_t key_of(const struct ggs_log_entry * entry, uint32_t row, enum ggs_log_column column) {
    switch (column) {
        case GGS_LOG_BEGIN:
            return signed_key(entry->begin_ns);
        case GGS_LOG_TOKEN:
            return signed_key(entry->token);
        case GGS_LOG_PHASE:
            return entry->phase;
        case GGS_LOG_OP:
            return (uintptr_t) entry->op;
        case GGS_LOG_NAME:
            return (uintptr_t) entry->tensor;
        case GGS_LOG_LAYER:
            return signed_key(entry->layer);
        case GGS_LOG_THREADS:
            return entry->threads;
        case GGS_LOG_READ:
            return entry->read;
        case GGS_LOG_WRITTEN:
            return entry->written;
        case GGS_LOG_SOURCE:
            return entry->main.tensor == NULL ? 0 : entry->main.tensor->source;
        case GGS_LOG_WHERE:
            return where_of(entry);
        case GGS_LOG_DURATION:
            return (uint64_t) (entry->end_ns - entry->begin_ns);
        case GGS_LOG_WAIT:
            return entry->wait_ns;
        case GGS_LOG_RUN:
            return entry->run;
        case GGS_LOG_NODE:
            return entry->node;
        default:
            return row;
    }
}

static bool needs_bytes(enum ggs_log_column column) {
    return column == GGS_LOG_READ || column == GGS_LOG_WRITTEN || column == GGS_LOG_SOURCE || column == GGS_LOG_WHERE;
}

static int add(struct finding * finding, const struct ggs_log_entry * entry, uint32_t row, struct ggs_error * error) {
    struct ggs_log_rows * rows  = finding->rows;
    struct ggs_log_place  place = {row, (uint32_t) entry->run, (uint32_t) entry->node};
    bool                  plain = finding->order.column == GGS_LOG_ROW;
    if (rows->n == PLACES_MOST)
        return ggs_fail(error, GGS_UNSUPPORTED, "more than %d rows are left: narrow the filter", PLACES_MOST);
    if (rows->n == finding->capacity) {
        uint64_t capacity = finding->capacity == 0 ? 4096 : 2 * finding->capacity;
        void *   bigger   = plain ? realloc(rows->places, capacity * sizeof(*rows->places))
                                  : realloc(finding->sorted, capacity * sizeof(*finding->sorted));
        if (bigger == NULL) return ggs_fail_memory(error);
        if (plain)
            rows->places = bigger;
        else
            finding->sorted = bigger;
        finding->capacity = capacity;
    }
    if (plain)
        rows->places[rows->n++] = place;
    else if (finding->sorted != NULL) // as it is by now
        finding->sorted[rows->n++] = (struct sorted){key_of(entry, row, finding->order.column), place};
    return 0;
}

// ---- sorting ----

static int by_number(const void * a, const void * b) {
    const struct sorted *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->place.row < y->place.row ? -1 : x->place.row > y->place.row;
}

static int by_text(const void * a, const void * b) {
    const struct sorted *x = a, *y = b;
    int order = x->key == y->key ? 0 : strcmp((const char *) (uintptr_t) x->key, (const char *) (uintptr_t) y->key);
    if (order != 0) return order;
    return x->place.row < y->place.row ? -1 : x->place.row > y->place.row;
}

static int sort(struct finding * finding, struct ggs_error * error) {
    struct ggs_log_rows * rows = finding->rows;
    bool                  text = finding->order.column == GGS_LOG_OP || finding->order.column == GGS_LOG_NAME;
    rows->places               = malloc((rows->n + 1) * sizeof(*rows->places));
    if (rows->places == NULL) return ggs_fail_memory(error);
    if (finding->sorted == NULL) return 0; // no row at all
    if (rows->n > 1) qsort(finding->sorted, rows->n, sizeof(*finding->sorted), text ? by_text : by_number);
    for (uint64_t i = 0; i < rows->n; i++) rows->places[i] = finding->sorted[i].place;
    return 0;
}

static void reverse(struct ggs_log_rows * rows) {
    for (uint64_t i = 0, k = rows->n; i + 1 < k; i++) {
        struct ggs_log_place swap = rows->places[--k];
        rows->places[k]           = rows->places[i];
        rows->places[i]           = swap;
    }
}

int ggs_log_rows_find(struct ggs_log_rows ** out, struct ggs_trace * trace, const struct ggs_overview * overview,
                      const struct ggs_log_filter * filter, struct ggs_log_order order, struct ggs_error * error) {
    struct finding       finding = {.rows = calloc(1, sizeof(struct ggs_log_rows)), .order = order};
    struct ggs_log *     log     = NULL;
    struct ggs_log_entry entry;
    *out = NULL;
    if (finding.rows == NULL) return ggs_fail_memory(error);
    atomic_init(&finding.rows->holders, 1);
    struct ggs_log_filter lean = *filter;
    lean.places_only           = !needs_bytes(order.column);
    int status                 = ggs_log_open(&log, trace, &lean, error);
    while (status >= 0 && (status = ggs_log_next(log, &entry, error)) > 0) {
        const struct ggs_overview_run * run = ggs_overview_find(overview, entry.run);
        if (run != NULL) status = add(&finding, &entry, (uint32_t) (run->first_row + entry.number), error);
    }
    ggs_log_close(log);
    if (status == 0 && order.column != GGS_LOG_ROW) status = sort(&finding, error);
    free(finding.sorted);
    if (status < 0) {
        ggs_log_rows_drop(finding.rows);
        return status;
    }
    if (order.descending) reverse(finding.rows);
    *out = finding.rows;
    return 0;
}

// ---- the cache ----

void ggs_log_cache_init(struct ggs_log_cache * cache) {
    *cache = (struct ggs_log_cache){0};
    pthread_mutex_init(&cache->lock, NULL);
}

void ggs_log_cache_release(struct ggs_log_cache * cache) {
    for (unsigned i = 0; i < GGS_LOG_KEPT; i++) ggs_log_rows_drop(cache->kept[i]);
    pthread_mutex_destroy(&cache->lock);
}

static void move_to_front(struct ggs_log_cache * cache, unsigned i) {
    struct ggs_log_rows * rows = cache->kept[i];
    memmove(&cache->kept[1], &cache->kept[0], i * sizeof(cache->kept[0]));
    cache->kept[0] = rows;
}

struct ggs_log_rows * ggs_log_cache_lock(struct ggs_log_cache * cache, const char * key) {
    pthread_mutex_lock(&cache->lock);
    for (unsigned i = 0; i < GGS_LOG_KEPT && cache->kept[i] != NULL; i++) {
        if (strcmp(cache->kept[i]->key, key) != 0) continue;
        move_to_front(cache, i);
        atomic_fetch_add(&cache->kept[0]->holders, 1);
        return cache->kept[0];
    }
    return NULL;
}

void ggs_log_cache_put(struct ggs_log_cache * cache, struct ggs_log_rows * rows, const char * key) {
    rows->key = strdup(key);
    if (rows->key == NULL) return;
    ggs_log_rows_drop(cache->kept[GGS_LOG_KEPT - 1]);
    cache->kept[GGS_LOG_KEPT - 1] = rows;
    atomic_fetch_add(&rows->holders, 1);
    move_to_front(cache, GGS_LOG_KEPT - 1);
}

void ggs_log_cache_unlock(struct ggs_log_cache * cache) {
    pthread_mutex_unlock(&cache->lock);
}
