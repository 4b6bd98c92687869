// The json format: metadata and buffers. The rest is in json-map.c, json-graph.c and json-trace.c.
#include "export/json/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/facts.h"
#include "export/formats.h"

// ---- files ----

int ggs_json_file_open(struct ggs_export * export, struct ggs_json_file * file, const char * name,
                       struct ggs_error * error) {
    int status = ggs_export_open(export, &file->target, name, error);
    if (status < 0) return status;
    ggs_json_init(&file->json, ggs_target_json, &file->target, true);
    ggs_json_object(&file->json, NULL);
    ggs_json_string(&file->json, "experiment_id", export->id);
    return 0;
}

int ggs_json_file_close(struct ggs_export * export, struct ggs_json_file * file, int status, struct ggs_error * error) {
    if (status == 0) {
        ggs_json_end(&file->json);
        ggs_json_finish(&file->json); // a failure is in the target
    }
    return ggs_export_close(export, &file->target, status, error);
}

// Addresses and ids make up a good part of a file: printf would take as long as all the rest.
void ggs_json_address(struct ggs_json * json, const char * key, uint64_t address) {
    char   text[18];
    size_t at = sizeof(text);
    do {
        text[--at] = "0123456789abcdef"[address & 15];
        address >>= 4;
    } while (address > 0);
    text[--at] = 'x';
    text[--at] = '0';
    ggs_json_string_n(json, key, text + at, sizeof(text) - at);
}

void ggs_json_id(struct ggs_json * json, const char * key, const char * prefix, uint64_t number) {
    char   text[40];
    size_t at = sizeof(text), length = strlen(prefix);
    do {
        text[--at] = (char) ('0' + number % 10);
        number /= 10;
    } while (number > 0);
    at -= length;
    memcpy(text + at, prefix, length);
    ggs_json_string_n(json, key, text + at, sizeof(text) - at);
}

void ggs_json_ms(struct ggs_json * json, const char * key, int64_t ns) {
    ggs_json_double(json, key, (double) ns / 1e6);
}

// ---- experiment_metadata.json ----

static void put_text(struct ggs_json * json, const struct ggs_facts * facts, const char * key, const char * path) {
    ggs_json_string(json, key, ggs_facts_text(facts, path));
}

static void put_number(struct ggs_json * json, const struct ggs_facts * facts, const char * key, const char * path) {
    int64_t value;
    if (ggs_facts_number(facts, path, &value)) {
        ggs_json_i64(json, key, value);
    } else {
        ggs_json_null(json, key);
    }
}

static int count_steps(struct ggs_export * export, uint64_t * steps, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    int                 status = ggs_export_steps(export, &cursor, error);
    *steps                     = 0;
    while (status >= 0 && (status = ggs_cursor_next(cursor, &step, error)) > 0) ++*steps;
    ggs_cursor_close(cursor);
    return status;
}

static int write_metadata(struct ggs_export * export, struct ggs_error * error) {
    const struct ggs_facts * facts = export->facts;
    struct ggs_json_file     file;
    struct ggs_json *        json = &file.json;
    uint64_t                 steps;
    int                      status = count_steps(export, &steps, error);
    if (status == 0) status = ggs_json_file_open(export, &file, "experiment_metadata.json", error);
    if (status < 0) return status;
    put_text(json, facts, "timestamp_start", "start_utc");
    put_text(json, facts, "model_file", "model");
    ggs_json_string(json, "prompt", ggs_export_valid(export, ggs_facts_prompt(facts)));
    ggs_json_u64(json, "num_tokens_generated", steps);
    ggs_json_array(json, "command");
    const char * word;
    for (size_t i = 0; (word = ggs_facts_command(facts, i)) != NULL; i++) ggs_json_string(json, NULL, word);
    ggs_json_end(json);
    ggs_json_object(json, "engine");
    ggs_json_string(json, "name", "llama.cpp");
    put_text(json, facts, "version", "engine.llama_version");
    put_text(json, facts, "commit", "engine.ggml_commit");
    put_text(json, facts, "ggml_version", "engine.ggml_version");
    ggs_json_end(json);
    ggs_json_object(json, "host");
    put_text(json, facts, "cpu", "host.cpu");
    put_number(json, facts, "cores", "host.cores");
    put_number(json, facts, "memory_bytes", "host.memory_bytes");
    put_text(json, facts, "kernel", "host.kernel");
    put_text(json, facts, "os", "host.os");
    ggs_json_end(json);
    put_number(json, facts, "threads", "threads");
    put_text(json, facts, "ggscope_version", "ggscope_version");
    put_text(json, facts, "state", "state");
    ggs_json_string(json, "warning", ggs_reader_warning(export->trace.reader));
    return ggs_json_file_close(export, &file, 0, error);
}

// ---- buffer-timeline.json ----

struct event {
    int64_t                   ns;
    bool                      end;
    const struct ggs_buffer * buffer;
};

static int by_time(const void * a, const void * b) {
    const struct event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    if (x->end != y->end) return (int) y->end - (int) x->end; // what is freed at that moment makes room first
    return x->buffer->buffer < y->buffer->buffer ? -1 : x->buffer->buffer > y->buffer->buffer;
}

