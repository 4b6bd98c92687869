// /api/x/N/log: ops in time order, one page per request.
#include "answer/answer.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "serve/routes/routes.h"

enum { COUNT_MOST = 500 };

struct page {
    uint64_t from, count;
};

// A request and its destination.
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

// ---- all ops in time order ----

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

static int read_order(struct ggs_query * query, struct ggs_log_order * order, struct ggs_error * error) {
    const char * column = ggs_query_text(query, "sort");
    uint64_t     down   = 0;
    int          status = ggs_query_u64(query, "desc", 0, 1, &down, error);
    order->column       = column == NULL ? GGS_LOG_ROW : ggs_log_column_find(column);
    order->descending   = down != 0;
    if (status == 0 && order->column == GGS_LOG_COLUMNS)
        status = ggs_fail(error, GGS_USAGE, "there is no column '%.40s' to sort by", column);
    return status;
}

// Makes a cache key of the parameters, without those of the page.
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
    if (status == 0)
        status = ggs_query_tokens(&request->query, &asking.filter.first_token, &asking.filter.last_token, error);
    if (status == 0) status = ggs_query_ops(request, &asking.filter.ops, error);
    if (status == 0) status = read_order(&request->query, &asking.order, error);
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
