#include "serve/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "serve/assets.h"
#include "serve/routes/routes.h"
#include "serve/site.h"

static const char mark[] = "<!--ggscope-answers-->";

enum { INLINE_MOST = 2048, ZOOMS = 16, REQUESTS_ABOUT = 32 };

struct writing {
    FILE *                            file;
    struct ggs_experiments *          experiments;
    const struct ggs_report_options * options;
    struct ggs_report_part            part;
    uint64_t                          bytes, done, total;
    bool                              any;
};

// ---- bytes ----

static int put(struct writing * writing, const char * data, size_t length, struct ggs_error * error) {
    char limit[GGS_NUMBER_LENGTH];
    writing->bytes += length;
    if (writing->bytes > writing->options->most_bytes)
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "the report would be larger than %s: choose some token steps with --token, allow more with --max-size, or use ggscope serve",
            ggs_format_bytes(limit, writing->options->most_bytes));
    return fwrite(data, 1, length, writing->file) == length ? 0 : ggs_fail_errno(error, "cannot write the report");
}

static int puts_to(struct writing * writing, const char * text, struct ggs_error * error) {
    return put(writing, text, strlen(text), error);
}

static int put_base64(struct writing * writing, const unsigned char * data, size_t length, struct ggs_error * error) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct ggs_text   text     = {0};
    for (size_t i = 0; i < length; i += 3) {
        size_t   n = length - i;
        uint32_t bits =
            (uint32_t) data[i] << 16 | (n > 1 ? (uint32_t) data[i + 1] << 8 : 0) | (n > 2 ? data[i + 2] : 0);
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], n > 1 ? digits[bits >> 6 & 63] : '=',
                        n > 2 ? digits[bits & 63] : '='};
        ggs_text_append(&text, four, sizeof(four));
    }
    int status = text.failed ? ggs_fail_memory(error) : put(writing, ggs_text_string(&text), text.length, error);
    ggs_text_release(&text);
    return status;
}

// JSON inside of a page: "<" is only in strings, and there it may as well be an escape. So no text can end the script.
static int put_json(struct writing * writing, const char * json, size_t length, struct ggs_error * error) {
    struct ggs_text text = {0};
    for (size_t i = 0; i < length; i++) {
        if (json[i] == '<')
            ggs_text_puts(&text, "\\u003c");
        else
            ggs_text_putc(&text, json[i]);
    }
    int status = text.failed ? ggs_fail_memory(error) : put(writing, ggs_text_string(&text), text.length, error);
    ggs_text_release(&text);
    return status;
}

// ---- answers ----

static int put_answer(struct writing * writing, const char * key, struct ggs_answer * answer,
                      struct ggs_error * error) {
    char line[256];
    bool plain = answer->type == ggs_type_json && answer->body.length <= INLINE_MOST;
    if (!plain) ggs_answer_compress(answer);
    const char * form = plain ? "json" : answer->gzip ? "gzip" : answer->type == ggs_type_json ? "json" : "columns";
    snprintf(line, sizeof(line), "%s\n\"%s\":{\"%s\":", writing->any ? "," : "", key, form);
    int status   = puts_to(writing, line, error);
    writing->any = true;
    if (status == 0 && strcmp(form, "json") == 0) {
        status = put_json(writing, ggs_text_string(&answer->body), answer->body.length, error);
    } else if (status == 0) {
        status = puts_to(writing, "\"", error);
        if (status == 0)
            status = put_base64(writing, (const unsigned char *) answer->body.data, answer->body.length, error);
        if (status == 0) status = puts_to(writing, "\"", error);
    }
    return status == 0 ? puts_to(writing, "}", error) : status;
}

static void take_sentence(const struct ggs_answer * answer, struct ggs_error * error) {
    const char * text   = ggs_text_string(&answer->body);
    const char * begin  = strstr(text, "\"error\":\"");
    size_t       length = begin == NULL ? 0 : strlen(begin + 9);
    if (length > 2) // up to the quote and the bracket at the end
        ggs_error_set(error, GGS_FORMAT, "%.*s", (int) (length - 2), begin + 9);
    else
        ggs_error_set(error, GGS_FORMAT, "the report cannot be made of this experiment");
}

// Asks the route as a server would, and keeps the answer under `key`. What is not there is left out where that is `optional`.
static int add(struct writing * writing, const char * key, const char * target, bool whole, bool optional,
               struct ggs_error * error) {
    struct ggs_answer * answer = ggs_answer_new();
    int                 status = answer == NULL ? ggs_fail_memory(error) : 0;
    writing->part.whole        = whole;
    if (status == 0) ggs_site_answer_target(writing->experiments, target, &writing->part, answer);
    if (status == 0 && answer->status == 200) {
        status = put_answer(writing, key, answer, error);
    } else if (status == 0 && !(optional && answer->status == 404)) {
        take_sentence(answer, error);
        status = GGS_FORMAT;
    }
    ggs_answer_drop(answer);
    writing->done++;
    if (writing->options->progress != NULL)
        writing->options->progress(writing->options->progress_context, writing->done, writing->total);
    return status;
}