// Buffers that lie in mapped files take no memory of the program's own: they are listed, but are no events.
static struct event * list_events(const struct ggs_trace * trace, uint64_t * n, uint64_t * peak) {
    struct event * events = malloc((2 * trace->n_buffers + 1) * sizeof(*events));
    uint64_t       now    = 0;
    *n = 0, *peak = 0;
    if (events == NULL) return NULL;
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * b = &trace->buffers[i];
        if (b->file != 0) continue;
        events[(*n)++] = (struct event){b->begin_ns, false, b};
        if (b->end_ns >= 0) events[(*n)++] = (struct event){b->end_ns, true, b};
    }
    qsort(events, *n, sizeof(*events), by_time);
    for (uint64_t i = 0; i < *n; i++) {
        now = events[i].end ? now - events[i].buffer->size : now + events[i].buffer->size;
        if (now > *peak) *peak = now;
    }
    return events;
}

static const char * buffer_name(struct ggs_export * export, const struct ggs_buffer * b) {
    return ggs_reader_string(export->trace.reader, b->type);
}

static void put_buffer(struct ggs_export * export, struct ggs_json * json, const struct ggs_buffer * b) {
    ggs_json_object_inline(json, NULL);
    ggs_json_u64(json, "id", b->buffer);
    ggs_json_string(json, "name", buffer_name(export, b));
    ggs_json_u64(json, "size", b->size);
    ggs_json_string(json, "backend", buffer_name(export, b));
    ggs_json_u64(json, "usage", b->usage);
    ggs_json_string(json, "usage_name", ggs_word_usage(b->usage));
    ggs_json_u64(json, "layer", 65535); // a buffer belongs to no single layer
    ggs_json_ms(json, "alloc_time_ms", b->begin_ns);
    if (b->end_ns < 0) {
        ggs_json_null(json, "dealloc_time_ms");
    } else {
        ggs_json_ms(json, "dealloc_time_ms", b->end_ns);
    }
    ggs_json_string(json, "class", ggs_word_class(b->class_));
    ggs_json_address(json, "address", b->address);
    if (b->file > 0 && b->file <= export->trace.n_files) {
        ggs_json_string(json, "file", ggs_reader_string(export->trace.reader, export->trace.files[b->file - 1].path));
    } else {
        ggs_json_null(json, "file");
    }
    ggs_json_end(json);
}

static void put_timeline(struct ggs_export * export, struct ggs_json * json, const struct event * events, uint64_t n) {
    uint64_t size = 0, active = 0;
    ggs_json_array(json, "timeline");
    for (uint64_t i = 0; i < n; i++) {
        const struct ggs_buffer * b = events[i].buffer;
        size                        = events[i].end ? size - b->size : size + b->size;
        active                      = events[i].end ? active - 1 : active + 1;
        ggs_json_object_inline(json, NULL);
        ggs_json_ms(json, "timestamp_ms", events[i].ns);
        ggs_json_string(json, "event", events[i].end ? "dealloc" : "alloc");
        ggs_json_u64(json, "buffer_id", b->buffer);
        ggs_json_string(json, "buffer_name", buffer_name(export, b));
        ggs_json_u64(json, "size", b->size);
        ggs_json_u64(json, "cumulative_size", size);
        ggs_json_u64(json, "num_active_buffers", active);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_usage(const struct ggs_trace * trace, struct ggs_json * json) {
    ggs_json_object(json, "usage_breakdown");
    for (uint64_t class_ = GGS_CLASS_OTHER; class_ < GGS_CLASS_COUNT; class_++) {
        uint64_t n = 0, bytes = 0;
        for (uint64_t i = 0; i < trace->n_buffers; i++) {
            if (trace->buffers[i].class_ != class_) continue;
            n++;
            bytes += trace->buffers[i].size;
        }
        if (n == 0) continue;
        ggs_json_object_inline(json, ggs_word_class(class_));
        ggs_json_u64(json, "count", n);
        ggs_json_u64(json, "total_bytes", bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static int write_buffers(struct ggs_export * export, struct ggs_error * error) {
    struct ggs_json_file file;
    struct ggs_json *    json     = &file.json;
    int64_t              duration = 0;
    uint64_t             n, peak;
    struct event *       events = list_events(&export->trace, &n, &peak);
    if (events == NULL) return ggs_fail_memory(error);
    int status = ggs_json_file_open(export, &file, "buffer-timeline.json", error);
    if (status == 0) {
        ggs_facts_number(export->facts, "duration_ns", &duration);
        ggs_json_object(json, "metadata");
        ggs_json_u64(json, "total_events", n);
        ggs_json_u64(json, "total_buffers", export->trace.n_buffers);
        ggs_json_u64(json, "peak_occupancy_bytes", peak);
        ggs_json_double(json, "peak_occupancy_mb", (double) peak / 1048576);
        ggs_json_ms(json, "duration_ms", duration);
        put_usage(&export->trace, json);
        ggs_json_end(json);
        ggs_json_array(json, "buffers");
        for (uint64_t i = 0; i < export->trace.n_buffers; i++) put_buffer(export, json, &export->trace.buffers[i]);
        ggs_json_end(json);
        put_timeline(export, json, events, n);
        status = ggs_json_file_close(export, &file, 0, error);
    }
    free(events);
    return status;
}

int ggs_export_json(struct ggs_export * export, struct ggs_error * error) {
    struct ggs_memory_map map    = {0};
    int                   status = write_metadata(export, error);
    if (status == 0) status = ggs_json_memory_map(export, &map, error);
    if (status == 0) status = write_buffers(export, error);
    if (status == 0) status = ggs_export_mkdir(export, "graphs", error);
    if (status == 0) status = ggs_export_mkdir(export, "traces", error);
    if (status == 0) status = ggs_json_tokens(export, &map, error);
    if (status == 0) {
        ggs_export_sweep(export, "graphs", ".json");
        ggs_export_sweep(export, "traces", ".json");
    }
    ggs_memory_map_release(&map);
    return status;
}
