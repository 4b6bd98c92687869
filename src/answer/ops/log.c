#include "answer/answer.h"

#include "analyze/walk/words.h"
#include "answer/ops/operand.h"

void ggs_log_write_begin(struct ggs_json * json, const struct ggs_trace * trace, uint64_t of, uint64_t from) {
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_json_u64(json, "of", of);
    ggs_json_u64(json, "from", from);
    ggs_json_array(json, "ops");
}

void ggs_log_write_end(struct ggs_json * json, int64_t total) {
    ggs_json_end(json);
    ggs_json_natural(json, "total", total);
    ggs_json_end(json);
}

// Null if they were not seen: nodes of a backend that is seen as a whole only, and waits on a device.
static void put_times(struct ggs_json * json, const struct ggs_log_entry * e) {
    if (e->opaque)
        ggs_json_null(json, "begin_ns");
    else
        ggs_json_i64(json, "begin_ns", e->begin_ns);
    ggs_json_natural(json, "duration_ns", e->opaque ? -1 : e->end_ns - e->begin_ns);
    ggs_json_natural(json, "busy_ns", e->opaque ? -1 : (int64_t) e->busy_ns);
    ggs_json_natural(json, "wait_ns", e->opaque || e->unwaited ? -1 : (int64_t) e->wait_ns);
    ggs_json_natural(json, "submit_ns", e->submit_ns);
    ggs_json_natural(json, "host_ns", e->host_ns);
}

void ggs_log_write_row(struct ggs_json * json, const struct ggs_trace * trace, uint64_t row,
                       const struct ggs_log_entry * e, bool operands) {
    static const struct ggs_field fields[]  = {GGS_FIELD(struct ggs_log_entry, run, "run"),
                                               GGS_FIELD(struct ggs_log_entry, node, "node"),
                                               GGS_FIELD_OR_NULL(struct ggs_log_entry, token, "token"),
                                               GGS_FIELD(struct ggs_log_entry, op, "op"),
                                               GGS_FIELD(struct ggs_log_entry, tensor, "name"),
                                               GGS_FIELD_OR_NULL(struct ggs_log_entry, layer, "layer"),
                                               GGS_FIELD(struct ggs_log_entry, absorbed, "absorbed"),
                                               GGS_FIELD_OR_NULL(struct ggs_log_entry, fused, "fused_with"),
                                               GGS_FIELD(struct ggs_log_entry, threads, "threads"),
                                               GGS_FIELD(struct ggs_log_entry, read, "bytes_read"),
                                               GGS_FIELD(struct ggs_log_entry, written, "bytes_written"),
                                               GGS_FIELD(struct ggs_log_entry, disk, "bytes_disk"),
                                               GGS_FIELD(struct ggs_log_entry, cut, "cut"),
                                               {0}};
    const struct ggs_tensor *     main_part = e->main.tensor;
    ggs_json_object_inline(json, NULL);
    ggs_json_u64(json, "row", row);
    ggs_fields_members(json, fields, e);
    ggs_json_string(json, "phase", ggs_word_phase(e->phase));
    put_times(json, e);
    ggs_json_string(json, "source_name", main_part == NULL ? NULL : ggs_reader_string(trace->reader, main_part->name));
    ggs_answer_place(json, main_part, e->main.first);
    if (operands) {
        ggs_json_array(json, "operands");
        for (uint64_t i = 0; i < e->n_operands; i++) {
            const struct ggs_log_operand * o = &e->operands[i];
            struct ggs_operand operand = {o->tensor, o->slot, o->write, o->exact, o->bytes, o->first, o->ranges, NULL};
            ggs_answer_operand(json, trace, &operand);
        }
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// ---- what the machine did ----

void ggs_events_write_begin(struct ggs_json * json, const struct ggs_trace * trace, const char * key) {
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_json_array(json, key);
}

void ggs_events_write_end(struct ggs_json * json) {
    ggs_json_end(json);
    ggs_json_end(json);
}

// The op that an event happened in.
static void put_op(struct ggs_json * json, int64_t step, uint64_t run, uint64_t node,
                   const struct ggs_whereabouts * where) {
    bool in_op = where->op != NULL;
    ggs_json_natural(json, "token", step);
    ggs_json_string(json, "phase", ggs_stage_name(where->stage));
    ggs_json_natural(json, "run", run != 0 ? (int64_t) run : -1);
    ggs_json_natural(json, "node", run != 0 ? (int64_t) node : -1);
    ggs_json_string(json, "op", where->op);
    ggs_json_string(json, "name", in_op ? where->result : NULL);
    ggs_json_natural(json, "layer", in_op ? where->layer : -1);
}

// The bytes that it is about.
static void put_bytes(struct ggs_json * json, uint64_t file, uint64_t offset, const struct ggs_whereabouts * where) {
    ggs_json_natural(json, "file", file != 0 ? (int64_t) file : -1);
    ggs_json_natural(json, "file_offset", file != 0 ? (int64_t) offset : -1);
    ggs_json_string(json, "weight", where->weight);
}

void ggs_fault_write_row(struct ggs_json * json, const struct ggs_fault * fault, const struct ggs_whereabouts * where) {
    ggs_json_object_inline(json, NULL);
    ggs_json_i64(json, "begin_ns", fault->begin_ns);
    ggs_json_u64(json, "duration_ns", fault->duration_ns);
    ggs_json_string(json, "kind", ggs_fault_kind_name(fault->kind));
    put_op(json, fault->step, fault->run, fault->node, where);
    ggs_json_u64(json, "os_thread", fault->os_thread);
    ggs_json_u64(json, "address", fault->address);
    put_bytes(json, fault->file, fault->file_offset, where);
    ggs_json_end(json);
}

void ggs_block_request_write_row(struct ggs_json * json, const struct ggs_block_request * request,
                                 const struct ggs_whereabouts * where) {
    ggs_json_object_inline(json, NULL);
    ggs_json_i64(json, "begin_ns", request->begin_ns);
    ggs_json_natural(json, "duration_ns", request->duration_ns > 0 ? (int64_t) request->duration_ns : -1);
    ggs_json_bool(json, "write", request->write != 0);
    ggs_json_u64(json, "sector", request->sector);
    ggs_json_u64(json, "bytes", request->bytes);
    put_op(json, request->step, request->run, request->node, where);
    put_bytes(json, request->file, request->file_offset, where);
    ggs_json_end(json);
}
