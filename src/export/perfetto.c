// The timeline as Perfetto's protobuf: a sequence of packets, strings interned.
//
// Writes only the fields that are needed, by the numbers that Perfetto documents. A string is
// written once, in the interned_data of the packet that uses it first, and referenced by number.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/metadata.h"
#include "export/tracks.h"

enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP        = 8,
    PACKET_SEQUENCE_ID      = 10,
    PACKET_TRACK_EVENT      = 11,
    PACKET_INTERNED_DATA    = 12,
    PACKET_SEQUENCE_FLAGS   = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
};
enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_ANNOTATIONS   = 4,
    EVENT_TYPE          = 9,
    EVENT_NAME_IID      = 10,
    EVENT_TRACK_UUID    = 11,
    EVENT_NAME          = 23,
    EVENT_COUNTER_VALUE = 30,
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_COUNTER = 4 };
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_ANNOTATION_NAMES = 3, INTERNED_STRINGS = 29 };
enum {
    ANNOTATION_NAME_IID   = 1,
    ANNOTATION_UINT       = 3,
    ANNOTATION_INT        = 4,
    ANNOTATION_ARRAY      = 12,
    ANNOTATION_STRING_IID = 17
};
enum {
    DESCRIPTOR_UUID           = 1,
    DESCRIPTOR_NAME           = 2,
    DESCRIPTOR_PROCESS        = 3,
    DESCRIPTOR_PARENT         = 5,
    DESCRIPTOR_COUNTER        = 8,
    DESCRIPTOR_CHILD_ORDERING = 11,
    DESCRIPTOR_RANK           = 12,
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6, COUNTER_UNIT = 3, UNIT_NAME = 6, UNIT_SIZE_BYTES = 3, ORDERING_EXPLICIT = 3 };

enum annotation {
    A_LAYER = 1,
    A_TENSOR,
    A_SOURCES,
    A_READ,
    A_WRITTEN,
    A_DISK,
    A_RUN,
    A_NODE,
    A_GRAPH,
    A_NODES,
    A_EXECUTED,
    A_THREADS,
    A_PHASE,
    A_FILE,
    A_FILE_OFFSET,
    A_BYTES,
    A_ASYNC,
    A_GRID,
    A_BLOCK,
    A_COUNT
};
static const char * const annotation_names[A_COUNT] = {
    NULL,    "layer",    "tensor",  "sources", "bytes_read", "bytes_written", "bytes_disk", "run",   "node", "graph",
    "nodes", "executed", "threads", "phase",   "file",       "file_offset",   "bytes",      "async", "grid", "block"};
static const char * const categories[GGS_SLICES] = {"token", "graph run", "op",       "wait",
                                                    "fault", "kernel",    "transfer", "window"};

enum { ROOT = 1000000 }; // uuid of the process's track; other tracks have their ids

struct perfetto {
    struct ggs_export * export;
    struct ggs_target target;
    struct ggs_text   packet, event, interned, scratch, value;
    uint8_t *         known;        // by tensor: 1 if its name was interned
    uint8_t *         known_ops;    // by op
    unsigned          known_phases; // bit set
    uint64_t          groups;       // bit set of devices whose enclosing track was written
};

// ---- protobuf ----

static void put_varint(struct ggs_text * out, uint64_t value) {
    char   bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) bytes[n++] = (char) (value | 0x80);
    bytes[n++] = (char) value;
    ggs_text_append(out, bytes, n);
}

static void put_number(struct ggs_text * out, unsigned field, uint64_t value) {
    put_varint(out, (uint64_t) field << 3);
    put_varint(out, value);
}

static void put_bytes(struct ggs_text * out, unsigned field, const char * data, size_t length) {
    put_varint(out, (uint64_t) field << 3 | 2);
    put_varint(out, length);
    ggs_text_append(out, data, length);
}

static void put_string(struct ggs_text * out, unsigned field, const char * text) {
    put_bytes(out, field, text, strlen(text));
}

static void put_message(struct ggs_text * out, unsigned field, const struct ggs_text * message) {
    put_bytes(out, field, ggs_text_string(message), message->length);
}

// ---- interning ----

static void intern(struct perfetto * p, unsigned table, uint64_t iid, const char * text) {
    ggs_text_clear(&p->scratch);
    put_number(&p->scratch, 1, iid);
    put_string(&p->scratch, 2, text);
    put_message(&p->interned, table, &p->scratch);
}

// Ids of interned strings: phases from 1 on, then tensors.
enum { FIRST_TENSOR = 16, FIRST_OP = 16, NAME_WAIT = 1 };

