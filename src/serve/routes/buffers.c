// /api/x/N/buffers and /api/x/N/occupancy: runtime buffers, what lives in them, and how much they took when.
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/occupancy.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "gguf/gguf-name.h"
#include "serve/routes/columns.h"
#include "serve/routes/routes.h"

// ---- buffers ----

// What is no scratch: weights that were copied at load, caches, inputs and outputs that stay.
static bool lives_in_buffer(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    if (tensor->buffer == 0 || tensor->buffer > trace->n_buffers || tensor->view != 0) return false;
    uint64_t kind = trace->buffers[tensor->buffer - 1].class_;
    return kind == GGS_CLASS_WEIGHTS || kind == GGS_CLASS_KV;
}

// The layer that all of a buffer's tensors belong to; -1 where there are several, or none.
static int * find_layers(const struct ggs_trace * trace) {
    int * layers = calloc(trace->n_buffers + 1, sizeof(*layers));
    if (layers == NULL) return NULL;
    for (uint64_t i = 0; i < trace->n_buffers; i++) layers[i] = -2;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        if (!lives_in_buffer(trace, &trace->tensors[i])) continue;
        int * layer = &layers[trace->tensors[i].buffer - 1];
        *layer      = *layer == -2 || *layer == trace->layers[i] ? trace->layers[i] : -1;
    }
    return layers;
}

static void put_buffer(struct ggs_question * request, struct ggs_json * json, const struct ggs_buffer * buffer,
                       int layer) {
    ggs_json_object(json, NULL);
    ggs_json_u64(json, "buffer", buffer->buffer);
    ggs_json_string(json, "type", ggs_request_string(request, buffer->type));
    ggs_json_string(json, "class", ggs_word_class(buffer->class_));
    ggs_json_string(json, "usage", ggs_word_usage(buffer->usage));
    ggs_json_u64(json, "bytes", buffer->size);
    ggs_json_i64(json, "begin_ns", buffer->begin_ns);
    if (buffer->end_ns >= 0)
        ggs_json_i64(json, "end_ns", buffer->end_ns);
    else
        ggs_json_null(json, "end_ns");
    ggs_json_bool(json, "mapped", buffer->file != 0);
    if (layer >= 0)
        ggs_json_i64(json, "layer", layer);
    else
        ggs_json_null(json, "layer");
    ggs_json_end(json);
}

// The same tensor as several graphs saw it is told once: they are sorted by place.
struct resident {
    uint64_t buffer, offset, tensor, bytes;
};

static int by_place(const void * a, const void * b) {
    const struct resident *x = a, *y = b;
    if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static struct resident * find_residents(const struct ggs_trace * trace, uint64_t * n) {
    struct resident * list = malloc((trace->n_tensors + 1) * sizeof(*list));
    uint64_t          kept = 0;
    *n                     = 0;
    if (list == NULL) return NULL;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        if (!lives_in_buffer(trace, t)) continue;
        uint64_t bytes = ggs_trace_row_bytes(trace, t);
        for (int k = 1; k < 4; k++) bytes *= t->ne[k] > 0 ? (uint64_t) t->ne[k] : 0;
        list[(*n)++] = (struct resident){t->buffer, t->buffer_offset, i, bytes};
    }
    if (*n > 1) qsort(list, *n, sizeof(*list), by_place);
    for (uint64_t i = 0; i < *n; i++) {
        if (kept > 0 && list[kept - 1].buffer == list[i].buffer && list[kept - 1].offset == list[i].offset) continue;
        list[kept++] = list[i];
    }
    *n = kept;
    return list;
}

