#include "analyze/diff/diff-warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/machine/conditions.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/number.h"
#include "base/text.h"

__attribute__((format(printf, 2, 3))) static void warn(struct ggs_diff * diff, const char * format, ...) {
    if (diff->n_warnings == GGS_DIFF_WARNINGS) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diff->warnings[diff->n_warnings++], GGS_DIFF_WARNING, format, arguments);
    va_end(arguments);
}

// Compares two texts that should be equal.
static void compare(struct ggs_diff * diff, const char * what, const struct ggs_text * a, const struct ggs_text * b) {
    const char *x = ggs_text_string(a), *y = ggs_text_string(b);
    if (strcmp(x, y) != 0) warn(diff, "the %s differ: %.120s and %.120s", what, x, y);
}

// ---- models ----

// Lists names and sizes; `exact`: in bytes.
static void list_models(struct ggs_text * text, struct ggs_trace * trace, bool exact) {
    char number[GGS_NUMBER_LENGTH];
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (!trace->models[i]) continue;
        const char * path  = ggs_reader_string(trace->reader, trace->files[i].path);
        const char * slash = strrchr(path, '/');
        uint64_t     size  = trace->files[i].size;
        ggs_text_printf(text, "%s%s (%s%s)", text->length > 0 ? ", " : "", slash == NULL ? path : slash + 1,
                        exact ? ggs_format_count(number, size) : ggs_format_bytes(number, size), exact ? " bytes" : "");
    }
}

// Sizes that differ but look alike ("11.8 MiB") are shown in bytes.
static void compare_model_files(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b) {
    struct ggs_text x = {0}, y = {0};
    list_models(&x, a, false);
    list_models(&y, b, false);
    if (strcmp(ggs_text_string(&x), ggs_text_string(&y)) == 0) {
        ggs_text_clear(&x);
        ggs_text_clear(&y);
        list_models(&x, a, true);
        list_models(&y, b, true);
    }
    compare(diff, "models", &x, &y);
    ggs_text_release(&x);
    ggs_text_release(&y);
}

// Files of the same name and size may be different models: experiment.json has a digest of their
// metadata.
static void list_digests(struct ggs_text * text, struct ggs_trace * trace) {
    const char *          experiment = ggs_reader_experiment(trace->reader);
    struct ggs_json_value files      = ggs_json_member(ggs_json_read(experiment, strlen(experiment)), "model_files"),
                          file       = {0};
    while (ggs_json_next(files, &file)) {
        if (ggs_json_append_to(ggs_json_member(file, "metadata_xxh3"), text)) ggs_text_putc(text, ' ');
    }
}

static void compare_models(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b) {
    compare_model_files(diff, a, b);
    struct ggs_text x = {0}, y = {0};
    list_digests(&x, a);
    list_digests(&y, b);
    if (x.length > 0 && y.length > 0 && strcmp(ggs_text_string(&x), ggs_text_string(&y)) != 0)
        warn(diff, "the models' metadata differ");
    ggs_text_release(&x);
    ggs_text_release(&y);
}

// ---- engines ----

// Versions and build ids of one process; `brief`: the well-known ones.
static void describe_engine(struct ggs_text * all, struct ggs_text * brief, const char * line) {
    static const char * const left_out[] = {"capture=", "library=", "directory=", "argument="};
    for (; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        bool   out    = false;
        for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
            out |= strncmp(line, left_out[i], strlen(left_out[i])) == 0;
        if (out) continue;
        bool is_brief = strncmp(line, "build_id=", 9) != 0;
        for (int i = 0; i < 1 + is_brief; i++) {
            struct ggs_text * to = i == 0 ? all : brief;
            if (to->length > 0) ggs_text_puts(to, ", ");
            ggs_text_append(to, line, length);
        }
    }
}

// Adds an entry to a list that is separated by "; ", unless it has the entry already.
static void add_once(struct ggs_text * list, const struct ggs_text * entry) {
    for (const char * at = ggs_text_string(list); *at != '\0'; at += strcspn(at, ";"), at += *at == ';' ? 2 : 0)
        if (strncmp(at, ggs_text_string(entry), entry->length) == 0 &&
            (at[entry->length] == '\0' || at[entry->length] == ';'))
            return;
    if (list->length > 0) ggs_text_puts(list, "; ");
    ggs_text_puts(list, ggs_text_string(entry));
}

// Processes of a joined experiment that run the same engine are listed once.
static int list_engines(struct ggs_text * all, struct ggs_text * brief, struct ggs_trace * trace,
                        struct ggs_error * error) {
    struct ggs_text     one = {0}, one_brief = {0};
    struct ggs_cursor * cursor;
    struct ggs_process  row;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_PROCESSES, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &row, error)) > 0) {
        ggs_text_clear(&one);
        ggs_text_clear(&one_brief);
        describe_engine(&one, &one_brief, ggs_reader_string(trace->reader, row.engine));
        add_once(all, &one);
        add_once(brief, &one_brief);
    }
    ggs_cursor_close(cursor);
    ggs_text_release(&one);
    ggs_text_release(&one_brief);
    return status;
}

