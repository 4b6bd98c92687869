// buffer-timeline.json: when the engine's buffers were allocated and freed. The format "buffers"
// has the same as JSON lines.
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "export/formats.h"
#include "export/json/json-format.h"
#include "export/metadata.h"

enum { NO_LAYER = 65535, NAME_LENGTH = 160 };

struct event {
    int64_t  ns;
    bool     end;
    uint64_t i; // index in trace.buffers
};

// Buffers with their place in the layout, and events in order of time.
struct buffers {
    const struct ggs_trace * trace;
    char (*names)[NAME_LENGTH];
    uint32_t *     layers; // the layer of all tensors in the buffer, NO_LAYER if they differ
    struct event * events;
    uint64_t       n_events;
    uint64_t       peak, peak_private; // concurrent bytes: of all buffers, and without mapped files
};

static void release(struct buffers * b) {
    free(b->names);
    free(b->layers);
    free(b->events);
}

// ---- names ----

static void find_layers(struct ggs_export * export, struct buffers * b) {
    enum { UNKNOWN = NO_LAYER + 1 };
    const struct ggs_trace * trace = b->trace;
    for (uint64_t i = 0; i < trace->n_buffers; i++) b->layers[i] = UNKNOWN;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        uint64_t buffer = trace->tensors[i].buffer;
        int      layer  = ggs_tensor_layer(export, &trace->tensors[i]);
        uint32_t own    = layer < 0 || layer > NO_LAYER ? NO_LAYER : (uint32_t) layer;
        if (buffer == 0 || buffer > trace->n_buffers) continue;
        uint32_t * known = &b->layers[buffer - 1];
        *known           = *known == UNKNOWN || *known == own ? own : NO_LAYER;
    }
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        if (b->layers[i] > NO_LAYER) b->layers[i] = NO_LAYER;
    }
}

// "Weights_CPU_Mapped", "KVCache_CPU", "Compute_CUDA0"; "_L7" if the buffer is of one layer.
static void find_name(const struct buffers * b, uint64_t i) {
    static const char * const classes[GGS_CLASS_COUNT] = {[GGS_CLASS_OTHER]   = "Buffer",
                                                          [GGS_CLASS_WEIGHTS] = "Weights",
                                                          [GGS_CLASS_KV]      = "KVCache",
                                                          [GGS_CLASS_COMPUTE] = "Compute",
                                                          [GGS_CLASS_IO]      = "InputOutput"};
    const struct ggs_buffer * row                      = &b->trace->buffers[i];
    const char *              what = classes[row->class_ < GGS_CLASS_COUNT ? row->class_ : GGS_CLASS_OTHER];
    const char *              type = ggs_reader_string(b->trace->reader, row->type);
    if (b->layers[i] == NO_LAYER) {
        snprintf(b->names[i], NAME_LENGTH, "%s_%s", what, type);
    } else {
        snprintf(b->names[i], NAME_LENGTH, "%s_%.128s_L%u", what, type, b->layers[i]);
    }
}

static const char * usage_name(uint64_t usage) {
    return usage == 1 ? "WEIGHTS" : usage == 2 ? "COMPUTE" : "ANY";
}

// ---- events ----

static int by_time(const void * a, const void * b) {
    const struct event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    if (x->end != y->end) return (int) y->end - (int) x->end; // at equal times buffers are freed first
    return x->i < y->i ? -1 : x->i > y->i;
}

static void find_events(struct buffers * b) {
    uint64_t all = 0, own = 0;
    for (uint64_t i = 0; i < b->trace->n_buffers; i++) {
        const struct ggs_buffer * row = &b->trace->buffers[i];
        b->events[b->n_events++]      = (struct event){row->begin_ns, false, i};
        if (row->end_ns >= 0) b->events[b->n_events++] = (struct event){row->end_ns, true, i};
    }
    qsort(b->events, b->n_events, sizeof(*b->events), by_time);
    for (uint64_t e = 0; e < b->n_events; e++) {
        const struct ggs_buffer * row = &b->trace->buffers[b->events[e].i];
        uint64_t                  add = b->events[e].end ? 0 - row->size : row->size;
        all += add;
        if (row->file == 0) own += add;
        if (all > b->peak) b->peak = all;
        if (own > b->peak_private) b->peak_private = own;
    }
}

static int find_all(struct ggs_export * export, struct buffers * b, struct ggs_error * error) {
    uint64_t n = export->trace.n_buffers;
    *b         = (struct buffers){.trace = &export->trace};
    b->names   = calloc(n + 1, sizeof(*b->names));
    b->layers  = calloc(n + 1, sizeof(*b->layers));
    b->events  = calloc(2 * n + 1, sizeof(*b->events));
    if (b->names == NULL || b->layers == NULL || b->events == NULL) return ggs_fail_memory(error);
    find_layers(export, b);
    for (uint64_t i = 0; i < n; i++) find_name(b, i);
    find_events(b);
    return 0;
}

// ---- buffer-timeline.json ----

