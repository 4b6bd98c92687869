// /api/x/N/tokens: the token steps, folded if there are more than requested.
#include <stdlib.h>
#include <string.h>

#include "answer/pictures.h"
#include "base/error.h"
#include "base/utf8.h"
#include "serve/routes/routes.h"

enum { BINS_MOST = 4096, TEXT_MOST = 40 };

struct span {
    uint64_t bins;
    int64_t  from, to;
    uint64_t steps; // steps in the span; 0: to be counted
};

// Warm-up has no number.
static uint32_t number_of(int64_t step) {
    return step < 0 || step > UINT32_MAX ? UINT32_MAX : (uint32_t) step;
}

static void put_row(struct ggs_token_row * row, const struct ggs_step * step) {
    *row = (struct ggs_token_row){.begin       = (double) step->begin_ns,
                                  .end         = (double) step->end_ns,
                                  .first       = number_of(step->step),
                                  .last        = number_of(step->step),
                                  .count       = 1,
                                  .phase       = (uint8_t) step->phase,
                                  .first_token = step->first_token,
                                  .tokens      = step->tokens};
}

static void fold(struct ggs_token_row * into, const struct ggs_step * step) {
    if ((double) step->begin_ns < into->begin) into->begin = (double) step->begin_ns;
    if ((double) step->end_ns > into->end) into->end = (double) step->end_ns;
    if (step->step >= 0) into->last = number_of(step->step);
    if (into->first == UINT32_MAX) into->first = into->last;
    if (into->phase != step->phase) into->phase = GGS_PHASE_NONE;
    into->count++;
}

// Counts the steps in the span.
static int count_steps(struct ggs_cursor * cursor, uint64_t * n, struct ggs_error * error) {
    struct ggs_step step;
    int             more;
    *n = 0;
    while ((more = ggs_cursor_next(cursor, &step, error)) > 0) ++*n;
    ggs_cursor_rewind(cursor);
    return more;
}

static int read_rows(struct ggs_cursor * cursor, const struct span * span, struct ggs_token_row * rows, uint64_t * n,
                     struct ggs_error * error) {
    uint64_t        steps = span->steps, at = 0;
    struct ggs_step step;
    int             more = steps > 0 ? 0 : count_steps(cursor, &steps, error);
    if (more < 0) return more;
    uint64_t each = steps <= span->bins ? 1 : (steps + span->bins - 1) / span->bins;
    *n            = 0;
    for (; (more = ggs_cursor_next(cursor, &step, error)) > 0; at++) {
        if (at / each >= span->bins) break;
        if (at % each == 0)
            put_row(&rows[(*n)++], &step);
        else
            fold(&rows[*n - 1], &step);
    }
    return more < 0 ? more : 0;
}

// Appends the text of a step's tokens, truncated at a character.
static int read_text(struct ggs_question * request, struct ggs_cursor * cursor, const struct ggs_token_row * row,
                     struct ggs_text * text, struct ggs_error * error) {
    struct ggs_token token;
    int              more       = 0;
    unsigned         characters = 0;
    size_t           at         = text->length;
    uint32_t         point;
    ggs_cursor_range(cursor, row->first_token, row->tokens);
    while (text->length - at < (size_t) 4 * TEXT_MOST && (more = ggs_cursor_next(cursor, &token, error)) > 0) {
        uint64_t     length;
        const char * piece = ggs_reader_bytes(request->trace.reader, token.text, &length);
        if (token.text != 0 && piece != NULL) ggs_text_append(text, piece, length);
    }
    for (; at < text->length && characters < TEXT_MOST; characters++) {
        size_t size = ggs_utf8_decode(text->data + at, text->length - at, &point);
        at += size == 0 ? 1 : size;
    }
    if (at < text->length) text->length = at;
    return more;
}

// `all` holds the texts of all rows; the rows point into it.
static int read_texts(struct ggs_question * request, struct ggs_token_row * rows, uint64_t n, struct ggs_text * all,
                      struct ggs_error * error) {
    struct ggs_cursor * cursor;
    int                 status = ggs_cursor_open(&cursor, request->trace.reader, GGS_TABLE_TOKENS, error);
    for (uint64_t i = 0; status >= 0 && i < n; i++) {
        size_t begin = all->length;
        if (rows[i].count == 1) status = read_text(request, cursor, &rows[i], all, error);
        rows[i].length = all->length - begin;
    }
    ggs_cursor_close(cursor);
    const char * at = all->data;
    for (uint64_t i = 0; i < n; at += rows[i++].length) rows[i].text = rows[i].length == 0 ? NULL : at;
    return status < 0 ? status : all->failed ? ggs_fail_memory(error) : 0;
}

static int write_columns(struct ggs_question * request, struct ggs_token_row * rows, uint64_t n,
                         struct ggs_error * error) {
    struct ggs_tokens_header header = {.row = rows};
    struct ggs_text          texts  = {0};
    int                      status = read_texts(request, rows, n, &texts, error);
    if (status == 0) {
        ggs_columns_begin(&header.columns, n, 0);
        ggs_columns_add(&header.columns, &ggs_tokens_columns, rows, sizeof(*rows));
        status = ggs_reply_columns(request->answer, &header.columns, &ggs_tokens_object, NULL, error);
    }
    ggs_text_release(&texts);
    return status;
}

int ggs_route_tokens(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct span         span   = {.bins = 1000, .from = -1, .to = INT64_MAX};
    uint64_t            n      = 0;
    int                 status = ggs_query_u64(&request->query, "bins", 1, BINS_MOST, &span.bins, error);
    if (status == 0) status = ggs_query_i64(&request->query, "from", 0, INT64_MAX, &span.from, error);
    if (status == 0) status = ggs_query_i64(&request->query, "to", 0, INT64_MAX, &span.to, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && span.from > span.to) status = ggs_fail(error, GGS_USAGE, "from must not be above to");
    if (status < 0) return status;
    struct ggs_token_row * rows = calloc(span.bins, sizeof(*rows));
    if (rows == NULL) return ggs_fail_memory(error);
    status = ggs_cursor_open(&cursor, request->trace.reader, GGS_TABLE_STEPS, error);
    if (status == 0) {
        if (span.from < 0 && span.to == INT64_MAX) span.steps = ggs_reader_rows(request->trace.reader, GGS_TABLE_STEPS);
        ggs_cursor_keys(cursor, span.from, span.to);
        status = read_rows(cursor, &span, rows, &n, error);
        ggs_cursor_close(cursor);
    }
    if (status == 0) status = write_columns(request, rows, n, error);
    free(rows);
    return status;
}
