#include "answer/ops/operand.h"

#include "analyze/walk/words.h"
#include "answer/answer.h"

// ---- tensors ----

static const char * type_of(const void * at, const void * context, char * room, size_t * length) {
    const struct ggs_tensor * tensor = ((const struct ggs_tensor_at *) at)->tensor;
    const struct ggs_trace *  trace  = context;
    (void) room, (void) length;
    return tensor == NULL || tensor->type >= trace->n_types
               ? NULL
               : ggs_reader_string(trace->reader, trace->types[tensor->type].name);
}

static struct ggs_list shape_of(const void * at, const void * trace, void * room) {
    const struct ggs_tensor * tensor = ((const struct ggs_tensor_at *) at)->tensor;
    uint64_t                  n      = tensor == NULL ? 0 : 4;
    (void) trace, (void) room;
    while (n > 1 && tensor->ne[n - 1] == 1) n--;
    return (struct ggs_list){n == 0 ? NULL : tensor->ne, n, sizeof(int64_t)};
}

static const struct ggs_field type_fields[] = {
    GGS_TEXT_OR_NULL("type", type_of, "ggml's name of the type"),
    GGS_LIST_OF(I64, "shape", shape_of, "without trailing dimensions of 1", .items = 4),
    {0},
};
const struct ggs_object ggs_type_object = {.fields = type_fields};

// ---- places ----

struct place {
    const char * source;
    int64_t      file, file_offset, buffer, buffer_offset, origin_file, origin_offset; // -1: none
};

#define PLACE(member, ...) GGS_FIELD_OR_NULL(struct place, member, #member, __VA_ARGS__)

static const struct ggs_field place_fields[] = {
    PLACE(source, "where it lies: in a mapped file, in a device's memory (VRAM), or in other memory",
          .word = ggs_word_source),
    PLACE(file, "DISK: files.file"),
    PLACE(file_offset, "DISK: in that file"),
    PLACE(buffer, "buffers.buffer that it lies in"),
    PLACE(buffer_offset, "in that buffer"),
    PLACE(origin_file, "BUFFER: file that it was copied from at load"),
    PLACE(origin_offset, "in that file"),
    {0},
};
static const struct ggs_object place = {
    .name = "Place", .text = "Where the first byte that is touched lies.", .fields = place_fields};

static const void * place_of(const void * at_, const void * trace, void * room) {
    const struct ggs_tensor_at * at     = at_;
    const struct ggs_tensor *    tensor = at->tensor;
    struct place *               found  = room;
    (void) trace;
    *found = (struct place){NULL, -1, -1, -1, -1, -1, -1};
    if (tensor == NULL) return found;
    found->source = ggs_word_source(tensor->source);
    if (tensor->source == GGS_SOURCE_DISK) {
        found->file        = (int64_t) tensor->file;
        found->file_offset = (int64_t) (tensor->file_offset + at->offset);
    } else if (tensor->origin_file != 0) {
        found->origin_file   = (int64_t) tensor->origin_file;
        found->origin_offset = (int64_t) (tensor->origin_offset + at->offset);
    }
    if (tensor->buffer != 0) {
        found->buffer        = (int64_t) tensor->buffer;
        found->buffer_offset = (int64_t) (tensor->buffer_offset + at->offset);
    }
    return found;
}

static const struct ggs_field at_fields[]      = {GGS_MEMBERS_VIEW(place_of, &place), {0}};
const struct ggs_object       ggs_place_object = {.fields = at_fields};

// ---- operands ----

enum { RANGES_MOST = 64 };

static const struct ggs_field range_fields[] = {
    GGS_FIELD(struct ggs_range, offset, "offset"),
    GGS_FIELD(struct ggs_range, length, "length"),
    {0},
};
static const struct ggs_object range = {.fields = range_fields, .tuple = true};

GGS_NEXT(next_range) {
    const struct ggs_operand * operand = at;
    return *i < operand->n_ranges && *i < RANGES_MOST ? &operand->ranges[(*i)++] : NULL;
}

GGS_GET(int64_t, slot_of, struct ggs_operand, it->slot == GGS_ACCESS_RESULT ? -1 : (int64_t) it->slot)
GGS_GET(int64_t, tensor_of, struct ggs_operand, (int64_t) it->at.tensor->tensor)
GGS_GET_TEXT(name_of, struct ggs_operand, ggs_reader_string(trace->reader, it->at.tensor->name))

#define OPERAND(member, key, ...) GGS_FIELD(struct ggs_operand, member, key, __VA_ARGS__)

#define HEAD                                                                                                 \
    GGS_NATURAL("slot", slot_of, "which source; null for the result"),                                       \
        GGS_COUNT("tensor", tensor_of, "tensors.tensor"), GGS_TEXT("name", name_of, ""),                     \
        GGS_MEMBERS(struct ggs_operand, at, &ggs_type_object), OPERAND(write, "write", "written, not read"), \
        OPERAND(exact, "exact", "rows or experts that index data named; false: the whole operand"),          \
        OPERAND(bytes, "bytes", "bytes that are touched"),                                                   \
        OPERAND(at.offset, "offset", "first touched byte, counted from the operand's first"),                \
        OPERAND(n_ranges, "n_ranges", "number of ranges that they lie in")
#define PLACE_OF GGS_MEMBERS(struct ggs_operand, at, &ggs_place_object)

static const struct ggs_field operand_fields[]   = {HEAD, PLACE_OF, {0}};
const struct ggs_object       ggs_operand_object = {.name = "LogOperand", .fields = operand_fields};

static const struct ggs_field ranged_fields[] = {
    HEAD, GGS_EACH("ranges", next_range, &range, "offset and length of each, 64 at most"), PLACE_OF, {0}};
const struct ggs_object ggs_ranged_operand_object = {
    .name = "Operand", .text = "What an op reads or writes.", .fields = ranged_fields};

// ---- times ----

GGS_GET(bool, is_seen, struct ggs_op_times, !it->opaque)
GGS_GET(int64_t, duration_of, struct ggs_op_times, it->opaque ? -1 : it->end_ns - it->begin_ns)
GGS_GET(int64_t, busy_of, struct ggs_op_times, it->opaque ? -1 : (int64_t) it->busy_ns)
GGS_GET(int64_t, wait_of, struct ggs_op_times, it->opaque || it->unwaited ? -1 : (int64_t) it->wait_ns)

static const struct ggs_field times_fields[] = {
    GGS_FIELD(struct ggs_op_times, begin_ns, "begin_ns",
              "first thread's begin; null, as the next three, on a backend that is seen as a whole", .known = is_seen),
    GGS_NATURAL("duration_ns", duration_of, "to the last thread's end; 0 if fused_with has it"),
    GGS_NATURAL("busy_ns", busy_of, "sum over threads, without waits"),
    GGS_NATURAL("wait_ns", wait_of, "sum over threads: in barriers inside the op and after it; null on a device"),
    GGS_FIELD_OR_NULL(struct ggs_op_times, submit_ns, "submit_ns",
                      "when the host handed it to its device; null if that was not seen, and on the CPU"),
    GGS_FIELD_OR_NULL(struct ggs_op_times, host_ns, "host_ns", "time that this took the host"),
    {0},
};
const struct ggs_object ggs_op_times_object = {
    .name = "OpTimes", .text = "When an op ran, over all threads.", .fields = times_fields};
