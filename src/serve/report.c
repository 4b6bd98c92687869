#include "serve/report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/ops/stats.h"
#include "base/json.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/text.h"
#include "gguf/gguf.h"
#include "serve/assets.h"
#include "serve/reply.h"

static const char mark[] = "<!--ggscope-experiment-->";

enum { PIECE = 3 << 16, LIST_MOST = 4096 };

struct writing {
    FILE *                            file;
    const struct ggs_report_options * options;
    uint64_t                          bytes;
};

// ---- bytes ----

static int put(struct writing * writing, const char * data, size_t length, struct ggs_error * error) {
    char limit[GGS_NUMBER_LENGTH];
    writing->bytes += length;
    if (writing->bytes > writing->options->most_bytes)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "the report would be larger than %s: allow more with --max-size, or use ggscope serve",
                        ggs_format_bytes(limit, writing->options->most_bytes));
    return fwrite(data, 1, length, writing->file) == length ? 0 : ggs_fail_errno(error, "cannot write the report");
}

static int puts_to(struct writing * writing, const char * text, struct ggs_error * error) {
    return put(writing, text, strlen(text), error);
}

static void append_base64(struct ggs_text * text, const uint8_t * data, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t   n = length - i;
        uint32_t bits =
            (uint32_t) data[i] << 16 | (n > 1 ? (uint32_t) data[i + 1] << 8 : 0) | (n > 2 ? data[i + 2] : 0);
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], n > 1 ? digits[bits >> 6 & 63] : '=',
                        n > 2 ? digits[bits & 63] : '='};
        ggs_text_append(text, four, sizeof(four));
    }
}

// ---- files beside the trace ----

// Long lists that no answer uses are replaced by zero bytes of the same length.
static void blank_lists(struct ggs_gguf * gguf) {
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        const struct ggs_gguf_kv * kv = &gguf->kvs[i];
        if (!kv->array || kv->size <= LIST_MOST) continue;
        uint8_t * data = gguf->metadata + (kv->data - gguf->metadata);
        uint32_t  type = GGS_GGUF_U8;
        memcpy(data - 12, &type, sizeof(type)); // element type and count precede the elements
        memcpy(data - 8, &kv->size, sizeof(kv->size));
        memset(data, 0, (size_t) kv->size);
    }
}

// Writes the head of a file.
static void put_file(struct ggs_json * json, const char * path, const void * data, size_t known, uint64_t size) {
    struct ggs_text head = {0}, base64 = {0};
    ggs_text_append(&head, data, known);
    bool gzip = ggs_deflate(&head);
    append_base64(&base64, (const uint8_t *) head.data, head.length);
    ggs_json_object(json, NULL);
    ggs_json_string(json, "path", path);
    ggs_json_u64(json, "bytes", size);
    ggs_json_string(json, "head", ggs_text_string(&base64));
    ggs_json_bool(json, "gzip", gzip);
    ggs_json_end(json);
    ggs_text_release(&base64);
    ggs_text_release(&head);
}

static void put_model(struct ggs_json * json, const char * path) {
    struct ggs_gguf * gguf;
    if (ggs_gguf_open(&gguf, path, NULL) < 0) return; // the page then shows what the trace has, as the server would
    blank_lists(gguf);
    put_file(json, path, gguf->metadata, (size_t) gguf->infos_end, gguf->size);
    ggs_gguf_free(gguf);
}

// Writes the measured memory bandwidth, if any (ggscope stats --probe).
static void put_probe(struct ggs_json * json, const char * directory) {
    char               path[PATH_MAX];
    struct ggs_mapping probe;
    ggs_stats_probe_path(path, directory);
    if (ggs_mapping_open(&probe, path, NULL) < 0) return;
    if (probe.size > 0 && probe.size <= LIST_MOST) put_file(json, path, probe.data, (size_t) probe.size, probe.size);
    ggs_mapping_close(&probe);
}

// ---- the experiment ----

// JSON inside HTML: "<" occurs only in strings, where it is escaped, so no text can end the script
// element.
static int put_json(struct writing * writing, const struct ggs_text * json, struct ggs_error * error) {
    struct ggs_text text = {0};
    for (size_t i = 0; i < json->length; i++) {
        if (json->data[i] == '<')
            ggs_text_puts(&text, "\\u003c");
        else
            ggs_text_putc(&text, json->data[i]);
    }
    int status = text.failed ? ggs_fail_memory(error) : put(writing, ggs_text_string(&text), text.length, error);
    ggs_text_release(&text);
    return status;
}

