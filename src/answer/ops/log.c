#include "answer/answer.h"

#include "analyze/walk/words.h"
#include "answer/ops/operand.h"

// ---- a row ----

struct row {
    uint64_t                     row;
    const struct ggs_log_entry * entry;
    struct ggs_tensor_at         main; // the operand that determines the op's source
    bool                         operands;
};

GGS_NEXT(next_operand) {
    const struct ggs_log_entry * entry = ((const struct row *) at)->entry;
    if (*i == entry->n_operands) return NULL;
    const struct ggs_log_operand * o = &entry->operands[(*i)++];
    *(struct ggs_operand *) room =
        (struct ggs_operand){{o->tensor, o->first}, o->slot, o->write, o->exact, o->bytes, o->ranges, NULL};
    return room;
}

#define ENTRY(member, key, ...)      GGS_FIELD(struct ggs_log_entry, member, key, __VA_ARGS__)
#define ENTRY_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_log_entry, member, key, __VA_ARGS__)

GGS_GET_VIEW(times_of, struct ggs_log_entry, (*(struct ggs_op_times *) room = GGS_OP_TIMES(it), room))

static const struct ggs_field entry_fields[] = {
    ENTRY(run, "run"),
    ENTRY(node, "node"),
    ENTRY_NULL(token, "token", "null for warm-up"),
    ENTRY(op, "op"),
    ENTRY(tensor, "name", "tensor that it computes"),
    ENTRY_NULL(layer, "layer"),
    ENTRY(absorbed, "absorbed", "nodes that were computed together with this one"),
    ENTRY_NULL(fused, "fused_with", "node that this one was computed together with, which has the times of both"),
    ENTRY(threads, "threads", "threads that took part"),
    ENTRY(read, "bytes_read"),
    ENTRY(written, "bytes_written"),
    ENTRY(disk, "bytes_disk", "part of both that lies in mapped files"),
    ENTRY(cut, "cut", "some thread's end was not seen"),
    GGS_FIELD_WORD(struct ggs_log_entry, phase, "phase", ggs_word_phase),
    GGS_MEMBERS_VIEW(times_of, &ggs_op_times_object),
    {0},
};
static const struct ggs_object entry_ = {.fields = entry_fields};

GGS_GET_VIEW(entry_of, struct row, it->entry)
GGS_GET_TEXT(source_name_of, struct row,
             it->main.tensor == NULL ? NULL : ggs_reader_string(trace->reader, it->main.tensor->name))
GGS_GET(bool, wants_operands, struct row, it->operands)

static const struct ggs_field row_fields[] = {
    GGS_FIELD(struct row, row, "row", "number of the row in the unfiltered log"),
    GGS_MEMBERS_VIEW(entry_of, &entry_),
    GGS_TEXT_OR_NULL("source_name", source_name_of,
                     "operand that the op's data comes from; the next seven keys are about it"),
    GGS_MEMBERS(struct row, main, &ggs_place_object),
    GGS_EACH("operands", next_operand, &ggs_operand_object, "all operands: ggscope log --json, operands=1",
             .asked = wants_operands),
    {0},
};
static const struct ggs_object row_ = {
    .name = "LogRow", .text = "One node that was computed in one graph run.", .fields = row_fields};

// ---- the log ----

struct log {
    uint64_t of, from;
    int64_t  total;
};

static const struct ggs_field log_fields[] = {
    GGS_ABOUT,
    GGS_FIELD(struct log, of, "of", "rows without a filter"),
    GGS_FIELD(struct log, from, "from", "rows skipped before the first"),
    GGS_STREAM("ops", &row_),
    GGS_FIELD_OR_NULL(struct log, total, "total", "rows that pass the filter; null if they were not all counted"),
    {0},
};
const struct ggs_object ggs_log_object = {
    .name = "LogAnswer", .text = "Operations in time order.", .fields = log_fields, .lines = true};

void ggs_log_write_begin(struct ggs_json * json, const struct ggs_trace * trace, uint64_t of, uint64_t from) {
    ggs_object_begin(json, &ggs_log_object, &(struct log){of, from, -1}, trace);
}

void ggs_log_write_row(struct ggs_json * json, const struct ggs_trace * trace, uint64_t row,
                       const struct ggs_log_entry * entry, bool operands) {
    ggs_object_row(json, &ggs_log_object, &(struct row){row, entry, {entry->main.tensor, entry->main.first}, operands},
                   trace);
}

void ggs_log_write_end(struct ggs_json * json, int64_t total) {
    ggs_object_end(json, &ggs_log_object, &(struct log){0, 0, total}, NULL);
}
