#include "answer/answer.h"

enum { TENSORS_MOST = 500 };

#define SUM(member, key, ...) GGS_FIELD(struct ggs_aggregate_op, member, key, __VA_ARGS__)

GGS_GET(int64_t, busy_of, struct ggs_aggregate_op, it->untimed > 0 ? -1 : (int64_t) it->busy_ns)
GGS_GET(int64_t, wait_of, struct ggs_aggregate_op, it->unwaited ? -1 : (int64_t) it->wait_ns)

static const struct ggs_field sum_fields[] = {
    SUM(ops, "ops", "ops that touch the window"),
    SUM(untimed, "ops_untimed", "of these, ops without times: on a backend that is seen as a whole"),
    SUM(op_runs, "op_runs"),
    SUM(wall_ns, "wall_ns", "first begin to last end within the window, summed over ops"),
    GGS_NATURAL("busy_ns", busy_of, "sum over threads, stalls included; null if some ops have no times"),
    GGS_NATURAL("wait_ns", wait_of, "sum over threads; null if not all was seen: on a device"),
    SUM(bytes_read, "bytes_read", "of these ops, whole"),
    SUM(bytes_written, "bytes_written"),
    SUM(bytes_disk, "bytes_disk", "part of both that lies in mapped files"),
    {0},
};
static const struct ggs_object sum = {.name = "AggregateSums", .fields = sum_fields};

static const struct ggs_field op_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_aggregate_op, op, "op", "null in the row of a backend that is seen as a whole"),
    GGS_FIELD_OR_NULL(struct ggs_aggregate_op, backend, "backend",
                      "backend whose graph runs are seen as a whole: ops counts their nodes, wall_ns is their time"),
    GGS_MEMBERS_OF(&sum),
    {0},
};
static const struct ggs_object op = {.fields = op_fields};

static const struct ggs_field tensor_fields[] = {
    GGS_FIELD(struct ggs_aggregate_tensor, name, "name"),
    GGS_FIELD(struct ggs_aggregate_tensor, reads, "reads"),
    GGS_FIELD(struct ggs_aggregate_tensor, bytes, "bytes_read"),
    {0},
};
static const struct ggs_object tensor = {.fields = tensor_fields};

GGS_NEXT(next_tensor) {
    const struct ggs_aggregate * window = at;
    return *i < window->n_by_tensor && *i < TENSORS_MOST ? &window->by_tensor[(*i)++] : NULL;
}

#define LANE(get, expression) GGS_GET(int64_t, get, struct ggs_aggregate_lane, expression)

LANE(lane_busy, it->whole ? -1 : (int64_t) (it->busy_ns + 0.5))
LANE(lane_wait, it->unwaited ? -1 : (int64_t) (it->wait_ns + 0.5))
LANE(lane_stalled, it->stalled_ns < 0 ? -1 : (int64_t) (it->stalled_ns + 0.5))

static const struct ggs_field lane_fields[] = {
    GGS_FIELD(struct ggs_aggregate_lane, lane, "lane"),
    GGS_NATURAL("busy_ns", lane_busy, "stalls included; null for a device that is seen as a whole"),
    GGS_NATURAL("wait_ns", lane_wait, "null if it was not seen: on a device"),
    GGS_NATURAL("stalled_ns", lane_stalled, "by page faults; null if they were not recorded, and on a device"),
    {0},
};
static const struct ggs_object lane = {.fields = lane_fields};

// Page faults do not delay devices.
GGS_NEXT(next_lane) {
    const struct ggs_aggregate * window = at;
    struct ggs_aggregate_lane *  row    = room;
    if (*i == window->n_by_lane) return NULL;
    *row = window->by_lane[(*i)++];
    if (!window->has_faults || row->device) row->stalled_ns = -1;
    return row;
}

GGS_GET(int64_t, stalled_of, struct ggs_fault_bin, (int64_t) (it->stalled_ns + 0.5))
GGS_GET(int64_t, requested_of, struct ggs_request_bin, (int64_t) (it->model + 0.5))

static const struct ggs_field fault_fields[] = {
    GGS_FIELD(struct ggs_fault_bin, minor, "minor"),
    GGS_FIELD(struct ggs_fault_bin, major, "major"),
    GGS_COUNT("stalled_ns", stalled_of, "time in which threads were stalled within the window"),
    {0},
};
static const struct ggs_object faults = {.fields = fault_fields};

static const struct ggs_field request_fields[] = {
    GGS_FIELD(struct ggs_request_bin, requests, "count", "requests issued in the window"),
    GGS_COUNT("bytes", requested_of, "bytes of the model's files that arrived in the window"),
    {0},
};
static const struct ggs_object requests = {.fields = request_fields};

GGS_GET(bool, has_faults, struct ggs_aggregate, it->has_faults)
GGS_GET(bool, has_requests, struct ggs_aggregate, it->has_requests)

#define WINDOW(member, key, ...)      GGS_FIELD(struct ggs_aggregate, member, key, __VA_ARGS__)
#define WINDOW_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_aggregate, member, key, __VA_ARGS__)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    WINDOW(begin_ns, "begin_ns"),
    WINDOW(end_ns, "end_ns"),
    WINDOW_NULL(first_token, "first_token"),
    WINDOW_NULL(last_token, "last_token"),
    GGS_MEMBERS(struct ggs_aggregate, all, &sum),
    GGS_OBJECT(struct ggs_aggregate, faults, "faults", &faults, "null if none were recorded", .known = has_faults),
    GGS_OBJECT(struct ggs_aggregate, requests, "block_requests", &requests, "null if none were recorded",
               .known = has_requests),
    GGS_ROWS(struct ggs_aggregate, by_op, n_by_op, "by_op", &op, "longest first"),
    WINDOW(n_by_tensor, "tensors", "tensors that were read"),
    GGS_EACH("by_tensor", next_tensor, &tensor, "most bytes first, 500 at most"),
    GGS_EACH("by_lane", next_lane, &lane),
    {0},
};
const struct ggs_object ggs_aggregate_object = {
    .name   = "Aggregate",
    .text   = "What happened in a window of time.",
    .fields = fields,
    .lines  = true,
};
