// /api/x/N/log: the ops one after the other, a page at a time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "base/error.h"
#include "base/number.h"
#include "serve/routes/log-rows.h"
#include "serve/routes/routes.h"

enum { COUNT_MOST = 500 };

struct page {
    uint64_t from, count;
};

// ---- one row ----

static void put_number_or_null(struct ggs_json * json, int64_t value) {
    if (value < 0)
        ggs_json_null(json, NULL);
    else
        ggs_json_i64(json, NULL, value);
}

static void put_place(struct ggs_json * json, const struct ggs_log_operand * main) {
    const struct ggs_tensor * tensor = main->tensor;
    if (tensor == NULL) {
        ggs_json_null(json, NULL);
        ggs_json_null(json, NULL);
    } else if (tensor->source == GGS_SOURCE_DISK) {
        ggs_json_string(json, NULL, "DISK");
        ggs_json_u64(json, NULL, tensor->file_offset + main->first);
    } else {
        ggs_json_string(json, NULL, "BUFFER");
        ggs_json_u64(json, NULL, tensor->buffer);
    }
}

static void put_row(struct ggs_json * json, uint64_t row, const struct ggs_log_entry * entry) {
    ggs_json_array(json, NULL);
    ggs_json_u64(json, NULL, row);
    ggs_json_i64(json, NULL, entry->begin_ns);
    put_number_or_null(json, entry->token);
    ggs_json_string(json, NULL, ggs_word_phase(entry->phase));
    ggs_json_string(json, NULL, entry->op);
    ggs_json_string(json, NULL, entry->tensor);
    put_number_or_null(json, entry->layer);
    ggs_json_u64(json, NULL, entry->threads);
    ggs_json_u64(json, NULL, entry->read);
    ggs_json_u64(json, NULL, entry->written);
    put_place(json, &entry->main);
    ggs_json_u64(json, NULL, (uint64_t) (entry->end_ns - entry->begin_ns));
    ggs_json_u64(json, NULL, entry->wait_ns);
    ggs_json_u64(json, NULL, entry->run);
    ggs_json_u64(json, NULL, entry->node);
    ggs_json_end(json);
}

// ---- everything, as the engine went ----

static int put_plain(struct ggs_question * request, struct ggs_json * json, const struct ggs_overview * overview,
                     const struct page * page, struct ggs_error * error) {
    struct ggs_log_filter           filter = GGS_LOG_ALL;
    const struct ggs_overview_run * run    = ggs_overview_at(overview, page->from);
    struct ggs_log *                log;
    struct ggs_log_entry            entry;
    uint64_t                        left = page->count;
    if (run == NULL || left == 0) return 0;
    filter.first_run = run->run, filter.last_run = UINT64_MAX;
    int status = ggs_log_open(&log, &request->trace, &filter, error);
    while (status >= 0 && left > 0 && (status = ggs_log_next(log, &entry, error)) > 0) {
        if (run->run != entry.run) run = ggs_overview_find(overview, entry.run);
        if (run == NULL) break;
        if (run->first_row + entry.number < page->from) continue;
        put_row(json, run->first_row + entry.number, &entry);
        left--;
    }
    ggs_log_close(log);
    return status < 0 ? status : 0;
}

// ---- filtered and sorted ----

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

// Fetches places of one run, which stand at order[0..n).
static int fetch_run(struct ggs_question * request, struct ggs_log_filter * filter, const struct ggs_log_place * places,
                     const uint32_t * order, uint64_t n, struct kept_row * rows, struct ggs_error * error) {
    struct ggs_log *     log;
    struct ggs_log_entry entry;
    uint64_t             at = 0;
    filter->first_run = filter->last_run = places[order[0]].run;
    int status                           = ggs_log_open(&log, &request->trace, filter, error);
    while (status >= 0 && at < n && (status = ggs_log_next(log, &entry, error)) > 0) {
        if (entry.node != places[order[at]].node) continue;
        rows[order[at++]] = (struct kept_row){entry, true};
    }
    ggs_log_close(log);
    return status < 0 ? status : 0;
}

// Of the filter, what decides which operand is the one to show, and whose times.
static struct ggs_log_filter narrow_filter(const struct ggs_log_filter * filter) {
    struct ggs_log_filter narrow = GGS_LOG_ALL;
    narrow.thread                = filter->thread;
    narrow.source                = filter->source;
    narrow.range_begin           = filter->range_begin;
    narrow.range_end             = filter->range_end;
    narrow.range_file            = filter->range_file;
    narrow.buffer                = filter->buffer;
    return narrow;
}

