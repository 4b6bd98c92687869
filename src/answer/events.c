// Machine events in order of time: page faults and block requests.
#include "answer/answer.h"

// An event and the op that its thread was computing, with what faults and requests have in common.
struct event {
    const void *                   row;
    int64_t                        step;
    uint64_t                       run, node, file, offset;
    const struct ggs_whereabouts * where;
};

#define EVENT(get, expression) GGS_GET(int64_t, get, struct event, expression)
EVENT(run_of, it->run != 0 ? (int64_t) it->run : -1)
EVENT(node_of, it->run != 0 ? (int64_t) it->node : -1)
EVENT(layer_of, it->where->op != NULL ? it->where->layer : -1)
EVENT(file_of, it->file != 0 ? (int64_t) it->file : -1)
EVENT(offset_of, it->file != 0 ? (int64_t) it->offset : -1)
EVENT(expert_of, it->where->expert)
GGS_GET_TEXT(phase_of, struct event, ggs_stage_name(it->where->stage))
GGS_GET_TEXT(op_of, struct event, it->where->op)
GGS_GET_TEXT(name_of, struct event, it->where->op != NULL ? it->where->result : NULL)
GGS_GET_TEXT(weight_of, struct event, it->where->weight)

static const struct ggs_field op_fields[] = {
    GGS_FIELD_OR_NULL(struct event, step, "token"),
    GGS_TEXT("phase", phase_of, "part of the recording", .word = ggs_stage_name),
    GGS_NATURAL("run", run_of, "op that the thread was computing"),
    GGS_NATURAL("node", node_of, ""),
    GGS_TEXT_OR_NULL("op", op_of, ""),
    GGS_TEXT_OR_NULL("name", name_of, "tensor that the op computes"),
    GGS_NATURAL("layer", layer_of, ""),
    {0},
};
static const struct ggs_object op = {
    .name = "EventOp", .text = "The op that the thread was computing when something happened.", .fields = op_fields};

static const struct ggs_field place_fields[] = {
    GGS_NATURAL("file", file_of, "files.file that the bytes belong to"),
    GGS_NATURAL("file_offset", offset_of, ""),
    GGS_TEXT_OR_NULL("weight", weight_of, "tensor of the model at that place"),
    GGS_NATURAL("expert", expert_of, "of that weight"),
    {0},
};
static const struct ggs_object place = {
    .name = "EventBytes", .text = "The bytes that it is about.", .fields = place_fields};

GGS_GET_VIEW(row_of, struct event, it->row)

// ---- page faults ----

#define FAULT(member, ...) GGS_FIELD(struct ggs_fault, member, #member, __VA_ARGS__)

static const struct ggs_field fault_head_fields[] = {
    FAULT(begin_ns),
    FAULT(duration_ns, "time that the thread was stalled"),
    GGS_FIELD_WORD(struct ggs_fault, kind, "kind", ggs_fault_kind_name, "open: the end was not seen"),
    {0},
};
static const struct ggs_field fault_tail_fields[] = {
    FAULT(os_thread, "the operating system's number of the thread"),
    FAULT(address, "in the program's memory"),
    {0},
};
static const struct ggs_object fault_head = {.fields = fault_head_fields}, fault_tail = {.fields = fault_tail_fields};

static const struct ggs_field fault_fields[] = {
    GGS_MEMBERS_VIEW(row_of, &fault_head),
    GGS_MEMBERS_OF(&op),
    GGS_MEMBERS_VIEW(row_of, &fault_tail),
    GGS_MEMBERS_OF(&place),
    {0},
};
static const struct ggs_object fault_ = {.name = "Fault", .fields = fault_fields};

static const struct ggs_field faults_fields[]   = {GGS_ABOUT, GGS_STREAM("faults", &fault_), {0}};
const struct ggs_object       ggs_faults_object = {.name   = "Faults",
                                                   .text   = "Page faults, in order of time or the longest first.",
                                                   .fields = faults_fields,
                                                   .lines  = true};

void ggs_fault_write_row(struct ggs_json * json, const struct ggs_fault * fault, const struct ggs_whereabouts * where) {
    struct event event = {fault, fault->step, fault->run, fault->node, fault->file, fault->file_offset, where};
    ggs_object_row(json, &ggs_faults_object, &event, NULL);
}

// ---- requests ----

static const struct ggs_field request_head_fields[] = {
    GGS_FIELD(struct ggs_block_request, begin_ns, "begin_ns", "issued to the disk"),
    GGS_FIELD_OR_NULL(struct ggs_block_request, duration_ns, "duration_ns", "until completion; null if unknown"),
    GGS_FIELD_FLAG(struct ggs_block_request, write, "write"),
    GGS_FIELD(struct ggs_block_request, sector, "sector", "on the disk, of 512 bytes"),
    GGS_FIELD(struct ggs_block_request, bytes, "bytes"),
    {0},
};
static const struct ggs_object request_head = {.fields = request_head_fields};

static const struct ggs_field request_fields[] = {
    GGS_MEMBERS_VIEW(row_of, &request_head),
    GGS_MEMBERS_OF(&op),
    GGS_MEMBERS_OF(&place),
    {0},
};
static const struct ggs_object request = {.name = "BlockRequest", .fields = request_fields};

static const struct ggs_field requests_fields[]         = {GGS_ABOUT, GGS_STREAM("block_requests", &request), {0}};
const struct ggs_object       ggs_block_requests_object = {
          .name   = "BlockRequests",
          .text   = "Requests to the disk that took longest, in order of time.",
          .fields = requests_fields,
          .lines  = true,
};

void ggs_block_request_write_row(struct ggs_json * json, const struct ggs_block_request * request_,
                                 const struct ggs_whereabouts * where) {
    struct event event = {request_,       request_->step,        request_->run, request_->node,
                          request_->file, request_->file_offset, where};
    ggs_object_row(json, &ggs_block_requests_object, &event, NULL);
}