static uint64_t tensor_iid(struct perfetto * p, const struct ggs_tensor * tensor) {
    uint64_t number = (uint64_t) (tensor - p->export->trace.tensors), iid = FIRST_TENSOR + number;
    if (!p->known[number]) intern(p, INTERNED_STRINGS, iid, ggs_tensor_name(p->export, tensor));
    p->known[number] = 1;
    return iid;
}

static uint64_t phase_iid(struct perfetto * p, uint64_t phase) {
    if (phase >= GGS_PHASE_COUNT) phase = 0;
    if ((p->known_phases >> phase & 1) == 0) intern(p, INTERNED_STRINGS, 1 + phase, ggs_word_phase(phase));
    p->known_phases |= 1u << phase;
    return 1 + phase;
}

// ---- packets ----

static int put_packet(struct perfetto * p, struct ggs_error * error) {
    if (p->packet.failed || p->event.failed || p->interned.failed || p->scratch.failed || p->value.failed)
        return ggs_fail_memory(error);
    ggs_text_clear(&p->scratch);
    put_varint(&p->scratch, TRACE_PACKET << 3 | 2);
    put_varint(&p->scratch, p->packet.length);
    ggs_target_write(&p->target, p->scratch.data, p->scratch.length);
    ggs_target_write(&p->target, p->packet.data, p->packet.length);
    return ggs_target_result(&p->target, error);
}

static void begin_event(struct perfetto * p, const struct ggs_track * track, unsigned type) {
    ggs_text_clear(&p->event);
    ggs_text_clear(&p->interned);
    put_number(&p->event, EVENT_TYPE, type);
    put_number(&p->event, EVENT_TRACK_UUID, track->id);
}