static int put_places(struct ggs_question * request, struct ggs_json * json, const struct ggs_log_filter * whole,
                      const struct ggs_log_place * places, uint64_t n, struct ggs_error * error) {
    uint32_t              order[COUNT_MOST];
    struct ggs_log_filter filter = narrow_filter(whole);
    struct kept_row *     rows   = calloc(n + 1, sizeof(*rows));
    int                   status = rows == NULL ? ggs_fail_memory(error) : 0;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    qsort_r(order, n, sizeof(*order), by_run, (void *) (uintptr_t) places);
    for (uint64_t i = 0; status == 0 && i < n;) {
        uint64_t same = 1;
        while (i + same < n && places[order[i + same]].run == places[order[i]].run) same++;
        status = fetch_run(request, &filter, places, order + i, same, rows, error);
        i += same;
    }
    for (uint64_t i = 0; status == 0 && i < n; i++) {
        if (rows[i].found) put_row(json, places[i].row, &rows[i].entry);
    }
    free(rows);
    return status;
}

static int find_rows(struct ggs_question * request, const struct ggs_overview * overview,
                     const struct ggs_log_filter * filter, struct ggs_log_order order, const char * key,
                     struct ggs_log_rows ** out, struct ggs_error * error) {
    struct ggs_log_cache * cache  = &request->snapshot->log_cache;
    int                    status = 0;
    *out                          = ggs_log_cache_lock(cache, key);
    if (*out == NULL) {
        ggs_request_expect(request, overview->op_runs);
        status = ggs_log_rows_find(out, &request->trace, overview, filter, order, error);
        if (status == 0) ggs_log_cache_put(cache, *out, key);
    }
    ggs_log_cache_unlock(cache);
    return status;
}

// ---- parameters ----

static int take_region(struct ggs_query * query, struct ggs_log_filter * filter, struct ggs_error * error) {
    const char * text = ggs_query_text(query, "region");
    char         copy[96];
    if (text == NULL) return 0;
    if (strlen(text) < sizeof(copy)) {
        memcpy(copy, text, strlen(text) + 1);
        char *colon = strchr(copy, ':'), *dots = colon == NULL ? NULL : strstr(colon, "..");
        if (dots != NULL) {
            *colon = *dots = '\0';
            if (ggs_parse_u64(copy, 1, UINT32_MAX, &filter->range_file) &&
                ggs_parse_u64(colon + 1, 0, INT64_MAX, &filter->range_begin) &&
                ggs_parse_u64(dots + 2, 1, INT64_MAX, &filter->range_end) && filter->range_begin < filter->range_end)
                return 0;
        }
    }
    return ggs_fail(error, GGS_USAGE,
                    "region must be a file and a range of its bytes such as 1:4096..8192, not '%.40s'", text);
}

static int take_words(struct ggs_query * query, struct ggs_log_filter * filter, struct ggs_error * error) {
    const char *layer = ggs_query_text(query, "layer"), *source = ggs_query_text(query, "source");
    uint64_t    number;
    if (layer != NULL && strcmp(layer, "none") == 0)
        filter->layer = -1;
    else if (layer != NULL && ggs_parse_u64(layer, 0, INT32_MAX, &number))
        filter->layer = (int) number;
    else if (layer != NULL)
        return ggs_fail(error, GGS_USAGE, "layer must be the number of a layer or none, not '%.40s'", layer);
    if (source != NULL && strcmp(source, "DISK") == 0)
        filter->source = GGS_SOURCE_DISK;
    else if (source != NULL && strcmp(source, "BUFFER") == 0)
        filter->source = GGS_SOURCE_BUFFER;
    else if (source != NULL)
        return ggs_fail(error, GGS_USAGE, "source must be DISK or BUFFER, not '%.40s'", source);
    filter->op     = ggs_query_text(query, "op");
    filter->tensor = ggs_query_text(query, "tensor");
    return 0;
}

static int take_filter(struct ggs_query * query, struct ggs_log_filter * filter, struct ggs_error * error) {
    const int64_t far    = INT64_MAX / 4;
    int           status = take_words(query, filter, error);
    if (status == 0) status = ggs_query_tokens(query, &filter->first_token, &filter->last_token, error);
    if (status == 0) status = take_region(query, filter, error);
    if (status == 0) status = ggs_query_u64(query, "buffer", 1, UINT32_MAX, &filter->buffer, error);
    if (status == 0) status = ggs_query_i64(query, "thread", 0, UINT16_MAX, &filter->thread, error);
    if (status == 0) status = ggs_query_i64(query, "since", -far, far, &filter->since_ns, error);
    if (status == 0) status = ggs_query_i64(query, "until", -far, far, &filter->until_ns, error);
    return status;
}

