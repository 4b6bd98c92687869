// /api/x/N/experts: which experts were chosen.
#include <stdio.h>

#include "analyze/ops/experts.h"
#include "base/error.h"
#include "serve/routes/routes.h"

static double share(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : (double) part / (double) whole;
}

static void put_layer(struct ggs_json * json, const struct ggs_experts_layer * layer) {
    ggs_json_object(json, NULL);
    ggs_json_i64(json, "layer", layer->layer);
    ggs_json_u64(json, "experts", layer->experts);
    ggs_json_u64(json, "used", layer->used);
    ggs_json_u64(json, "tokens", layer->tokens);
    ggs_json_u64(json, "activations", layer->activations);
    ggs_json_array(json, "counts");
    for (uint64_t i = 0; i < layer->experts; i++) ggs_json_u64(json, NULL, layer->counts[i]);
    ggs_json_end(json);
    ggs_json_u64(json, "bytes", layer->bytes);
    ggs_json_u64(json, "distinct", layer->distinct);
    if (layer->chosen > 0)
        ggs_json_double(json, "reuse_share", share(layer->reused, layer->chosen));
    else
        ggs_json_null(json, "reuse_share");
    // The most used expert's share over an even one.
    ggs_json_double(json, "imbalance", share(layer->most * layer->experts, layer->activations));
    ggs_json_u64(json, "prefetch_least_ns", layer->prefetch.least_ns);
    ggs_json_u64(json, "prefetch_mean_ns", layer->prefetch.n == 0 ? 0 : layer->prefetch.sum_ns / layer->prefetch.n);
    ggs_json_end(json);
}

static void put_sets(struct ggs_json * json, const struct ggs_experts * experts) {
    ggs_json_array(json, "working_sets");
    for (unsigned i = 0; i < experts->n_sets; i++) {
        const struct ggs_experts_set * set = &experts->sets[i];
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "window", set->window);
        ggs_json_double(json, "mean_experts", share(set->sum_experts, set->samples));
        ggs_json_u64(json, "most_experts", set->most_experts);
        ggs_json_double(json, "mean_bytes", share(set->sum_bytes, set->samples));
        ggs_json_u64(json, "most_bytes", set->most_bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_pairs(struct ggs_json * json, const struct ggs_experts * experts) {
    ggs_json_array(json, "pairs");
    for (unsigned i = 0; i < experts->n_pairs; i++) {
        ggs_json_object(json, NULL);
        ggs_json_i64(json, "layer", experts->pairs[i].layer);
        ggs_json_u64(json, "a", experts->pairs[i].a);
        ggs_json_u64(json, "b", experts->pairs[i].b);
        ggs_json_u64(json, "times", experts->pairs[i].times);
        ggs_json_double(json, "expected", experts->pairs[i].expected);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

int ggs_route_experts(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_experts_options options = {.last_token = INT64_MAX};
    struct ggs_experts         experts;
    struct ggs_json            json;
    int status = ggs_query_tokens(&request->query, &options.first_token, &options.last_token, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status != 0) return status;
    ggs_request_expect(request, ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_experts_compute(&experts, &request->trace, &options, error);
    if (status < 0) return status;
    ggs_answer_begin(request->answer, &json);
    ggs_json_bool(&json, "any", experts.any);
    ggs_json_u64(&json, "tokens", experts.tokens);
    ggs_json_u64(&json, "unknown", experts.unknown);
    ggs_json_array(&json, "layers");
    for (uint64_t i = 0; i < experts.n_layers; i++) put_layer(&json, &experts.layers[i]);
    ggs_json_end(&json);
    put_sets(&json, &experts);
    put_pairs(&json, &experts);
    status = ggs_answer_end(request->answer, &json, error);
    ggs_experts_release(&experts);
    return status;
}