static int add_same(struct writing * writing, const char * target, bool optional, struct ggs_error * error) {
    return add(writing, target, target, false, optional, error);
}

// ---- which ----

static bool is_part(const struct writing * writing) {
    return writing->part.last_token != INT64_MAX;
}

// "PATH" for everything, "PATH?tokens=A..B" for a part; under the name of everything either way.
static int add_summed(struct writing * writing, const char * path, struct ggs_error * error) {
    char target[128];
    snprintf(target, sizeof(target), is_part(writing) ? "%s?tokens=%" PRId64 "..%" PRId64 : "%s", path,
             writing->part.first_token, writing->part.last_token);
    return add(writing, path, target, false, false, error);
}

static int add_stats(struct writing * writing, struct ggs_error * error) {
    char target[160] = "/api/x/0/stats?by=layer,component,tensor,thread";
    if (is_part(writing))
        snprintf(target + strlen(target), sizeof(target) - strlen(target), "&tokens=%" PRId64 "..%" PRId64,
                 writing->part.first_token, writing->part.last_token);
    return add(writing, "/api/x/0/stats", target, false, false, error);
}

static int add_heats(struct writing * writing, uint64_t steps, struct ggs_error * error) {
    int     status = add_summed(writing, "/api/x/0/heat", error);
    int64_t last   = writing->part.last_token < (int64_t) steps ? writing->part.last_token : (int64_t) steps - 1;
    for (int64_t t = writing->part.first_token, n = 0; status == 0 && t <= last && n < GGS_REPORT_HEATS; t++, n++) {
        char target[128];
        snprintf(target, sizeof(target), "/api/x/0/heat?tokens=%" PRId64 "..%" PRId64, t, t);
        status = add_same(writing, target, true, error);
    }
    return status;
}

static int add_window(struct writing * writing, int64_t begin, int64_t end, struct ggs_error * error) {
    char target[160];
    if (end <= begin) return 0;
    snprintf(target, sizeof(target), "/api/x/0/timeline?begin=%" PRId64 "&end=%" PRId64 "&pixels=4096", begin, end);
    return add_same(writing, target, false, error);
}

// Everything where that is little; else the whole from afar and its parts from nearer.
static int add_rows(struct writing * writing, uint64_t op_runs, struct ggs_error * error) {
    char    target[160];
    int64_t begin = writing->part.begin_ns, end = writing->part.end_ns, each = (end - begin) / ZOOMS + 1;
    int     status = 0;
    if (op_runs <= GGS_REPORT_OP_RUNS) {
        snprintf(target, sizeof(target), "/api/x/0/timeline?begin=%" PRId64 "&end=%" PRId64, begin,
                 end > begin ? end : begin + 1);
        status = add(writing, "/api/x/0/timeline?all", target, true, false, error);
        snprintf(target, sizeof(target),
                 is_part(writing) ? "/api/x/0/log?tokens=%" PRId64 "..%" PRId64 : "/api/x/0/log",
                 writing->part.first_token, writing->part.last_token);
        return status == 0 ? add(writing, "/api/x/0/log?all", target, true, false, error) : status;
    }
    status = add_window(writing, begin, end, error);
    for (int i = 0; status == 0 && i < ZOOMS; i++)
        status =
            add_window(writing, begin + i * each, begin + (i + 1) * each < end ? begin + (i + 1) * each : end, error);
    return status;
}

static int add_tokens(struct writing * writing, struct ggs_error * error) {
    char target[128];
    snprintf(target, sizeof(target),
             is_part(writing) ? "/api/x/0/tokens?bins=1000&from=%" PRId64 "&to=%" PRId64 : "/api/x/0/tokens?bins=1000",
             writing->part.first_token, writing->part.last_token);
    return add(writing, "/api/x/0/tokens?bins=1000", target, false, false, error);
}

static int add_curves(struct writing * writing, struct ggs_error * error) {
    char target[160];
    if (writing->part.end_ns <= writing->part.begin_ns) return 0;
    snprintf(target, sizeof(target), "/api/x/0/curves?begin=%" PRId64 "&end=%" PRId64 "&pixels=4096",
             writing->part.begin_ns, writing->part.end_ns);
    return add(writing, "/api/x/0/curves?all", target, false, false, error);
}

