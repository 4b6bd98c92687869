// /api/x/N/stats: what `ggscope stats` says, and its tables.
#include <stdlib.h>

#include "analyze/ops/groups.h"
#include "analyze/ops/stats-json.h"
#include "base/error.h"
#include "serve/routes/routes.h"

enum { TENSORS_MOST = 2000 };

static void put_group(struct ggs_json * json, const struct ggs_group * group) {
    ggs_json_object(json, NULL);
    ggs_json_string(json, "name", group->name);
    ggs_json_i64(json, "order", group->order);
    ggs_json_u64(json, "ops", group->ops);
    ggs_json_u64(json, "op_runs", group->op_runs);
    ggs_json_u64(json, "wall_ns", group->wall_ns);
    ggs_json_u64(json, "busy_ns", group->busy_ns);
    ggs_json_u64(json, "wait_ns", group->wait_ns);
    ggs_json_u64(json, "read", group->read);
    ggs_json_u64(json, "written", group->written);
    ggs_json_u64(json, "disk", group->disk);
    ggs_json_end(json);
}

// By thread comes last: it takes a walk of its own, which is slower.
enum { TABLES = 5 };
static const char * const titles[TABLES] = {"by_op", "by_layer", "by_component", "by_tensor", "by_thread"};
static const enum ggs_by  kinds[TABLES]  = {GGS_BY_OP, GGS_BY_LAYER, GGS_BY_COMPONENT, GGS_BY_TENSOR, GGS_BY_THREAD};

static int put_tables(struct ggs_question * request, struct ggs_json * json, const struct ggs_totals_range * range,
                      struct ggs_error * error) {
    struct ggs_groups groups[TABLES] = {{0}};
    int               status = ggs_groups_compute_several(groups, kinds, TABLES - 1, &request->trace, range, error);
    if (status == 0) status = ggs_groups_compute(&groups[TABLES - 1], &request->trace, GGS_BY_THREAD, range, error);
    for (unsigned i = 0; i < TABLES; i++) {
        uint64_t most = kinds[i] == GGS_BY_TENSOR ? TENSORS_MOST : UINT64_MAX;
        ggs_json_array(json, titles[i]);
        for (uint64_t k = 0; status == 0 && k < groups[i].n && k < most; k++) put_group(json, &groups[i].group[k]);
        ggs_json_end(json);
        ggs_groups_release(&groups[i]);
    }
    return status;
}

static void put_bins(struct ggs_json * json, const char * key, const uint64_t bins[GGS_PATTERN_BINS]) {
    unsigned n = GGS_PATTERN_BINS;
    while (n > 0 && bins[n - 1] == 0) n--;
    ggs_json_array(json, key);
    for (unsigned i = 0; i < n; i++) ggs_json_u64(json, NULL, bins[i]);
    ggs_json_end(json);
}

static void put_pattern(struct ggs_json * json, const struct ggs_pattern * pattern) {
    ggs_json_object(json, "pattern");
    ggs_json_double(json, "sequential_share",
                    pattern->bytes == 0 ? 0 : (double) pattern->sequential / (double) pattern->bytes);
    ggs_json_u64(json, "reads", pattern->reads);
    ggs_json_u64(json, "bytes", pattern->bytes);
    ggs_json_u64(json, "first_bytes", pattern->first_bytes);
    ggs_json_u64(json, "jumps", pattern->jumps);
    put_bins(json, "jump_bins", pattern->jump_bins);
    put_bins(json, "reuse_bins", pattern->reuse_bins);
    ggs_json_end(json);
}

// Weights with bytes that nobody touched, most of them first: the other end of the list.
static int by_cold(const void * a, const void * b) {
    const struct ggs_weight *x = a, *y = b;
    uint64_t                 cold_x = x->size - x->touched, cold_y = y->size - y->touched;
    return cold_x > cold_y ? -1 : cold_x < cold_y;
}

static void put_cold(struct ggs_json * json, struct ggs_weights * weights) {
    if (weights->n > 1) qsort(weights->weight, weights->n, sizeof(*weights->weight), by_cold);
    ggs_json_array(json, "cold");
    for (uint64_t i = 0; i < weights->n && i < TENSORS_MOST; i++) {
        const struct ggs_weight * weight = &weights->weight[i];
        if (weight->touched >= weight->size) break;
        ggs_json_object(json, NULL);
        ggs_json_string(json, "name", weight->name);
        ggs_json_u64(json, "bytes", weight->size);
        ggs_json_u64(json, "touched", weight->touched);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static int put_totals(struct ggs_question * request, struct ggs_json * json, const struct ggs_totals_range * range,
                      struct ggs_error * error) {
    struct ggs_totals  totals;
    struct ggs_weights weights;
    int                status = ggs_totals_compute(&totals, &request->trace, range, error);
    if (status < 0) return status;
    status = ggs_weights_list(&weights, &request->trace, &totals, error);
    if (status == 0) {
        ggs_json_object(json, "totals");
        ggs_json_string(json, "experiment_id", request->snapshot->id);
        ggs_stats_json_totals(json, &totals);
        ggs_stats_json_by_op(json, &totals);
        ggs_stats_json_weights(json, &weights);
        ggs_json_end(json);
        put_pattern(json, &totals.pattern);
        put_cold(json, &weights);
        ggs_weights_release(&weights);
    }
    ggs_totals_release(&totals);
    return status;
}

int ggs_route_stats(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_totals_range range = ggs_totals_all;
    struct ggs_json         json;
    int                     status = ggs_query_tokens(&request->query, &range.first_step, &range.last_step, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status != 0) return status;
    ggs_request_expect(request, 3 * ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    ggs_answer_begin(request->answer, &json);
    status = put_totals(request, &json, &range, error);
    if (status == 0) status = put_tables(request, &json, &range, error);
    int ended = ggs_answer_end(request->answer, &json, error);
    return status < 0 ? status : ended;
}