static void cpu_library(char name[128], struct ggs_trace * trace) {
    const char * text = ggs_reader_experiment(trace->reader);
    ggs_json_to_buffer(ggs_json_member(ggs_json_member(ggs_json_read(text, strlen(text)), "engine"), "cpu_library"),
                       name, 128);
}

// The engine chooses a library by the processor, and kernels differ with it.
static bool compare_libraries(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b) {
    char x[128], y[128];
    cpu_library(x, a);
    cpu_library(y, b);
    if (x[0] == '\0' || y[0] == '\0' || strcmp(x, y) == 0) return false;
    warn(diff, "the CPU libraries differ: %s and %s; kernels and times differ for that reason", x, y);
    return true;
}

static int compare_engines(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b,
                           struct ggs_error * error) {
    struct ggs_text all[2] = {{0}, {0}}, brief[2] = {{0}, {0}};
    int             status = list_engines(&all[0], &brief[0], a, error);
    if (status == 0) status = list_engines(&all[1], &brief[1], b, error);
    diff->engines_differ = status == 0 && strcmp(ggs_text_string(&all[0]), ggs_text_string(&all[1])) != 0;
    if (diff->engines_differ) {
        if (strcmp(ggs_text_string(&brief[0]), ggs_text_string(&brief[1])) == 0) {
            if (!compare_libraries(diff, a, b)) warn(diff, "the engines are builds of the same version that differ");
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

// The ops of such a backend have no counterpart in the other recording.
static void warn_of_opaque(struct ggs_diff * diff, char side, uint64_t nodes) {
    if (nodes > 0)
        warn(diff, "%" PRIu64 " nodes of %c ran on backends without op times: they are not compared", nodes, side);
}

// ---- tokens ----

// Finds the first step with different tokens, -1 for none. A longer recording does not differ by
// its length.
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

// ---- conditions ----

static const char * limit_text(char buffer[GGS_NUMBER_LENGTH], uint64_t limit) {
    return limit == 0 ? "none" : ggs_format_bytes(buffer, limit);
}

static void warn_of_busy(struct ggs_diff * diff, char side, const struct ggs_conditions * conditions) {
    if (ggs_conditions_are_busy(conditions))
        warn(diff, "other programs used %.0f %% of the CPUs%s while %c was recorded: its times say little",
             100 * conditions->others_cpu_share,
             conditions->steal_share >= 0.005 ? ", and the hypervisor some (steal)," : "", side);
}

// Different conditions of the recordings can explain a change.
static void compare_conditions(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b) {
    struct ggs_conditions x, y;
    char                  p[GGS_NUMBER_LENGTH], q[GGS_NUMBER_LENGTH];
    ggs_conditions_read(&x, a);
    ggs_conditions_read(&y, b);
    if (x.memory_limit != y.memory_limit)
        warn(diff, "the memory limits differ: %s and %s", limit_text(p, x.memory_limit), limit_text(q, y.memory_limit));
    if (x.cold != y.cold)
        warn(diff, "%c began cold, with its model dropped from the page cache; %c did not", x.cold ? 'A' : 'B',
             x.cold ? 'B' : 'A');
    bool streamed[2] = {ggs_reader_rows(a->reader, GGS_TABLE_STREAMED) > 0,
                        ggs_reader_rows(b->reader, GGS_TABLE_STREAMED) > 0};
    if (streamed[0] != streamed[1]) warn(diff, "the weights of %c alone were streamed", streamed[0] ? 'A' : 'B');
    if (diff->a.proved != diff->b.proved)
        warn(diff, "%c was recorded with --prove, which distorts its times", diff->a.proved ? 'A' : 'B');
    if (memcmp(ggs_reader_uuid(a->reader), ggs_reader_uuid(b->reader), 16) == 0) return;
    warn_of_busy(diff, 'A', &x);
    warn_of_busy(diff, 'B', &y);
}

int ggs_diff_warn(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error) {
    if (ggs_trace_missing(a) != NULL) warn(diff, "A is incomplete: %.250s", ggs_trace_missing(a));
    if (ggs_trace_missing(b) != NULL) warn(diff, "B is incomplete: %.250s", ggs_trace_missing(b));
    compare_models(diff, a, b);
    diff->parted = -1;
    int status   = compare_tokens(diff, a, b, error);
    if (status == 0 && diff->a.threads != diff->b.threads)
        warn(diff, "the threads differ: %" PRIu64 " and %" PRIu64, diff->a.threads, diff->b.threads);
    if (status == 0) status = compare_engines(diff, a, b, error);
    if (status == 0) status = compare_backends(diff, a, b, error);
    if (status == 0) compare_conditions(diff, a, b);
    if (status == 0) warn_of_opaque(diff, 'A', diff->a.opaque);
    if (status == 0) warn_of_opaque(diff, 'B', diff->b.opaque);
    return status;
}
