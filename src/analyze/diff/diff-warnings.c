#include "analyze/diff/diff-warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json-read.h"
#include "base/text.h"

__attribute__((format(printf, 2, 3))) static void warn(struct ggs_diff * diff, const char * format, ...) {
    if (diff->n_warnings == GGS_DIFF_WARNINGS) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diff->warnings[diff->n_warnings++], GGS_DIFF_WARNING, format, arguments);
    va_end(arguments);
}

// Two texts that should be equal.
static void compare(struct ggs_diff * diff, const char * what, const struct ggs_text * a, const struct ggs_text * b) {
    const char *x = ggs_text_string(a), *y = ggs_text_string(b);
    if (strcmp(x, y) != 0) warn(diff, "the %s differ: %.120s and %.120s", what, x, y);
}

// ---- models ----

static void list_models(struct ggs_text * text, struct ggs_trace * trace) {
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (!trace->models[i]) continue;
        const char * path  = ggs_reader_string(trace->reader, trace->files[i].path);
        const char * slash = strrchr(path, '/');
        ggs_text_printf(text, "%s%s (%" PRIu64 " bytes)", text->length > 0 ? ", " : "",
                        slash == NULL ? path : slash + 1, trace->files[i].size);
    }
}

// Files of the same name and size may still be other models: experiment.json has a digest of their metadata.
static void list_digests(struct ggs_text * text, struct ggs_trace * trace) {
    const char *          experiment = ggs_reader_experiment(trace->reader);
    struct ggs_json_value files      = ggs_json_member(ggs_json_read(experiment, strlen(experiment)), "model_files"),
                          file       = {0};
    while (ggs_json_next(files, &file)) {
        if (ggs_json_append_to(ggs_json_member(file, "metadata_xxh3"), text)) ggs_text_putc(text, ' ');
    }
}

static void compare_models(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b) {
    struct ggs_text x = {0}, y = {0};
    list_models(&x, a);
    list_models(&y, b);
    compare(diff, "models", &x, &y);
    ggs_text_clear(&x);
    ggs_text_clear(&y);
    list_digests(&x, a);
    list_digests(&y, b);
    if (x.length > 0 && y.length > 0 && strcmp(ggs_text_string(&x), ggs_text_string(&y)) != 0)
        warn(diff, "the models' metadata differ");
    ggs_text_release(&x);
    ggs_text_release(&y);
}

// ---- engines ----

// Versions and build ids, one after the other; `brief`: those that people know.
static int list_engine(struct ggs_text * all, struct ggs_text * brief, struct ggs_trace * trace,
                       struct ggs_error * error) {
    static const char * const left_out[] = {"capture=", "library=", "directory=", "argument="};
    struct ggs_cursor *       cursor;
    struct ggs_process        row;
    int                       status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_PROCESSES, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &row, error)) > 0) {
        const char * line = ggs_reader_string(trace->reader, row.engine);
        for (; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
            size_t length = strcspn(line, "\n");
            bool   out    = false;
            for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
                out |= strncmp(line, left_out[i], strlen(left_out[i])) == 0;
            if (out) continue;
            ggs_text_append(all, line, length + 1);
            if (strncmp(line, "build_id=", 9) == 0) continue;
            if (brief->length > 0) ggs_text_puts(brief, ", ");
            ggs_text_append(brief, line, length);
        }
    }
    ggs_cursor_close(cursor);
    return status;
}

static int compare_engines(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b,
                           struct ggs_error * error) {
    struct ggs_text all[2] = {{0}, {0}}, brief[2] = {{0}, {0}};
    int             status = list_engine(&all[0], &brief[0], a, error);
    if (status == 0) status = list_engine(&all[1], &brief[1], b, error);
    if (status == 0 && strcmp(ggs_text_string(&all[0]), ggs_text_string(&all[1])) != 0) {
        if (strcmp(ggs_text_string(&brief[0]), ggs_text_string(&brief[1])) == 0) {
            warn(diff, "the engines are builds of the same version that differ");
        } else {
            compare(diff, "engines", &brief[0], &brief[1]);
        }
    }
    for (int i = 0; i < 2; i++) ggs_text_release(&all[i]), ggs_text_release(&brief[i]);
    return status;
}

// ---- backends ----

static int list_backends(struct ggs_text * text, struct ggs_trace * trace, struct ggs_error * error) {
    enum { MOST = 16 };
    uint64_t            seen[MOST];
    unsigned            n = 0;
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &run, error)) > 0) {
        bool known = n == MOST;
        for (unsigned i = 0; i < n; i++) known |= seen[i] == run.backend;
        if (known) continue;
        seen[n++] = run.backend;
        ggs_text_printf(text, "%s%s", text->length > 0 ? ", " : "", ggs_reader_string(trace->reader, run.backend));
    }
    ggs_cursor_close(cursor);
    return status;
}

static int compare_backends(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b,
                            struct ggs_error * error) {
    struct ggs_text x = {0}, y = {0};
    int             status = list_backends(&x, a, error);
    if (status == 0) status = list_backends(&y, b, error);
    if (status == 0) compare(diff, "backends", &x, &y);
    ggs_text_release(&x);
    ggs_text_release(&y);
    return status;
}

// Their ops have no counterpart for that alone.
static void warn_of_opaque(struct ggs_diff * diff, char side, uint64_t nodes) {
    if (nodes > 0)
        warn(diff, "%" PRIu64 " nodes of %c ran on backends without op times: they are not compared", nodes, side);
}

// ---- tokens ----

// Where the first tokens differ: the step, -1 for none. A recording that is longer than the other does not differ for that.
static int compare_tokens(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b,
                          struct ggs_error * error) {
    struct ggs_cursor *x = NULL, *y = NULL;
    struct ggs_token   p, q;
    int                left = 0, right = 0;
    int                status = ggs_cursor_open(&x, a->reader, GGS_TABLE_TOKENS, error);
    if (status == 0) status = ggs_cursor_open(&y, b->reader, GGS_TABLE_TOKENS, error);
    if (status == 0) {
        ggs_cursor_keys(x, 0, INT64_MAX);
        ggs_cursor_keys(y, 0, INT64_MAX);
    }
    while (status == 0 && (left = ggs_cursor_next(x, &p, error)) > 0 && (right = ggs_cursor_next(y, &q, error)) > 0) {
        if (p.step == q.step && p.index == q.index && p.token == q.token) continue;
        diff->parted = p.step < q.step ? p.step : q.step;
        break;
    }
    if (left < 0 || right < 0) status = left < 0 ? left : right;
    ggs_cursor_close(x);
    ggs_cursor_close(y);
    if (status == 0 && diff->parted == 0)
        warn(diff, "the prompts differ: %" PRIu64 " and %" PRIu64 " tokens", diff->a.prompt_tokens,
             diff->b.prompt_tokens);
    if (status == 0 && diff->parted > 0)
        warn(diff, "the texts differ from token %" PRId64 " on; what follows was computed for other tokens",
             diff->parted);
    return status;
}

int ggs_diff_warn(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error) {
    compare_models(diff, a, b);
    diff->parted = -1;
    int status   = compare_tokens(diff, a, b, error);
    if (status == 0 && diff->a.threads != diff->b.threads)
        warn(diff, "the threads differ: %" PRIu64 " and %" PRIu64, diff->a.threads, diff->b.threads);
    if (status == 0) status = compare_engines(diff, a, b, error);
    if (status == 0) status = compare_backends(diff, a, b, error);
    if (status == 0) warn_of_opaque(diff, 'A', diff->a.opaque);
    if (status == 0) warn_of_opaque(diff, 'B', diff->b.opaque);
    return status;
}
