#include "answer/answer.h"

enum { TENSORS_MOST = 500 };

static const struct ggs_field counts[] = {
    GGS_FIELD(struct ggs_aggregate_op, ops, "ops"),
    GGS_FIELD(struct ggs_aggregate_op, untimed, "ops_untimed"),
    GGS_FIELD(struct ggs_aggregate_op, op_runs, "op_runs"),
    GGS_FIELD(struct ggs_aggregate_op, wall_ns, "wall_ns"),
    {0},
};
static const struct ggs_field bytes[] = {
    GGS_FIELD(struct ggs_aggregate_op, bytes_read, "bytes_read"),
    GGS_FIELD(struct ggs_aggregate_op, bytes_written, "bytes_written"),
    GGS_FIELD(struct ggs_aggregate_op, bytes_disk, "bytes_disk"),
    {0},
};

// Null where times were not all seen.
static void put_sums(struct ggs_json * json, const struct ggs_aggregate_op * sum) {
    ggs_fields_members(json, counts, sum);
    ggs_json_natural(json, "busy_ns", sum->untimed > 0 ? -1 : (int64_t) sum->busy_ns);
    ggs_json_natural(json, "wait_ns", sum->unwaited ? -1 : (int64_t) sum->wait_ns);
    ggs_fields_members(json, bytes, sum);
}

static void put_lanes(struct ggs_json * json, const struct ggs_aggregate * window) {
    ggs_json_array(json, "by_lane");
    for (uint64_t i = 0; i < window->n_by_lane; i++) {
        const struct ggs_aggregate_lane * lane = &window->by_lane[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "lane", lane->lane);
        bool stalls = window->has_faults && !lane->device;
        ggs_json_natural(json, "busy_ns", lane->whole ? -1 : (int64_t) (lane->busy_ns + 0.5));
        ggs_json_natural(json, "wait_ns", lane->unwaited ? -1 : (int64_t) (lane->wait_ns + 0.5));
        ggs_json_natural(json, "stalled_ns", stalls ? (int64_t) (lane->stalled_ns + 0.5) : -1);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_machine(struct ggs_json * json, const struct ggs_aggregate * window) {
    if (window->has_faults) {
        ggs_json_object_inline(json, "faults");
        ggs_json_u64(json, "minor", window->faults.minor);
        ggs_json_u64(json, "major", window->faults.major);
        ggs_json_u64(json, "stalled_ns", (uint64_t) (window->faults.stalled_ns + 0.5));
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "faults");
    }
    if (window->has_requests) {
        ggs_json_object_inline(json, "block_requests");
        ggs_json_u64(json, "count", window->requests.requests);
        ggs_json_u64(json, "bytes", (uint64_t) (window->requests.model + 0.5));
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "block_requests");
    }
}

void ggs_aggregate_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_aggregate * window) {
    static const struct ggs_field op[]      = {GGS_FIELD_OR_NULL(struct ggs_aggregate_op, op, "op"),
                                               GGS_FIELD(struct ggs_aggregate_op, backend, "backend"),
                                               {0}};
    static const struct ggs_field tensors[] = {GGS_FIELD(struct ggs_aggregate_tensor, name, "name"),
                                               GGS_FIELD(struct ggs_aggregate_tensor, reads, "reads"),
                                               GGS_FIELD(struct ggs_aggregate_tensor, bytes, "bytes_read"),
                                               {0}};
    uint64_t                      n         = window->n_by_tensor < TENSORS_MOST ? window->n_by_tensor : TENSORS_MOST;
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_json_i64(json, "begin_ns", window->begin_ns);
    ggs_json_i64(json, "end_ns", window->end_ns);
    ggs_json_natural(json, "first_token", window->first_token);
    ggs_json_natural(json, "last_token", window->last_token);
    put_sums(json, &window->all);
    put_machine(json, window);
    ggs_json_array(json, "by_op");
    for (uint64_t i = 0; i < window->n_by_op; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_fields_members(json, op, &window->by_op[i]);
        put_sums(json, &window->by_op[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_u64(json, "tensors", window->n_by_tensor);
    ggs_fields_rows(json, "by_tensor", tensors, window->by_tensor, sizeof(*window->by_tensor), n);
    put_lanes(json, window);
    ggs_json_end(json);
}
