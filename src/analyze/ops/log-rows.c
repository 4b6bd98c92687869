#include "analyze/ops/log-rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static const char * const column_names[GGS_LOG_COLUMNS] = {[GGS_LOG_ROW]      = "row",
                                                           [GGS_LOG_BEGIN]    = "begin_ns",
                                                           [GGS_LOG_TOKEN]    = "token",
                                                           [GGS_LOG_PHASE]    = "phase",
                                                           [GGS_LOG_OP]       = "op",
                                                           [GGS_LOG_NAME]     = "name",
                                                           [GGS_LOG_LAYER]    = "layer",
                                                           [GGS_LOG_THREADS]  = "threads",
                                                           [GGS_LOG_READ]     = "bytes_read",
                                                           [GGS_LOG_WRITTEN]  = "bytes_written",
                                                           [GGS_LOG_BYTES]    = "bytes",
                                                           [GGS_LOG_SOURCE]   = "source",
                                                           [GGS_LOG_DURATION] = "duration_ns",
                                                           [GGS_LOG_WAIT]     = "wait_ns",
                                                           [GGS_LOG_RUN]      = "run",
                                                           [GGS_LOG_NODE]     = "node"};

enum { PLACES_MOST = 1 << 24, READ_AT_ONCE = 1 << 18, RUNS_APART = 8 };

enum ggs_log_column ggs_log_column_find(const char * name) {
    unsigned i = 0;
    while (i < GGS_LOG_COLUMNS && strcmp(name, column_names[i]) != 0) i++;
    return (enum ggs_log_column) i;
}

void ggs_log_rows_release(struct ggs_log_rows * rows) {
    free(rows->places);
    *rows = (struct ggs_log_rows){0};
}

// ---- sort keys ----

static uint64_t signed_key(int64_t value) {
    return (uint64_t) value ^ 1ull << 63;
}

