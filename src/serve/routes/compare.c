// /api/compare: what changed between two experiments.
#include <stdlib.h>

#include "analyze/diff/diff.h"
#include "base/error.h"
#include "serve/routes/routes.h"

static const char * verdict_word(enum ggs_verdict verdict) {
    static const char * const words[] = {[GGS_SAME]         = "same",
                                         [GGS_WITHIN_NOISE] = "noise",
                                         [GGS_UNCERTAIN]    = "uncertain",
                                         [GGS_SLOWER]       = "slower",
                                         [GGS_FASTER]       = "faster"};
    return words[verdict];
}

static void put_quartiles(struct ggs_json * json, const char * key, const struct ggs_quartiles * q) {
    ggs_json_object(json, key);
    ggs_json_u64(json, "count", q->n);
    ggs_json_double(json, "low_ns", q->low);
    ggs_json_double(json, "median_ns", q->median);
    ggs_json_double(json, "high_ns", q->high);
    ggs_json_end(json);
}

static void put_times(struct ggs_json * json, const char * key, const struct ggs_diff_times * times) {
    if (times->a.n == 0 && times->b.n == 0) {
        ggs_json_null(json, key);
        return;
    }
    ggs_json_object(json, key);
    put_quartiles(json, "a", &times->a);
    put_quartiles(json, "b", &times->b);
    ggs_json_string(json, "verdict", verdict_word(times->verdict));
    ggs_json_end(json);
}

static void put_side(struct ggs_json * json, const char * key, const struct ggs_diff_side * side) {
    ggs_json_object(json, key);
    ggs_json_u64(json, "ops", side->ops);
    ggs_json_u64(json, "only", side->only);
    ggs_json_u64(json, "wall_ns", side->wall_ns);
    ggs_json_double(json, "low_ns", side->time.low);
    ggs_json_double(json, "median_ns", side->time.median);
    ggs_json_double(json, "high_ns", side->time.high);
    ggs_json_u64(json, "read", side->read);
    ggs_json_u64(json, "written", side->written);
    ggs_json_end(json);
}

static void put_layer(struct ggs_json * json, int layer) {
    if (layer == -1)
        ggs_json_null(json, "layer");
    else
        ggs_json_i64(json, "layer", layer);
}

static void put_item(struct ggs_json * json, const struct ggs_diff_item * item) {
    ggs_json_object(json, NULL);
    ggs_json_bool(json, "prompt", item->prompt);
    put_layer(json, item->layer);
    ggs_json_string(json, "op", item->op);
    ggs_json_string(json, "tensor", item->tensor);
    put_side(json, "a", &item->a);
    put_side(json, "b", &item->b);
    ggs_json_string(json, "verdict", verdict_word(item->verdict));
    ggs_json_u64(json, "bytes_differ", item->bytes_differ);
    ggs_json_end(json);
}

static void put_only(struct ggs_json * json, const struct ggs_diff_item * item, const char * side, uint64_t ops) {
    if (ops == 0) return;
    ggs_json_object(json, NULL);
    ggs_json_string(json, "side", side);
    ggs_json_bool(json, "prompt", item->prompt);
    put_layer(json, item->layer);
    ggs_json_string(json, "op", item->op);
    ggs_json_string(json, "tensor", item->tensor);
    ggs_json_u64(json, "ops", ops);
    ggs_json_end(json);
}

// Ops that only one of the two has stand in a list of their own.
static void put_items(struct ggs_json * json, const struct ggs_diff * diff) {
    ggs_json_array(json, "items");
    for (uint64_t i = 0; i < diff->n_items; i++) {
        if (diff->items[i].a.ops > 0 && diff->items[i].b.ops > 0) put_item(json, &diff->items[i]);
    }
    ggs_json_end(json);
    ggs_json_array(json, "unmatched");
    for (uint64_t i = 0; i < diff->n_items; i++) {
        put_only(json, &diff->items[i], "a", diff->items[i].a.only);
        put_only(json, &diff->items[i], "b", diff->items[i].b.only);
    }
    ggs_json_end(json);
}

static int put_diff(struct ggs_question * request, const struct ggs_diff * diff, struct ggs_error * error) {
    struct ggs_json json;
    ggs_answer_begin(request->answer, &json);
    ggs_json_array(&json, "warnings");
    for (unsigned i = 0; i < diff->n_warnings; i++) ggs_json_string(&json, NULL, diff->warnings[i]);
    ggs_json_end(&json);
    ggs_json_bool(&json, "identical", diff->identical);
    ggs_json_u64(&json, "tokens", diff->tokens);
    ggs_json_u64(&json, "tokens_only_a", diff->tokens_only_a);
    ggs_json_u64(&json, "tokens_only_b", diff->tokens_only_b);
    ggs_json_u64(&json, "ops", diff->ops);
    ggs_json_u64(&json, "only_a", diff->only_a);
    ggs_json_u64(&json, "only_b", diff->only_b);
    ggs_json_u64(&json, "bytes_differ", diff->bytes_differ);
    if (diff->parted >= 0)
        ggs_json_i64(&json, "parted", diff->parted);
    else
        ggs_json_null(&json, "parted");
    ggs_json_double(&json, "shift", diff->shift);
    put_times(&json, "prompt", &diff->prompt);
    put_times(&json, "generate", &diff->generate);
    put_items(&json, diff);
    return ggs_answer_end(request->answer, &json, error);
}

static int compare(struct ggs_question * request, struct ggs_snapshot * a, struct ggs_snapshot * b,
                   struct ggs_error * error) {
    struct ggs_diff  diff;
    struct ggs_trace traces[2] = {ggs_trace_borrow(&a->trace), ggs_trace_borrow(&b->trace)};
    uint64_t         op_runs   = 0;
    for (int i = 0; i < 2; i++) {
        traces[i].watch = &request->progress->watch;
        op_runs += ggs_reader_rows(traces[i].reader, GGS_TABLE_OP_RUNS);
    }
    ggs_request_expect(request, 2 * op_runs);
    int status = ggs_diff_compute(&diff, &traces[0], &traces[1], error);
    if (status == 0) {
        status = put_diff(request, &diff, error);
        ggs_diff_release(&diff);
    }
    for (int i = 0; i < 2; i++) ggs_trace_give_back(&traces[i]);
    return status;
}

int ggs_route_compare(struct ggs_question * request, struct ggs_error * error) {
    uint64_t              index[2]     = {0, 1};
    struct ggs_snapshot * snapshots[2] = {NULL, NULL};
    int                   status       = ggs_query_u64(&request->query, "a", 0, UINT16_MAX, &index[0], error);
    if (status == 0) status = ggs_query_u64(&request->query, "b", 0, UINT16_MAX, &index[1], error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    for (int i = 0; i < 2 && status == 0; i++)
        status = ggs_experiments_take(request->experiments, (unsigned) index[i], &snapshots[i], error);
    if (status == 0) status = compare(request, snapshots[0], snapshots[1], error);
    for (int i = 0; i < 2; i++) ggs_snapshot_give_back(snapshots[i]);
    return status;
}