static int put_about(struct writing * writing, const struct ggs_snapshot * snapshot,
                     const struct ggs_experiments_state * state, const char * path, struct ggs_error * error) {
    const struct ggs_trace * trace = &snapshot->trace;
    struct ggs_text          text  = {0};
    struct ggs_json          json;
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_json_object(&json, NULL);
    ggs_json_string(&json, "path", path);
    ggs_json_string(&json, "directory", state->directory);
    ggs_json_string(&json, "name", state->name);
    ggs_json_string(&json, "state", state->state);
    ggs_json_array(&json, "files");
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (trace->files[i].gguf != 0) put_model(&json, ggs_reader_string(trace->reader, trace->files[i].path));
    }
    put_probe(&json, state->directory);
    ggs_json_end(&json);
    ggs_json_end(&json);
    int status = ggs_json_finish(&json) != 0 || text.failed ? ggs_fail_memory(error) : 0;
    if (status == 0)
        status = puts_to(writing, "<script type=\"application/json\" class=\"ggscope-experiment\">", error);
    if (status == 0) status = put_json(writing, &text, error);
    if (status == 0) status = puts_to(writing, "</script>\n", error);
    ggs_text_release(&text);
    return status;
}

static int put_trace(struct writing * writing, const struct ggs_mapping * trace, struct ggs_error * error) {
    struct ggs_text text   = {0};
    int             status = puts_to(writing, "<script type=\"text/plain\" class=\"ggscope-trace\">", error);
    for (uint64_t at = 0; status == 0 && at < trace->size; at += PIECE) {
        uint64_t left = trace->size - at;
        ggs_text_clear(&text);
        append_base64(&text, trace->data + at, left < PIECE ? (size_t) left : PIECE);
        status = text.failed ? ggs_fail_memory(error) : put(writing, text.data, text.length, error);
        if (writing->options->progress != NULL)
            writing->options->progress(writing->options->progress_context, at, trace->size);
    }
    ggs_text_release(&text);
    return status == 0 ? puts_to(writing, "</script>", error) : status;
}

static int put_experiment(struct writing * writing, struct ggs_experiments * experiments,
                          const struct ggs_snapshot * snapshot, struct ggs_error * error) {
    struct ggs_experiments_state * state = malloc(sizeof(*state));
    struct ggs_mapping             trace;
    struct stat                    info;
    char                           path[PATH_MAX];
    if (state == NULL) return ggs_fail_memory(error);
    ggs_experiments_state(experiments, 0, state);
    bool alone = stat(state->directory, &info) == 0 && S_ISREG(info.st_mode); // a single trace
    snprintf(path, sizeof(path), alone ? "%.4000s" : "%.4000s/trace.ggs", state->directory);
    int status = put_about(writing, snapshot, state, path, error);
    if (status == 0 && (status = ggs_mapping_open(&trace, path, error)) == 0) {
        status = put_trace(writing, &trace, error);
        ggs_mapping_close(&trace);
    }
    free(state);
    return status;
}

int ggs_report_write(FILE * file, struct ggs_experiments * experiments, const struct ggs_report_options * options,
                     struct ggs_error * error) {
    struct writing           writing  = {.file = file, .options = options};
    struct ggs_text          page     = {0};
    struct ggs_snapshot *    snapshot = NULL;
    const struct ggs_asset * asset    = ggs_asset_find("/report.html", strlen("/report.html"));
    int                      status   = ggs_experiments_acquire(experiments, 0, &snapshot, error);
    if (status == 0 && asset != NULL && !ggs_inflate(asset->data, asset->size, &page)) status = ggs_fail_memory(error);
    const char * at = strstr(ggs_text_string(&page), mark);
    if (status == 0 && at == NULL)
        status = ggs_fail(error, GGS_UNSUPPORTED, "this ggscope was built without its page, and cannot write reports");
    if (status == 0) status = put(&writing, page.data, (size_t) (at - page.data), error);
    if (status == 0) status = put_experiment(&writing, experiments, snapshot, error);
    if (status == 0) status = puts_to(&writing, at + strlen(mark), error);
    ggs_snapshot_release(snapshot);
    ggs_text_release(&page);
    return status;
}