static uint64_t source_key(const struct ggs_log_operand * operand) {
    const struct ggs_tensor * t = operand->tensor;
    if (t == NULL) return UINT64_MAX;
    bool     disk = t->source == GGS_SOURCE_DISK;
    uint64_t id = disk ? t->file : t->buffer, offset = disk ? t->file_offset + operand->first : t->buffer_offset;
    return (uint64_t) !disk << 62 | (id & 0x3fff) << 48 | (offset & 0xffffffffffff);
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
        case GGS_LOG_BYTES:
            return entry->read + entry->written;
        case GGS_LOG_SOURCE:
            return source_key(&entry->main);
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

static bool is_text(enum ggs_log_column column) {
    return column == GGS_LOG_OP || column == GGS_LOG_NAME;
}

static bool needs_bytes(enum ggs_log_column column) {
    return column == GGS_LOG_READ || column == GGS_LOG_WRITTEN || column == GGS_LOG_BYTES || column == GGS_LOG_SOURCE;
}

// ---- finding ----

// The key is a number, or the address of a string that lives as long as the trace.
struct keyed {
    uint64_t             key;
    struct ggs_log_place place;
};

struct finding {
    struct ggs_log_order order;
    struct keyed *       keyed;
    uint64_t             n, capacity;
};

static int compare(const void * a, const void * b, void * context) {
    const struct keyed *         x = a, *y = b;
    const struct ggs_log_order * order = context;
    int                          sign = order->descending ? -1 : 1, by_text = 0;
    if (x->key != y->key && !is_text(order->column)) return x->key < y->key ? -sign : sign;
    if (x->key != y->key) by_text = strcmp((const char *) (uintptr_t) x->key, (const char *) (uintptr_t) y->key);
    if (by_text != 0) return by_text < 0 ? -sign : sign;
    return x->place.row < y->place.row ? -1 : x->place.row > y->place.row;
}

static void sort(struct finding * finding) {
    if (finding->n > 1) qsort_r(finding->keyed, finding->n, sizeof(*finding->keyed), compare, &finding->order);
    if (finding->order.limit > 0 && finding->n > finding->order.limit) finding->n = finding->order.limit;
}

static int add(struct finding * finding, const struct ggs_log_entry * entry, uint32_t row, struct ggs_error * error) {
    enum { FEW = 1024 };
    uint64_t     limit = finding->order.limit;
    struct keyed keyed = {key_of(entry, row, finding->order.column),
                          {row, (uint32_t) entry->run, (uint32_t) entry->node}};
    if (limit > 0 && limit < PLACES_MOST / 4 && finding->n >= 2 * limit + FEW) sort(finding);
    if (finding->n == PLACES_MOST)
        return ggs_fail(error, GGS_UNSUPPORTED, "more than %d rows are left: narrow the filter", PLACES_MOST);
    return ggs_array_push(finding->keyed, finding->n, finding->capacity, keyed) ? 0 : ggs_fail_memory(error);
}

int ggs_log_rows_find(struct ggs_log_rows * rows, struct ggs_trace * trace, const struct ggs_overview * overview,
                      const struct ggs_log_filter * filter, struct ggs_log_order order, struct ggs_error * error) {
    struct finding        finding = {.order = order};
    struct ggs_log_filter lean    = *filter;
    struct ggs_log *      log     = NULL;
    struct ggs_log_entry  entry;
    *rows            = (struct ggs_log_rows){0};
    lean.places_only = !needs_bytes(order.column);
    lean.operands    = false;
    int status       = ggs_log_open(&log, trace, &lean, error);
    while (status >= 0 && (status = ggs_log_next(log, &entry, error)) > 0) {
        const struct ggs_overview_run * run = ggs_overview_find(overview, entry.run);
        if (run != NULL) status = add(&finding, &entry, (uint32_t) (run->first_row + entry.number), error);
    }
    ggs_log_close(log);
    if (status == 0 && (order.column != GGS_LOG_ROW || order.descending)) sort(&finding);
    if (status == 0 && !ggs_array_reserve(rows->places, rows->capacity, finding.n + 1)) status = ggs_fail_memory(error);
    for (uint64_t i = 0; status == 0 && i < finding.n; i++) rows->places[rows->n++] = finding.keyed[i].place;
    free(finding.keyed);
    return status < 0 ? status : 0;
}

// ---- reading ----

struct kept_row {
    struct ggs_log_entry entry;
    bool                 found;
};

static int by_run(const void * a, const void * b, void * context) {
    const struct ggs_log_place * places = context;
    const struct ggs_log_place * x = &places[*(const uint32_t *) a], *y = &places[*(const uint32_t *) b];
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int keep(struct kept_row * row, const struct ggs_log_entry * entry, struct ggs_error * error) {
    *row = (struct kept_row){*entry, true};
    if (entry->n_operands == 0) return 0;
    row->entry.operands = malloc(entry->n_operands * sizeof(*entry->operands));
    if (row->entry.operands == NULL) return ggs_fail_memory(error);
    memcpy(row->entry.operands, entry->operands, entry->n_operands * sizeof(*entry->operands));
    return 0;
}

// Reads the places of consecutive runs, at order[0..n).
static int read_runs(struct ggs_trace * trace, struct ggs_log_filter * filter, const struct ggs_log_place * places,
                     const uint32_t * order, uint64_t n, struct kept_row * rows, struct ggs_error * error) {
    struct ggs_log *     log;
    struct ggs_log_entry entry;
    uint64_t             at = 0;
    filter->first_run       = places[order[0]].run;
    filter->last_run        = places[order[n - 1]].run;
    int status              = ggs_log_open(&log, trace, filter, error);
    while (status >= 0 && at < n && (status = ggs_log_next(log, &entry, error)) > 0) {
        const struct ggs_log_place * place = &places[order[at]];
        if (entry.run == place->run && entry.node == place->node) status = keep(&rows[order[at++]], &entry, error);
    }
    ggs_log_close(log);
    return status < 0 ? status : 0;
}

// The parts of the filter that determine the main operand and the thread of the times.
static struct ggs_log_filter narrow_filter(const struct ggs_log_filter * filter) {
    struct ggs_log_filter narrow = GGS_LOG_ALL;
    narrow.ops                   = filter->ops;
    narrow.ops.layer             = GGS_ANY_LAYER;
    narrow.ops.op = narrow.ops.tensor = NULL;
    narrow.ops.expert                 = -1;
    narrow.ops.since_ns = INT64_MIN, narrow.ops.until_ns = INT64_MAX;
    narrow.operands = filter->operands;
    return narrow;
}

static int read_some(const struct ggs_log_place * places, uint64_t n, struct ggs_trace * trace,
                     const struct ggs_log_filter * whole, ggs_log_each each, void * context, struct ggs_error * error) {
    struct ggs_log_filter filter = narrow_filter(whole);
    uint32_t *            order  = malloc((n + 1) * sizeof(*order));
    struct kept_row *     rows   = calloc(n + 1, sizeof(*rows));
    int                   status = rows == NULL || order == NULL ? ggs_fail_memory(error) : 0;
    for (uint32_t i = 0; status == 0 && i < n; i++) order[i] = i;
    if (status == 0) qsort_r(order, n, sizeof(*order), by_run, (void *) (uintptr_t) places);
    for (uint64_t i = 0; status == 0 && i < n;) {
        uint64_t near = 1;
        while (i + near < n && places[order[i + near]].run <= places[order[i + near - 1]].run + RUNS_APART) near++;
        status = read_runs(trace, &filter, places, order + i, near, rows, error);
        i += near;
    }
    for (uint64_t i = 0; rows != NULL && i < n; i++) {
        if (status == 0 && rows[i].found) each(context, places[i].row, &rows[i].entry);
        if (rows[i].entry.n_operands > 0) free(rows[i].entry.operands);
    }
    free(order);
    free(rows);
    return status;
}

int ggs_log_rows_read(const struct ggs_log_place * places, uint64_t n, struct ggs_trace * trace,
                      const struct ggs_log_filter * filter, ggs_log_each each, void * context,
                      struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < n; i += READ_AT_ONCE)
        status =
            read_some(places + i, n - i < READ_AT_ONCE ? n - i : READ_AT_ONCE, trace, filter, each, context, error);
    return status;
}
