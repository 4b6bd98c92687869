#include "answer/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "base/error.h"
#include "gguf/gguf-name.h"

// ---- what lives in buffers ----

struct ggs_buffers_resident {
    uint64_t     buffer, offset, bytes, tensor; // tensor: index in the trace's table
    const char * name;
    int          layer;
};

// What is no scratch: weights that were copied at load, and caches.
static bool lives_in_buffer(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    if (tensor->buffer == 0 || tensor->buffer > trace->n_buffers || tensor->view != 0) return false;
    uint64_t kind = trace->buffers[tensor->buffer - 1].class_;
    return kind == GGS_CLASS_WEIGHTS || kind == GGS_CLASS_KV;
}

static void find_layers(struct ggs_buffers * buffers) {
    const struct ggs_trace * trace = buffers->trace;
    for (uint64_t i = 0; i < trace->n_buffers; i++) buffers->layers[i] = -2;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        if (!lives_in_buffer(trace, &trace->tensors[i])) continue;
        int * layer = &buffers->layers[trace->tensors[i].buffer - 1];
        *layer      = *layer == -2 || *layer == trace->layers[i] ? trace->layers[i] : -1;
    }
}

static int by_place(const void * a, const void * b) {
    const struct ggs_buffers_resident *x = a, *y = b;
    if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

// A tensor that several graphs saw is listed once.
static void find_residents(struct ggs_buffers * buffers) {
    const struct ggs_trace *      trace = buffers->trace;
    struct ggs_buffers_resident * list  = buffers->residents;
    uint64_t                      n = 0, kept = 0;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        if (!lives_in_buffer(trace, t)) continue;
        uint64_t bytes = ggs_trace_row_bytes(trace, t);
        for (int k = 1; k < 4; k++) bytes *= t->ne[k] > 0 ? (uint64_t) t->ne[k] : 0;
        list[n++] = (struct ggs_buffers_resident){
            t->buffer, t->buffer_offset, bytes, i, ggs_reader_string(trace->reader, t->name), trace->layers[i]};
    }
    if (n > 1) qsort(list, n, sizeof(*list), by_place);
    for (uint64_t i = 0; i < n; i++) {
        if (kept > 0 && list[kept - 1].buffer == list[i].buffer && list[kept - 1].offset == list[i].offset) continue;
        list[kept++] = list[i];
    }
    buffers->n_residents = kept;
}

int ggs_buffers_compute(struct ggs_buffers * buffers, struct ggs_trace * trace, bool transfers,
                        struct ggs_error * error) {
    *buffers   = (struct ggs_buffers){.trace = trace, .transfers = transfers};
    int status = transfers ? ggs_occupancy_compute(&buffers->occupancy, trace, error)
                           : ggs_occupancy_compute_buffers(&buffers->occupancy, trace, error);
    if (status < 0) return status;
    buffers->layers    = calloc(trace->n_buffers + 1, sizeof(*buffers->layers));
    buffers->residents = malloc((trace->n_tensors + 1) * sizeof(*buffers->residents));
    if (buffers->layers == NULL || buffers->residents == NULL) {
        ggs_buffers_release(buffers);
        return ggs_fail_memory(error);
    }
    find_layers(buffers);
    find_residents(buffers);
    return 0;
}

void ggs_buffers_release(struct ggs_buffers * buffers) {
    ggs_occupancy_release(&buffers->occupancy);
    free(buffers->layers);
    free(buffers->residents);
    *buffers = (struct ggs_buffers){0};
}

// ---- writing ----

