// /api/x/N/log: the ops one after the other, a page at a time.
#include "answer/answer.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "serve/routes/routes.h"

enum { COUNT_MOST = 500 };

struct page {
    uint64_t from, count;
};

// What is asked for, and where it goes.
struct asking {
    struct ggs_question *       request;
    const struct ggs_overview * overview;
    struct ggs_log_filter       filter;
    struct ggs_log_order        order;
    struct page                 page;
    struct ggs_json             json;
};

static void put_row(void * context, uint64_t row, const struct ggs_log_entry * entry) {
    struct asking * asking = context;
    ggs_log_write_row(&asking->json, &asking->request->trace, row, entry, asking->filter.operands);
}

// ---- everything, as the engine went ----

static int put_plain(struct asking * asking, struct ggs_error * error) {
    struct ggs_log_filter           filter = asking->filter;
    const struct ggs_overview_run * run    = ggs_overview_at(asking->overview, asking->page.from);
    struct ggs_log *                log;
    struct ggs_log_entry            entry;
    uint64_t                        left = asking->page.count;
    if (run == NULL || left == 0) return 0;
    filter.first_run = run->run, filter.last_run = UINT64_MAX;
    int status = ggs_log_open(&log, &asking->request->trace, &filter, error);
    while (status >= 0 && left > 0 && (status = ggs_log_next(log, &entry, error)) > 0) {
        if (run->run != entry.run) run = ggs_overview_find(asking->overview, entry.run);
        if (run == NULL) break;
        if (run->first_row + entry.number < asking->page.from) continue;
        put_row(asking, run->first_row + entry.number, &entry);
        left--;
    }
    ggs_log_close(log);
    return status < 0 ? status : 0;
}

// ---- filtered and sorted ----

static int find_rows(void * context, struct ggs_log_rows * rows, struct ggs_error * error) {
    struct asking * asking = context;
    ggs_request_expect(asking->request, asking->overview->op_runs);
    return ggs_log_rows_find(rows, &asking->request->trace, asking->overview, &asking->filter, asking->order, error);
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
    else if (source != NULL && strcmp(source, "VRAM") == 0)
        filter->source = GGS_SOURCE_VRAM;
    else if (source != NULL)
        return ggs_fail(error, GGS_USAGE, "source must be DISK, BUFFER or VRAM, not '%.40s'", source);
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
    if (status == 0) status = ggs_query_i64(query, "expert", 0, UINT16_MAX, &filter->expert, error);
    if (status == 0) status = ggs_query_i64(query, "since", -far, far, &filter->since_ns, error);
    if (status == 0) status = ggs_query_i64(query, "until", -far, far, &filter->until_ns, error);
    return status;
}

static int take_order(struct ggs_query * query, struct ggs_log_order * order, struct ggs_error * error) {
    const char * column = ggs_query_text(query, "sort");
    uint64_t     down   = 0;
    int          status = ggs_query_u64(query, "desc", 0, 1, &down, error);
    order->column       = column == NULL ? GGS_LOG_ROW : ggs_log_column_find(column);
    order->descending   = down != 0;
    if (status == 0 && order->column == GGS_LOG_COLUMNS)
        status = ggs_fail(error, GGS_USAGE, "there is no column '%.40s' to sort by", column);
    return status;
}

// The parameters but for the page, as the name of what they leave.
static void name_filter(const struct ggs_query * query, struct ggs_text * key) {
    for (unsigned i = 0; i < query->n; i++) {
        if (strcmp(query->pair[i].name, "from") == 0 || strcmp(query->pair[i].name, "count") == 0 ||
            strcmp(query->pair[i].name, "operands") == 0)
            continue;
        ggs_text_printf(key, "%s=%s\n", query->pair[i].name, query->pair[i].value);
    }
}

static int put_filtered(struct asking * asking, uint64_t * total, struct ggs_error * error) {
    struct ggs_question *  request = asking->request;
    struct ggs_text        key     = {0};
    struct ggs_kept_rows * kept    = NULL;
    name_filter(&request->query, &key);
    int status = key.failed ? ggs_fail_memory(error)
                            : ggs_log_cache_get(&request->snapshot->log_cache, ggs_text_string(&key), find_rows, asking,
                                                &kept, error);
    ggs_text_release(&key);
    if (status < 0) return status;
    *total     = kept->rows.n;
    uint64_t n = asking->page.from >= *total ? 0 : *total - asking->page.from;
    if (n > asking->page.count) n = asking->page.count;
    if (n > 0)
        status = ggs_log_rows_read(kept->rows.places + asking->page.from, n, &request->trace, &asking->filter, put_row,
                                   asking, error);
    ggs_kept_rows_drop(kept);
    return status;
}

int ggs_route_log(struct ggs_question * request, struct ggs_error * error) {
    struct asking asking = {.request = request, .filter = GGS_LOG_ALL, .page = {0, 100}};
    uint64_t      total = 0, operands = 0;
    int           status = ggs_query_u64(&request->query, "from", 0, INT64_MAX, &asking.page.from, error);
    if (status == 0) status = ggs_query_u64(&request->query, "count", 0, COUNT_MOST, &asking.page.count, error);
    if (status == 0) status = ggs_query_u64(&request->query, "operands", 0, 1, &operands, error);
    bool plain = status == 0 && request->trace.selection == NULL;
    for (unsigned i = 0; i < request->query.n; i++) plain &= request->query.pair[i].used;
    if (status == 0) status = take_filter(&request->query, &asking.filter, error);
    if (status == 0) status = take_order(&request->query, &asking.order, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &asking.overview, error);
    if (status != 0) return status;
    asking.filter.operands = operands != 0;
    ggs_reply_open(request->answer, &asking.json);
    ggs_log_write_begin(&asking.json, &request->trace, asking.overview->rows, asking.page.from);
    status = plain ? put_plain(&asking, error) : put_filtered(&asking, &total, error);
    ggs_log_write_end(&asking.json, plain ? (int64_t) asking.overview->rows : (int64_t) total);
    int ended = ggs_reply_close(request->answer, &asking.json, error);
    return status < 0 ? status : ended;
}