static int take_order(struct ggs_query * query, struct ggs_log_order * order, struct ggs_error * error) {
    const char * column = ggs_query_text(query, "sort");
    uint64_t     down   = 0;
    int          status = ggs_query_u64(query, "desc", 0, 1, &down, error);
    order->column       = column == NULL ? GGS_LOG_ROW : GGS_LOG_COLUMNS;
    order->descending   = down != 0;
    for (unsigned i = 0; column != NULL && i < GGS_LOG_COLUMNS; i++) {
        if (strcmp(column, ggs_log_columns[i]) == 0) order->column = (enum ggs_log_column) i;
    }
    if (status == 0 && order->column == GGS_LOG_COLUMNS)
        status = ggs_fail(error, GGS_USAGE, "there is no column '%.40s' to sort by", column);
    return status;
}

// The parameters but for the page, as the name of what they leave.
static void name_filter(const struct ggs_query * query, struct ggs_text * key) {
    for (unsigned i = 0; i < query->n; i++) {
        if (strcmp(query->pair[i].name, "from") == 0 || strcmp(query->pair[i].name, "count") == 0) continue;
        ggs_text_printf(key, "%s=%s\n", query->pair[i].name, query->pair[i].value);
    }
}

static void put_head(struct ggs_json * json, uint64_t total, uint64_t of, uint64_t from) {
    ggs_json_u64(json, "total", total);
    ggs_json_u64(json, "of", of);
    ggs_json_u64(json, "from", from);
    ggs_json_array(json, "columns");
    for (unsigned i = 0; i < GGS_LOG_COLUMNS; i++) ggs_json_string(json, NULL, ggs_log_columns[i]);
    ggs_json_end(json);
    ggs_json_array(json, "rows");
}

// Everything that a filter leaves, as the engine went: for reports.
static int put_rest(struct ggs_question * request, struct ggs_json * json, const struct ggs_overview * overview,
                    const struct ggs_log_filter * filter, struct ggs_error * error) {
    struct ggs_log *     log;
    struct ggs_log_entry entry;
    int                  status = ggs_log_open(&log, &request->trace, filter, error);
    while (status >= 0 && (status = ggs_log_next(log, &entry, error)) > 0) {
        const struct ggs_overview_run * run = ggs_overview_find(overview, entry.run);
        if (run != NULL) put_row(json, run->first_row + entry.number, &entry);
    }
    ggs_log_close(log);
    return status < 0 ? status : 0;
}

static int write_filtered(struct ggs_question * request, struct ggs_json * json, const struct ggs_overview * overview,
                          const struct ggs_log_filter * filter, struct ggs_log_order order, const struct page * page,
                          struct ggs_error * error) {
    struct ggs_text       key  = {0};
    struct ggs_log_rows * rows = NULL;
    name_filter(&request->query, &key);
    int status = key.failed ? ggs_fail_memory(error)
                            : find_rows(request, overview, filter, order, ggs_text_string(&key), &rows, error);
    ggs_text_release(&key);
    if (status < 0) return status;
    uint64_t n = page->from >= rows->n ? 0 : rows->n - page->from;
    if (n > page->count) n = page->count;
    put_head(json, rows->n, overview->rows, page->from);
    if (n > COUNT_MOST)
        status = put_rest(request, json, overview, filter, error);
    else if (n > 0)
        status = put_places(request, json, filter, rows->places + page->from, n, error);
    ggs_log_rows_drop(rows);
    return status;
}

int ggs_route_log(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_log_filter       filter = GGS_LOG_ALL;
    struct ggs_log_order        order  = {GGS_LOG_ROW, false};
    const struct ggs_overview * overview;
    struct ggs_json             json;
    struct page                 page   = {0, 100};
    int                         status = ggs_query_u64(&request->query, "from", 0, INT64_MAX, &page.from, error);
    if (status == 0) status = ggs_query_u64(&request->query, "count", 0, COUNT_MOST, &page.count, error);
    bool plain = status == 0;
    for (unsigned i = 0; i < request->query.n; i++) plain &= request->query.pair[i].used;
    if (status == 0) status = take_filter(&request->query, &filter, error);
    if (status == 0) status = take_order(&request->query, &order, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status != 0) return status;
    ggs_answer_begin(request->answer, &json);
    if (plain) {
        put_head(&json, overview->rows, overview->rows, page.from);
        status = put_plain(request, &json, overview, &page, error);
    } else {
        status = write_filtered(request, &json, overview, &filter, order, &page, error);
    }
    ggs_json_end(&json);
    int ended = ggs_answer_end(request->answer, &json, error);
    return status < 0 ? status : ended;
}