static void put_residents(struct ggs_question * request, struct ggs_json * json, const struct resident * list,
                          uint64_t n) {
    static const char * const titles[] = {"name", "buffer", "offset", "bytes", "layer", "component"};
    ggs_json_object(json, "tensors");
    for (unsigned column = 0; column < sizeof(titles) / sizeof(titles[0]); column++) {
        ggs_json_array(json, titles[column]);
        for (uint64_t i = 0; i < n; i++) {
            const char *    name = ggs_request_tensor(request, &request->trace.tensors[list[i].tensor]);
            char            component[GGS_COMPONENT_LENGTH];
            struct ggs_name parsed = ggs_name_parse(name, strlen(name));
            if (column == 0) ggs_json_string(json, NULL, name);
            if (column == 1) ggs_json_u64(json, NULL, list[i].buffer);
            if (column == 2) ggs_json_u64(json, NULL, list[i].offset);
            if (column == 3) ggs_json_u64(json, NULL, list[i].bytes);
            if (column == 4) ggs_json_i64(json, NULL, request->trace.layers[list[i].tensor]);
            if (column == 5) ggs_json_string(json, NULL, ggs_name_component(component, sizeof(component), &parsed, -1));
        }
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

int ggs_route_buffers(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_trace * trace = &request->trace;
    struct ggs_json          json;
    struct ggs_occupancy     occupancy;
    uint64_t                 n;
    int                      status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_occupancy_compute_buffers(&occupancy, &request->trace, error);
    if (status != 0) return status;
    int *             layers = find_layers(trace);
    struct resident * list   = find_residents(trace, &n);
    ggs_answer_begin(request->answer, &json);
    ggs_json_array(&json, "buffers");
    for (uint64_t i = 0; layers != NULL && i < trace->n_buffers; i++)
        put_buffer(request, &json, &trace->buffers[i], layers[i]);
    ggs_json_end(&json);
    ggs_json_u64(&json, "peak_bytes", occupancy.peak_bytes);
    put_residents(request, &json, list, n);
    status = ggs_answer_end(request->answer, &json, error);
    if (layers == NULL || list == NULL) status = ggs_fail_memory(error);
    ggs_occupancy_release(&occupancy);
    free(layers);
    free(list);
    return status;
}

// ---- occupancy ----

enum { BINS_MOST = 4096 };

struct bin {
    double bytes[GGS_CLASSES];
};

// The most of each class at any moment of each bin.
static void fill(struct bin * bins, uint64_t n, const struct ggs_occupancy * o) {
    double     length = (double) (o->end_ns - o->begin_ns);
    uint64_t   at     = 0;
    struct bin now    = {0};
    for (uint64_t i = 0; i < n; i++) {
        double end = (double) o->begin_ns + length * (double) (i + 1) / (double) n;
        bins[i]    = now;
        for (; at < o->n_events && ((double) o->events[at].ns < end || i + 1 == n); at++) {
            for (int c = 0; c < GGS_CLASSES; c++) {
                now.bytes[c] = (double) o->events[at].by_class[c];
                if (now.bytes[c] > bins[i].bytes[c]) bins[i].bytes[c] = now.bytes[c];
            }
        }
    }
}

static int write_curve(struct ggs_question * request, const struct ggs_occupancy * o, const struct bin * bins,
                       uint64_t n, struct ggs_error * error) {
    struct ggs_columns * columns = malloc(sizeof(*columns));
    if (columns == NULL) return ggs_fail_memory(error);
    ggs_columns_begin(columns, n, o->begin_ns);
    ggs_json_i64(&columns->json, "begin", o->begin_ns);
    ggs_json_i64(&columns->json, "end", o->end_ns);
    ggs_json_u64(&columns->json, "peak_bytes", o->peak_bytes);
    for (int c = 0; c < GGS_CLASSES; c++)
        ggs_columns_add(columns, ggs_word_class(c), GGS_CELL_F64, &bins[0].bytes[c], sizeof(*bins), n);
    int status = ggs_columns_end(columns, request->answer, error);
    free(columns);
    return status;
}

int ggs_route_occupancy(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_occupancy occupancy;
    uint64_t             n      = 1000;
    int                  status = ggs_query_u64(&request->query, "bins", 1, BINS_MOST, &n, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_occupancy_compute_buffers(&occupancy, &request->trace, error);
    if (status != 0) return status;
    struct bin * bins = calloc(n, sizeof(*bins));
    if (bins == NULL) {
        status = ggs_fail_memory(error);
    } else {
        fill(bins, n, &occupancy);
        status = write_curve(request, &occupancy, bins, n, error);
    }
    free(bins);
    ggs_occupancy_release(&occupancy);
    return status;
}
