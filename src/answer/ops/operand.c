#include "answer/ops/operand.h"

#include "analyze/walk/words.h"
#include "answer/answer.h"

enum { RANGES_MOST = 64 };

void ggs_answer_type(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    bool     known  = tensor != NULL && tensor->type < trace->n_types;
    unsigned n_dims = tensor == NULL ? 0 : 4;
    ggs_json_string(json, "type", known ? ggs_reader_string(trace->reader, trace->types[tensor->type].name) : NULL);
    while (n_dims > 1 && tensor->ne[n_dims - 1] == 1) n_dims--;
    ggs_json_array_inline(json, "shape");
    for (unsigned i = 0; i < n_dims; i++) ggs_json_i64(json, NULL, tensor->ne[i]);
    ggs_json_end(json);
}

struct place {
    const char * source;
    int64_t      file, file_offset, buffer, buffer_offset, origin_file, origin_offset; // -1: none
};

void ggs_answer_place(struct ggs_json * json, const struct ggs_tensor * tensor, uint64_t offset) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct place, source, "source"),
                                              GGS_FIELD_OR_NULL(struct place, file, "file"),
                                              GGS_FIELD_OR_NULL(struct place, file_offset, "file_offset"),
                                              GGS_FIELD_OR_NULL(struct place, buffer, "buffer"),
                                              GGS_FIELD_OR_NULL(struct place, buffer_offset, "buffer_offset"),
                                              GGS_FIELD_OR_NULL(struct place, origin_file, "origin_file"),
                                              GGS_FIELD_OR_NULL(struct place, origin_offset, "origin_offset"),
                                              {0}};
    struct place                  place    = {NULL, -1, -1, -1, -1, -1, -1};
    if (tensor != NULL) place.source = ggs_word_source(tensor->source);
    if (tensor != NULL && tensor->source == GGS_SOURCE_DISK) {
        place.file        = (int64_t) tensor->file;
        place.file_offset = (int64_t) (tensor->file_offset + offset);
    }
    if (tensor != NULL && tensor->buffer != 0) {
        place.buffer        = (int64_t) tensor->buffer;
        place.buffer_offset = (int64_t) (tensor->buffer_offset + offset);
    }
    if (tensor != NULL && tensor->source != GGS_SOURCE_DISK && tensor->origin_file != 0) {
        place.origin_file   = (int64_t) tensor->origin_file;
        place.origin_offset = (int64_t) (tensor->origin_offset + offset);
    }
    ggs_fields_members(json, fields, &place);
}

static void put_ranges(struct ggs_json * json, const struct ggs_operand * operand) {
    ggs_json_array_inline(json, "ranges");
    for (uint64_t i = 0; i < operand->n_ranges && i < RANGES_MOST; i++) {
        ggs_json_array_inline(json, NULL);
        ggs_json_u64(json, NULL, operand->ranges[i].offset);
        ggs_json_u64(json, NULL, operand->ranges[i].length);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

void ggs_answer_operand(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_operand * operand) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_operand, write, "write"),       GGS_FIELD(struct ggs_operand, exact, "exact"),
        GGS_FIELD(struct ggs_operand, bytes, "bytes"),       GGS_FIELD(struct ggs_operand, offset, "offset"),
        GGS_FIELD(struct ggs_operand, n_ranges, "n_ranges"), {0}};
    const struct ggs_tensor * tensor = operand->tensor;
    ggs_json_object_inline(json, NULL);
    if (operand->slot == GGS_ACCESS_RESULT)
        ggs_json_null(json, "slot");
    else
        ggs_json_u64(json, "slot", operand->slot);
    ggs_json_u64(json, "tensor", tensor->tensor);
    ggs_json_string(json, "name", ggs_reader_string(trace->reader, tensor->name));
    ggs_answer_type(json, trace, tensor);
    ggs_fields_members(json, fields, operand);
    if (operand->ranges != NULL) put_ranges(json, operand);
    ggs_answer_place(json, tensor, operand->offset);
    ggs_json_end(json);
}