static void write_classes(struct ggs_json * json, const struct ggs_occupancy * o) {
    ggs_json_array(json, "by_class");
    for (unsigned c = 0; c < GGS_CLASSES; c++) {
        if (o->class_buffers[c] == 0) continue;
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "class", ggs_word_class(c));
        ggs_json_u64(json, "count", o->class_buffers[c]);
        ggs_json_u64(json, "peak_bytes", o->class_peak[c]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void write_buffers(struct ggs_json * json, const struct ggs_buffers * buffers) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_buffer, buffer, "buffer"),
        GGS_FIELD_WORD(struct ggs_buffer, class_, "class", ggs_word_class),
        GGS_FIELD_WORD(struct ggs_buffer, usage, "usage", ggs_word_usage),
        GGS_FIELD(struct ggs_buffer, size, "bytes"),
        GGS_FIELD_BOOLEAN(struct ggs_buffer, host, "host"),
        GGS_FIELD_OR_NULL(struct ggs_buffer, file, "file"),
        GGS_FIELD_OR_NULL(struct ggs_buffer, load, "load"),
        GGS_FIELD(struct ggs_buffer, begin_ns, "begin_ns"),
        GGS_FIELD_OR_NULL(struct ggs_buffer, end_ns, "end_ns"),
        {0},
    };
    static const struct ggs_field layer[] = {{"layer", 0, GGS_FIELD_INT, true, NULL}, {0}};
    const struct ggs_trace *      trace   = buffers->trace;
    ggs_json_array(json, "buffers");
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_fields_members(json, fields, &trace->buffers[i]);
        ggs_json_string(json, "type", ggs_reader_string(trace->reader, trace->buffers[i].type));
        const char * device = ggs_trace_device_name(trace, trace->buffers[i].device);
        ggs_json_string(json, "device", device[0] == '\0' ? NULL : device);
        ggs_fields_members(json, layer, &buffers->layers[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void write_tensors(struct ggs_json * json, const struct ggs_buffers * buffers) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_buffers_resident, name, "name"),
        GGS_FIELD(struct ggs_buffers_resident, buffer, "buffer"),
        GGS_FIELD(struct ggs_buffers_resident, offset, "buffer_offset"),
        GGS_FIELD(struct ggs_buffers_resident, bytes, "bytes"),
        GGS_FIELD_OR_NULL(struct ggs_buffers_resident, layer, "layer"),
        {0},
    };
    const struct ggs_buffers_resident * list = buffers->residents;
    ggs_json_object(json, "tensors");
    ggs_fields_lists(json, fields, list, sizeof(*list), buffers->n_residents);
    ggs_json_array_inline(json, "component");
    for (uint64_t i = 0; i < buffers->n_residents; i++) {
        char            component[GGS_COMPONENT_LENGTH];
        struct ggs_name parsed = ggs_name_parse(list[i].name, strlen(list[i].name));
        ggs_json_string(json, NULL, ggs_name_component(component, sizeof(component), &parsed, -1));
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

static void write_timeline(struct ggs_json * json, const struct ggs_occupancy * o) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_occupancy_event, ns, "time_ns"),
        GGS_FIELD(struct ggs_occupancy_event, end, "freed"),
        GGS_FIELD(struct ggs_occupancy_event, buffer, "buffer"),
        GGS_FIELD(struct ggs_occupancy_event, bytes, "bytes"),
        GGS_FIELD(struct ggs_occupancy_event, total, "bytes_total"),
        GGS_FIELD(struct ggs_occupancy_event, live, "buffers"),
        {0},
    };
    ggs_fields_rows(json, "timeline", fields, o->events, sizeof(*o->events), o->n_events);
}

static void write_transfers(struct ggs_json * json, const struct ggs_occupancy * o) {
    static const struct ggs_field fields[] = {
        GGS_FIELD_WORD(struct ggs_transfer_totals, kind, "kind", ggs_word_transfer),
        GGS_FIELD_OR_NULL(struct ggs_transfer_totals, from_buffer, "from_buffer"),
        GGS_FIELD_OR_NULL(struct ggs_transfer_totals, to_buffer, "to_buffer"),
        GGS_FIELD_OR_NULL(struct ggs_transfer_totals, from_file, "file"),
        GGS_FIELD(struct ggs_transfer_totals, count, "count"),
        GGS_FIELD(struct ggs_transfer_totals, bytes, "bytes"),
        GGS_FIELD(struct ggs_transfer_totals, ns, "duration_ns"),
        {0},
    };
    ggs_fields_rows(json, "transfers", fields, o->transfers, sizeof(*o->transfers), o->n_transfers);
}

void ggs_buffers_write(struct ggs_json * json, const struct ggs_buffers * buffers) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_occupancy, peak_bytes, "peak_bytes"),
        GGS_FIELD(struct ggs_occupancy, peak_ns, "peak_ns"),
        GGS_FIELD(struct ggs_occupancy, mapped_bytes, "bytes_mapped"),
        {0},
    };
    const struct ggs_occupancy * o = &buffers->occupancy;
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, buffers->trace);
    ggs_json_u64(json, "count", buffers->trace->n_buffers);
    ggs_fields_members(json, fields, o);
    write_classes(json, o);
    write_buffers(json, buffers);
    write_tensors(json, buffers);
    write_timeline(json, o);
    if (buffers->transfers) write_transfers(json, o);
    ggs_json_end(json);
}