static void put_buffer(struct ggs_export * export, struct ggs_json * json, const struct buffers * b, uint64_t i) {
    const struct ggs_buffer * row = &b->trace->buffers[i];
    ggs_json_object_inline(json, NULL);
    ggs_json_u64(json, "id", row->buffer);
    ggs_json_string(json, "name", b->names[i]);
    ggs_json_u64(json, "size", row->size);
    ggs_json_string(json, "backend", ggs_reader_string(b->trace->reader, row->type));
    ggs_json_u64(json, "usage", row->usage);
    ggs_json_string(json, "usage_name", usage_name(row->usage));
    ggs_json_u64(json, "layer", b->layers[i]);
    ggs_json_ms(json, "alloc_time_ms", row->begin_ns);
    if (row->end_ns < 0) {
        ggs_json_null(json, "dealloc_time_ms");
    } else {
        ggs_json_ms(json, "dealloc_time_ms", row->end_ns);
    }
    ggs_json_string(json, "class", ggs_word_class(row->class_));
    ggs_json_address(json, "address", row->address);
    if (row->file > 0 && row->file <= b->trace->n_files) {
        uint64_t path = b->trace->files[row->file - 1].path;
        ggs_json_string(json, "file", ggs_export_valid(export, ggs_reader_string(b->trace->reader, path)));
    } else {
        ggs_json_null(json, "file");
    }
    ggs_json_end(json);
}

static void put_timeline(struct ggs_json * json, const struct buffers * b) {
    uint64_t size = 0, active = 0;
    ggs_json_array(json, "timeline");
    for (uint64_t e = 0; e < b->n_events; e++) {
        const struct event *      event = &b->events[e];
        const struct ggs_buffer * row   = &b->trace->buffers[event->i];
        size                            = event->end ? size - row->size : size + row->size;
        active                          = event->end ? active - 1 : active + 1;
        ggs_json_object_inline(json, NULL);
        ggs_json_ms(json, "timestamp_ms", event->ns);
        ggs_json_string(json, "event", event->end ? "dealloc" : "alloc");
        ggs_json_u64(json, "buffer_id", row->buffer);
        ggs_json_string(json, "buffer_name", b->names[event->i]);
        ggs_json_u64(json, "size", row->size);
        ggs_json_u64(json, "cumulative_size", size);
        ggs_json_u64(json, "num_active_buffers", active);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// Writes a usage and its number of buffers.
static void put_usage(struct ggs_json * json, const struct buffers * b) {
    enum { USAGES = 3 };
    uint64_t n[USAGES] = {0};
    for (uint64_t i = 0; i < b->trace->n_buffers; i++) {
        uint64_t usage = b->trace->buffers[i].usage < USAGES ? b->trace->buffers[i].usage : 0;
        n[usage]++;
    }
    ggs_json_object_inline(json, "usage_breakdown");
    for (unsigned i = 0; i < USAGES; i++) {
        if (n[i] > 0) ggs_json_u64(json, usage_name(i), n[i]);
    }
    ggs_json_end(json);
}

int ggs_json_buffers(struct ggs_export * export, struct ggs_error * error) {
    struct ggs_json_file file;
    struct ggs_json *    json     = &file.json;
    int64_t              duration = 0;
    struct buffers       b;
    int                  status = find_all(export, &b, error);
    if (status == 0) status = ggs_json_file_open(export, &file, "buffer-timeline.json", error);
    if (status == 0) {
        if (b.n_events > 0) duration = b.events[b.n_events - 1].ns - b.events[0].ns;
        ggs_json_object(json, "metadata");
        ggs_json_u64(json, "total_events", b.n_events);
        ggs_json_u64(json, "total_buffers", export->trace.n_buffers);
        ggs_json_u64(json, "peak_occupancy_bytes", b.peak);
        ggs_json_double(json, "peak_occupancy_mb", (double) b.peak / 1048576);
        ggs_json_u64(json, "peak_private_bytes", b.peak_private);
        ggs_json_ms(json, "duration_ms", duration);
        put_usage(json, &b);
        ggs_json_end(json);
        ggs_json_array(json, "buffers");
        for (uint64_t i = 0; i < export->trace.n_buffers; i++) put_buffer(export, json, &b, i);
        ggs_json_end(json);
        put_timeline(json, &b);
        status = ggs_json_file_close(export, &file, 0, error);
    }
    release(&b);
    return status;
}

// ---- JSON lines ----

static void put_line(struct ggs_export * export, struct ggs_target * target, const struct buffers * b,
                     const struct event * event) {
    const struct ggs_buffer * row = &b->trace->buffers[event->i];
    struct ggs_json           json;
    ggs_json_init(&json, ggs_target_json, target, false);
    ggs_json_object(&json, NULL);
    ggs_json_string(&json, "experiment_id", export->id);
    ggs_json_ms(&json, "timestamp_ms", event->ns);
    ggs_json_string(&json, "event", event->end ? "dealloc" : "alloc");
    ggs_json_u64(&json, "buffer_id", row->buffer);
    if (!event->end) {
        ggs_json_u64(&json, "buffer_ptr", row->address);
        ggs_json_u64(&json, "size", row->size);
        ggs_json_string(&json, "name", b->names[event->i]);
        ggs_json_string(&json, "backend", ggs_reader_string(b->trace->reader, row->type));
        ggs_json_u64(&json, "usage", row->usage);
        ggs_json_u64(&json, "layer", b->layers[event->i]);
    }
    ggs_json_end(&json);
    ggs_json_finish(&json); // failures are kept in the target
    ggs_target_text(target, "\n");
}

int ggs_export_buffers(struct ggs_export * export, struct ggs_error * error) {
    struct ggs_target target;
    struct buffers    b;
    int               status = find_all(export, &b, error);
    if (status == 0) status = ggs_export_open(export, &target, NULL, error);
    if (status == 0) {
        for (uint64_t e = 0; e < b.n_events; e++) put_line(export, &target, &b, &b.events[e]);
        status = ggs_export_close(export, &target, 0, error);
    }
    release(&b);
    return status;
}