static int add_graphs(struct writing * writing, struct ggs_error * error) {
    int status = 0;
    for (int64_t i = 0; status == 0 && i < 2; i++) {
        char target[64];
        snprintf(target, sizeof(target), "/api/x/0/graph?token=%" PRId64, writing->part.first_token + i);
        if (writing->part.first_token + i <= writing->part.last_token) status = add_same(writing, target, true, error);
    }
    return status;
}

static int add_all(struct writing * writing, const struct ggs_overview * overview, uint64_t op_runs,
                   struct ggs_error * error) {
    static const char * const fixed[] = {"/api/experiments", "/api/x/0/summary", "/api/x/0/map", "/api/x/0/buffers",
                                         "/api/x/0/occupancy?bins=1000"};
    int                       status  = 0;
    for (size_t i = 0; status == 0 && i < sizeof(fixed) / sizeof(fixed[0]); i++)
        status = add_same(writing, fixed[i], false, error);
    if (status == 0) status = add_tokens(writing, error);
    if (status == 0) status = add_heats(writing, overview->steps, error);
    if (status == 0) status = add_rows(writing, op_runs, error);
    if (status == 0) status = add_stats(writing, error);
    if (status == 0) status = add_summed(writing, "/api/x/0/experts", error);
    if (status == 0) status = add_graphs(writing, error);
    return status == 0 ? add_curves(writing, error) : status;
}

// ---- the part ----

// When the token steps were, and how many op runs they have.
static int measure(struct writing * writing, struct ggs_trace * trace, const struct ggs_overview * overview,
                   uint64_t * op_runs, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    bool                any = false;
    writing->part.begin_ns  = overview->begin_ns;
    writing->part.end_ns    = overview->end_ns;
    *op_runs                = overview->op_runs;
    if (!is_part(writing)) return 0;
    if (writing->part.last_token >= (int64_t) overview->steps) writing->part.last_token = (int64_t) overview->steps - 1;
    *op_runs   = 0;
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    status = ggs_cursor_steps(cursor, writing->part.first_token, writing->part.last_token, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (!any || run.begin_ns < writing->part.begin_ns) writing->part.begin_ns = run.begin_ns;
        if (!any || run.end_ns > writing->part.end_ns) writing->part.end_ns = run.end_ns;
        *op_runs += run.op_runs;
        any = true;
    }
    ggs_cursor_close(cursor);
    if (status == 0 && !any)
        return ggs_fail(error, GGS_ABSENT,
                        "there is no such token step: the experiment has %" PRIu64 ", counted from 0", overview->steps);
    return status;
}

static int write_page(struct writing * writing, struct ggs_snapshot * snapshot, const struct ggs_text * page,
                      struct ggs_error * error) {
    const struct ggs_overview * overview;
    uint64_t                    op_runs = 0;
    const char *                at      = strstr(ggs_text_string(page), mark);
    if (at == NULL)
        return ggs_fail(error, GGS_UNSUPPORTED, "this ggscope was built without its page, and cannot write reports");
    int status = ggs_snapshot_overview(snapshot, &overview, error);
    if (status == 0) {
        struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
        status                 = measure(writing, &trace, overview, &op_runs, error);
        ggs_trace_give_back(&trace);
    }
    if (status < 0) return status;
    writing->total = REQUESTS_ABOUT + (overview->steps < GGS_REPORT_HEATS ? overview->steps : GGS_REPORT_HEATS);
    status         = put(writing, page->data, (size_t) (at - page->data), error);
    if (status == 0) status = puts_to(writing, "<script type=\"application/json\" id=\"ggscope-answers\">{", error);
    if (status == 0) status = add_all(writing, overview, op_runs, error);
    if (status == 0) status = puts_to(writing, "}</script>", error);
    return status == 0 ? puts_to(writing, at + strlen(mark), error) : status;
}

int ggs_report_write(FILE * file, struct ggs_experiments * experiments, const struct ggs_report_options * options,
                     struct ggs_error * error) {
    struct writing           writing  = {.file        = file,
                                         .experiments = experiments,
                                         .options     = options,
                                         .part = {.first_token = options->first_token, .last_token = options->last_token}};
    struct ggs_text          page     = {0};
    struct ggs_snapshot *    snapshot = NULL;
    const struct ggs_asset * asset    = ggs_asset_find("/report.html", strlen("/report.html"));
    int                      status   = ggs_experiments_take(experiments, 0, &snapshot, error);
    if (status == 0 && asset != NULL && !ggs_inflate(asset->data, asset->size, &page)) status = ggs_fail_memory(error);
    if (status == 0) status = write_page(&writing, snapshot, &page, error);
    ggs_snapshot_give_back(snapshot);
    ggs_text_release(&page);
    return status;
}