static int put_event(struct perfetto * p, int64_t ns, struct ggs_error * error) {
    ggs_text_clear(&p->packet);
    put_number(&p->packet, PACKET_TIMESTAMP, ns < 0 ? 0 : (uint64_t) ns);
    put_number(&p->packet, PACKET_SEQUENCE_ID, 1);
    put_number(&p->packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
    if (p->interned.length > 0) put_message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
    put_message(&p->packet, PACKET_TRACK_EVENT, &p->event);
    return put_packet(p, error);
}

// The first packet resets the reader's state and has the constant strings.
static int put_start(struct perfetto * p, struct ggs_error * error) {
    ggs_text_clear(&p->packet);
    ggs_text_clear(&p->interned);
    for (unsigned i = 0; i < GGS_SLICES; i++) intern(p, INTERNED_CATEGORIES, i + 1, categories[i]);
    for (unsigned i = 1; i < A_COUNT; i++) intern(p, INTERNED_ANNOTATION_NAMES, i, annotation_names[i]);
    intern(p, INTERNED_NAMES, NAME_WAIT, "wait");
    put_number(&p->packet, PACKET_SEQUENCE_ID, 1);
    put_number(&p->packet, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED);
    put_message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
    int status = put_packet(p, error);
    if (status < 0) return status;

    const char * model = ggs_metadata_text(p->export->facts, "model");
    int64_t      pid   = 1;
    ggs_metadata_number(p->export->facts, "process_id", &pid);
    ggs_text_clear(&p->packet);
    ggs_text_clear(&p->event);
    ggs_text_clear(&p->value);
    put_number(&p->value, PROCESS_PID, (uint64_t) pid);
    put_string(&p->value, PROCESS_NAME, model == NULL ? "engine" : model);
    put_number(&p->event, DESCRIPTOR_UUID, ROOT);
    put_message(&p->event, DESCRIPTOR_PROCESS, &p->value);
    put_number(&p->event, DESCRIPTOR_CHILD_ORDERING, ORDERING_EXPLICIT);
    put_number(&p->packet, PACKET_SEQUENCE_ID, 1);
    put_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
    return put_packet(p, error);
}

// Groups the tracks of a device under its name, beside those of the process.
static int put_group(struct perfetto * p, const struct ggs_track * track, struct ggs_error * error) {
    if (track->group == 0 || track->group >= 64 || (p->groups >> track->group & 1) != 0) return 0;
    p->groups |= 1ull << track->group;
    ggs_text_clear(&p->packet);
    ggs_text_clear(&p->event);
    put_number(&p->event, DESCRIPTOR_UUID, ROOT + track->group);
    put_string(&p->event, DESCRIPTOR_NAME, track->group_name);
    put_number(&p->event, DESCRIPTOR_CHILD_ORDERING, ORDERING_EXPLICIT);
    put_number(&p->packet, PACKET_SEQUENCE_ID, 1);
    put_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
    return put_packet(p, error);
}

static int put_track(void * context, const struct ggs_track * track, struct ggs_error * error) {
    struct perfetto * p      = context;
    int               status = put_group(p, track, error);
    if (status < 0) return status;
    ggs_text_clear(&p->packet);
    ggs_text_clear(&p->event);
    put_number(&p->event, DESCRIPTOR_UUID, track->id);
    put_string(&p->event, DESCRIPTOR_NAME, track->name);
    put_number(&p->event, DESCRIPTOR_PARENT, ROOT + (track->group < 64 ? track->group : 0));
    if (track->kind == GGS_TRACK_COUNTER) {
        ggs_text_clear(&p->value);
        if (track->percent)
            put_string(&p->value, UNIT_NAME, "%");
        else
            put_number(&p->value, COUNTER_UNIT, UNIT_SIZE_BYTES);
        put_message(&p->event, DESCRIPTOR_COUNTER, &p->value);
    }
    put_number(&p->event, DESCRIPTOR_RANK, (uint64_t) track->kind * 10000 + track->id);
    put_number(&p->packet, PACKET_SEQUENCE_ID, 1);
    put_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
    return put_packet(p, error);
}

// ---- slices ----

static void annotate(struct perfetto * p, enum annotation name, unsigned kind, uint64_t value) {
    ggs_text_clear(&p->value);
    put_number(&p->value, ANNOTATION_NAME_IID, name);
    put_number(&p->value, kind, value);
    put_message(&p->event, EVENT_ANNOTATIONS, &p->value);
}

static void annotate_sources(struct perfetto * p, const struct ggs_access_list * accesses) {
    struct ggs_text element = {0};
    ggs_text_clear(&p->value);
    put_number(&p->value, ANNOTATION_NAME_IID, A_SOURCES);
    for (unsigned i = 0; i < accesses->n; i++) {
        if (accesses->access[i].write) continue;
        uint64_t iid = tensor_iid(p, accesses->access[i].tensor);
        ggs_text_clear(&element);
        put_number(&element, ANNOTATION_STRING_IID, iid);
        put_message(&p->value, ANNOTATION_ARRAY, &element);
    }
    put_message(&p->event, EVENT_ANNOTATIONS, &p->value);
    ggs_text_release(&element);
}

static void annotate_op(struct perfetto * p, const struct ggs_track_slice * slice) {
    const struct ggs_walk * walk = slice->walk;
    uint64_t                read = 0, written = 0, disk = 0;
    for (unsigned i = 0; i < slice->accesses->n; i++) {
        const struct ggs_access * a = &slice->accesses->access[i];
        *(a->write ? &written : &read) += a->bytes;
        if (a->tensor->source == GGS_SOURCE_DISK) disk += a->bytes;
    }
    if (walk->op.layer >= 0) annotate(p, A_LAYER, ANNOTATION_INT, (uint64_t) walk->op.layer);
    if (walk->op.result != NULL) annotate(p, A_TENSOR, ANNOTATION_STRING_IID, tensor_iid(p, walk->op.result));
    annotate_sources(p, slice->accesses);
    annotate(p, A_READ, ANNOTATION_UINT, read);
    annotate(p, A_WRITTEN, ANNOTATION_UINT, written);
    annotate(p, A_DISK, ANNOTATION_UINT, disk);
    annotate(p, A_RUN, ANNOTATION_UINT, walk->run.run);
    annotate(p, A_NODE, ANNOTATION_UINT, walk->op.node);
}

static void annotate_fault(struct perfetto * p, const struct ggs_fault * fault) {
    if (fault->file != 0) {
        annotate(p, A_FILE, ANNOTATION_UINT, fault->file);
        annotate(p, A_FILE_OFFSET, ANNOTATION_UINT, fault->file_offset);
    }
    if (fault->run != 0) {
        annotate(p, A_RUN, ANNOTATION_UINT, fault->run);
        annotate(p, A_NODE, ANNOTATION_UINT, fault->node);
    }
}

static void annotate_kernel(struct perfetto * p, const struct ggs_kernel * kernel) {
    annotate(p, A_RUN, ANNOTATION_UINT, kernel->run);
    if (kernel->nodes > 0) annotate(p, A_NODE, ANNOTATION_UINT, kernel->node);
    if (kernel->bytes > 0) annotate(p, A_BYTES, ANNOTATION_UINT, kernel->bytes);
    if (kernel->grid_x == 0) return;
    annotate(p, A_GRID, ANNOTATION_UINT, kernel->grid_x * kernel->grid_y * kernel->grid_z);
    annotate(p, A_BLOCK, ANNOTATION_UINT, kernel->block_x * kernel->block_y * kernel->block_z);
}

static void put_name(struct perfetto * p, const struct ggs_track_slice * slice) {
    uint64_t op = slice->kind == GGS_SLICE_OP ? slice->walk->op.op : 0;
    if (slice->kind == GGS_SLICE_WAIT) {
        put_number(&p->event, EVENT_NAME_IID, NAME_WAIT);
    } else if (slice->kind == GGS_SLICE_OP && op < p->export->trace.n_ops) {
        if (!p->known_ops[op]) intern(p, INTERNED_NAMES, FIRST_OP + op, slice->name);
        p->known_ops[op] = 1;
        put_number(&p->event, EVENT_NAME_IID, FIRST_OP + op);
    } else {
        put_string(&p->event, EVENT_NAME, slice->name); // not interned: each name occurs once
    }
}

static int put_begin(void * context, const struct ggs_track * track, const struct ggs_track_slice * slice,
                     struct ggs_error * error) {
    struct perfetto * p = context;
    begin_event(p, track, TYPE_SLICE_BEGIN);
    put_number(&p->event, EVENT_CATEGORY_IIDS, (uint64_t) slice->kind + 1);
    put_name(p, slice);
    if (slice->kind == GGS_SLICE_OP) annotate_op(p, slice);
    if (slice->kind == GGS_SLICE_FAULT) annotate_fault(p, slice->fault);
    if (slice->kind == GGS_SLICE_KERNEL) annotate_kernel(p, slice->kernel);
    if (slice->kind == GGS_SLICE_TRANSFER) {
        annotate(p, A_BYTES, ANNOTATION_UINT, slice->transfer->bytes);
        annotate(p, A_ASYNC, ANNOTATION_UINT, slice->transfer->async);
    }
    if (slice->kind == GGS_SLICE_RUN) {
        const struct ggs_run * run = &slice->walk->run;
        annotate(p, A_GRAPH, ANNOTATION_UINT, run->graph);
        annotate(p, A_NODES, ANNOTATION_UINT, run->nodes);
        annotate(p, A_EXECUTED, ANNOTATION_UINT, run->executed);
        annotate(p, A_THREADS, ANNOTATION_UINT, run->threads);
    }
    if (slice->kind == GGS_SLICE_RUN || slice->kind == GGS_SLICE_TOKEN) {
        uint64_t iid = phase_iid(p, ggs_slice_phase(slice));
        annotate(p, A_PHASE, ANNOTATION_STRING_IID, iid);
    }
    return put_event(p, slice->begin_ns, error);
}

static int put_end(void * context, const struct ggs_track * track, int64_t ns, struct ggs_error * error) {
    struct perfetto * p = context;
    begin_event(p, track, TYPE_SLICE_END);
    return put_event(p, ns, error);
}

static int put_leaf(void * context, const struct ggs_track * track, const struct ggs_track_slice * slice,
                    struct ggs_error * error) {
    int status = put_begin(context, track, slice, error);
    return status < 0 ? status : put_end(context, track, slice->end_ns, error);
}

static int put_count(void * context, const struct ggs_track * track, int64_t ns, uint64_t value,
                     struct ggs_error * error) {
    struct perfetto * p = context;
    begin_event(p, track, TYPE_COUNTER);
    put_number(&p->event, EVENT_COUNTER_VALUE, value);
    return put_event(p, ns, error);
}

static void release(struct perfetto * p) {
    ggs_text_release(&p->packet);
    ggs_text_release(&p->event);
    ggs_text_release(&p->interned);
    ggs_text_release(&p->scratch);
    ggs_text_release(&p->value);
    free(p->known);
    free(p->known_ops);
}

int ggs_export_perfetto(struct ggs_export * export, struct ggs_error * error) {
    struct perfetto         p        = {.export = export};
    const struct ggs_tracks timeline = {put_track, put_begin, put_end, put_leaf, put_count, &p};
    int                     status   = ggs_export_open(export, &p.target, NULL, error);
    if (status < 0) return status;
    p.known     = calloc(export->trace.n_tensors + 1, 1);
    p.known_ops = calloc(export->trace.n_ops + 1, 1);
    if (p.known == NULL || p.known_ops == NULL) status = ggs_fail_memory(error);
    if (status == 0) status = put_start(&p, error);
    if (status == 0) status = ggs_tracks_write(export, &timeline, error);
    status = ggs_export_close(export, &p.target, status, error);
    release(&p);
    return status;
}
