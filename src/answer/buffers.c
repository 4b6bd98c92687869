#include "answer/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "base/error.h"
#include "gguf/gguf-name.h"

// ---- contents of buffers ----

struct ggs_buffers_resident {
    uint64_t     buffer, offset, bytes, tensor; // tensor: index in the trace's table
    const char * name;
    int          layer;
};

// True for weights copied at load and caches; false for scratch memory.
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

// Lists a tensor once, even if it is in several graphs.
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

// ---- the answer ----

struct class_row {
    uint64_t class_, count, peak_bytes;
};

GGS_NEXT(next_class) {
    const struct ggs_occupancy * o = &((const struct ggs_buffers *) at)->occupancy;
    while (*i < GGS_CLASSES && o->class_buffers[*i] == 0) ++*i;
    if (*i == GGS_CLASSES) return NULL;
    *(struct class_row *) room = (struct class_row){*i, o->class_buffers[*i], o->class_peak[*i]};
    ++*i;
    return room;
}

static const struct ggs_field class_fields[] = {
    GGS_FIELD_WORD(struct class_row, class_, "class", ggs_word_class),
    GGS_FIELD(struct class_row, count, "count"),
    GGS_FIELD(struct class_row, peak_bytes, "peak_bytes"),
    {0},
};
static const struct ggs_object class_ = {.fields = class_fields};

#define BUFFER(member, key, ...)      GGS_FIELD(struct ggs_buffer, member, key, __VA_ARGS__)
#define BUFFER_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_buffer, member, key, __VA_ARGS__)

GGS_GET_TEXT(device_of, struct ggs_buffer, ggs_trace_device_name(trace, it->device))

static const struct ggs_field recorded_fields[] = {
    BUFFER(buffer, "buffer", "number, from 1"),
    GGS_FIELD_WORD(struct ggs_buffer, class_, "class", ggs_word_class),
    GGS_FIELD_WORD(struct ggs_buffer, usage, "usage", ggs_word_usage),
    BUFFER(size, "bytes"),
    GGS_FIELD_FLAG(struct ggs_buffer, host, "host", "the CPU can read it"),
    BUFFER_NULL(file, "file", "file whose mapping it lies in"),
    BUFFER_NULL(load, "load", "model load that made it"),
    BUFFER(begin_ns, "begin_ns", "when it was allocated"),
    BUFFER_NULL(end_ns, "end_ns", "when it was freed; null if it never was"),
    GGS_FIELD_NUMBER(struct ggs_buffer, type, "type", "ggml's name of the buffer type"),
    GGS_TEXT_OR_NULL("device", device_of, "device whose memory it is; null for the host's"),
    {0},
};
static const struct ggs_object recorded = {.fields = recorded_fields};

struct buffer_row {
    const struct ggs_buffer * recorded;
    int                       layer;
};

GGS_NEXT(next_buffer) {
    const struct ggs_buffers * buffers = at;
    if (*i == buffers->trace->n_buffers) return NULL;
    *(struct buffer_row *) room = (struct buffer_row){&buffers->trace->buffers[*i], buffers->layers[*i]};
    ++*i;
    return room;
}

GGS_GET_VIEW(recorded_of, struct buffer_row, it->recorded)

static const struct ggs_field buffer_fields[] = {
    GGS_MEMBERS_VIEW(recorded_of, &recorded),
    GGS_FIELD_OR_NULL(struct buffer_row, layer, "layer", "layer that all its tensors belong to"),
    {0},
};
static const struct ggs_object buffer = {.fields = buffer_fields};

static const char * component_of(const void * at, const void * trace, char * room, size_t * length) {
    const char *    name   = ((const struct ggs_buffers_resident *) at)->name;
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    (void) trace, (void) length;
    return ggs_name_component(room, GGS_COMPONENT_LENGTH, &parsed, -1);
}

static const struct ggs_field tensor_fields[] = {
    GGS_FIELD(struct ggs_buffers_resident, name, "name"),
    GGS_FIELD(struct ggs_buffers_resident, buffer, "buffer"),
    GGS_FIELD(struct ggs_buffers_resident, offset, "buffer_offset"),
    GGS_FIELD(struct ggs_buffers_resident, bytes, "bytes"),
    GGS_FIELD_OR_NULL(struct ggs_buffers_resident, layer, "layer"),
    GGS_TEXT("component", component_of, "what the weight or cache is for"),
    {0},
};
static const struct ggs_object tensors = {.fields = tensor_fields};

static const struct ggs_field event_fields[] = {
    GGS_FIELD(struct ggs_occupancy_event, ns, "time_ns"),
    GGS_FIELD(struct ggs_occupancy_event, end, "freed", "false: allocated"),
    GGS_FIELD(struct ggs_occupancy_event, buffer, "buffer"),
    GGS_FIELD(struct ggs_occupancy_event, bytes, "bytes", "of the buffer"),
    GGS_FIELD(struct ggs_occupancy_event, total, "bytes_total", "of all buffers, from then on"),
    GGS_FIELD(struct ggs_occupancy_event, live, "buffers", "buffers that live from then on"),
    {0},
};
static const struct ggs_object event = {.fields = event_fields};

static const struct ggs_field transfer_fields[] = {
    GGS_FIELD_WORD(struct ggs_transfer_totals, kind, "kind", ggs_word_transfer),
    GGS_FIELD_OR_NULL(struct ggs_transfer_totals, from_buffer, "from_buffer"),
    GGS_FIELD_OR_NULL(struct ggs_transfer_totals, to_buffer, "to_buffer"),
    GGS_FIELD_OR_NULL(struct ggs_transfer_totals, from_file, "file", "file whose mapping the bytes came from"),
    GGS_FIELD(struct ggs_transfer_totals, count, "count"),
    GGS_FIELD(struct ggs_transfer_totals, bytes, "bytes"),
    GGS_FIELD(struct ggs_transfer_totals, ns, "duration_ns"),
    {0},
};
static const struct ggs_object transfer = {.fields = transfer_fields};

GGS_GET(int64_t, count_of, void, (int64_t) trace->n_buffers)
GGS_GET(bool, wants_transfers, struct ggs_buffers, it->transfers)

#define OCCUPANCY(member, key, ...) GGS_FIELD(struct ggs_buffers, occupancy.member, key, __VA_ARGS__)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_COUNT("count", count_of, "number of buffers"),
    OCCUPANCY(peak_bytes, "peak_bytes", "largest sum of all buffers at one time; mapped files do not count"),
    OCCUPANCY(peak_ns, "peak_ns", "time of that peak"),
    OCCUPANCY(mapped_bytes, "bytes_mapped", "bytes of buffers that lie in mapped files"),
    GGS_EACH("by_class", next_class, &class_),
    GGS_EACH("buffers", next_buffer, &buffer),
    GGS_COLUMNS(struct ggs_buffers, residents, n_residents, "tensors", &tensors,
                "weights and caches that live in buffers"),
    GGS_ROWS(struct ggs_buffers, occupancy.events, occupancy.n_events, "timeline", &event),
    GGS_ROWS(struct ggs_buffers, occupancy.transfers, occupancy.n_transfers, "transfers", &transfer,
             "kinds of transfers, most bytes first; the server sends them with transfers=1", .asked = wants_transfers),
    {0},
};
const struct ggs_object ggs_buffers_object = {
    .name   = "Buffers",
    .text   = "Runtime buffers, their contents, their sizes over time, and transfers.",
    .fields = fields,
    .lines  = true,
};

void ggs_buffers_write(struct ggs_json * json, const struct ggs_buffers * buffers) {
    ggs_object_write(json, NULL, &ggs_buffers_object, buffers, buffers->trace);
}
