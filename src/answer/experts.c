#include "answer/answer.h"

#include <math.h>

static double share(uint64_t part, uint64_t whole) {
    return whole == 0 ? NAN : (double) part / (double) whole;
}

static void put_time(struct ggs_json * json, const struct ggs_experts_time * time) {
    if (time->n == 0) {
        ggs_json_null(json, "prefetch");
        return;
    }
    ggs_json_object_inline(json, "prefetch");
    ggs_json_u64(json, "count", time->n);
    ggs_json_u64(json, "least_ns", time->least_ns);
    ggs_json_u64(json, "mean_ns", ggs_experts_mean(time));
    ggs_json_u64(json, "most_ns", time->most_ns);
    ggs_json_end(json);
}

static void put_layer(struct ggs_json * json, const struct ggs_experts_layer * layer) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_experts_layer, layer, "layer"),
                                              GGS_FIELD(struct ggs_experts_layer, experts, "experts"),
                                              GGS_FIELD(struct ggs_experts_layer, used, "chosen_per_token"),
                                              GGS_FIELD(struct ggs_experts_layer, bytes, "bytes"),
                                              GGS_FIELD(struct ggs_experts_layer, tokens, "tokens"),
                                              GGS_FIELD(struct ggs_experts_layer, activations, "activations"),
                                              GGS_FIELD(struct ggs_experts_layer, distinct, "distinct"),
                                              GGS_FIELD(struct ggs_experts_layer, follows, "follows"),
                                              GGS_FIELD(struct ggs_experts_layer, chosen, "chosen"),
                                              GGS_FIELD(struct ggs_experts_layer, reused, "reused"),
                                              GGS_FIELD(struct ggs_experts_layer, all_predicted, "all_predicted"),
                                              GGS_FIELD(struct ggs_experts_layer, none_predicted, "none_predicted"),
                                              {0}};
    ggs_json_object(json, NULL);
    ggs_fields_members(json, fields, layer);
    ggs_json_double(json, "imbalance", ggs_experts_imbalance(layer));
    ggs_json_double(json, "reuse_share", share(layer->reused, layer->chosen));
    put_time(json, &layer->prefetch);
    ggs_json_array_inline(json, "counts");
    for (uint64_t i = 0; i < layer->experts; i++) ggs_json_u64(json, NULL, layer->counts[i]);
    ggs_json_end(json);
    ggs_json_end(json);
}

static void put_matrices(struct ggs_json * json, const struct ggs_experts * experts) {
    ggs_json_array(json, "by_component");
    for (unsigned i = 0; i < experts->n_matrices; i++) {
        const struct ggs_experts_matrix * matrix = &experts->matrices[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_string_n(json, "component", matrix->component, (size_t) matrix->component_length);
        ggs_json_u64(json, "bytes_read", matrix->bytes);
        put_time(json, &matrix->prefetch);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_sets(struct ggs_json * json, const struct ggs_experts * experts) {
    ggs_json_array(json, "working_sets");
    for (unsigned i = 0; i < experts->n_sets; i++) {
        const struct ggs_experts_set * set = &experts->sets[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "window", set->window);
        ggs_json_u64(json, "samples", set->samples);
        ggs_json_double(json, "mean_experts", share(set->sum_experts, set->samples));
        ggs_json_u64(json, "most_experts", set->most_experts);
        ggs_json_double(json, "mean_bytes", share(set->sum_bytes, set->samples));
        ggs_json_u64(json, "most_bytes", set->most_bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_sums(struct ggs_json * json, const struct ggs_experts_sums * sums) {
    static const struct ggs_field all[]   = {GGS_FIELD(struct ggs_experts_sums, experts, "experts"),
                                             GGS_FIELD(struct ggs_experts_sums, used, "chosen_per_token"),
                                             GGS_FIELD(struct ggs_experts_sums, bytes, "bytes"),
                                             GGS_FIELD(struct ggs_experts_sums, distinct, "distinct"),
                                             GGS_FIELD(struct ggs_experts_sums, distinct_bytes, "distinct_bytes"),
                                             GGS_FIELD(struct ggs_experts_sums, activations, "activations"),
                                             {0}};
    static const struct ggs_field reuse[] = {GGS_FIELD(struct ggs_experts_sums, follows, "follows"),
                                             GGS_FIELD(struct ggs_experts_sums, chosen, "chosen"),
                                             GGS_FIELD(struct ggs_experts_sums, reused, "reused"),
                                             GGS_FIELD(struct ggs_experts_sums, all_predicted, "all_predicted"),
                                             GGS_FIELD(struct ggs_experts_sums, none_predicted, "none_predicted"),
                                             GGS_FIELD(struct ggs_experts_sums, chance, "by_chance"),
                                             {0}};
    ggs_fields_members(json, all, sums);
    ggs_json_object_inline(json, "reuse");
    ggs_fields_members(json, reuse, sums);
    ggs_json_double(json, "share", share(sums->reused, sums->chosen));
    ggs_json_end(json);
    put_time(json, &sums->prefetch);
}

void ggs_experts_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_experts * experts) {
    static const struct ggs_field pairs[] = {GGS_FIELD(struct ggs_experts_pair, layer, "layer"),
                                             GGS_FIELD(struct ggs_experts_pair, a, "a"),
                                             GGS_FIELD(struct ggs_experts_pair, b, "b"),
                                             GGS_FIELD(struct ggs_experts_pair, times, "times"),
                                             GGS_FIELD(struct ggs_experts_pair, expected, "expected"),
                                             {0}};
    struct ggs_experts_sums       sums    = ggs_experts_sum(experts);
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_json_bool(json, "has_experts", experts->any);
    ggs_json_u64(json, "tokens", experts->tokens);
    ggs_json_u64(json, "unknown", experts->unknown);
    put_sums(json, &sums);
    ggs_json_array(json, "by_layer");
    for (uint64_t i = 0; i < experts->n_layers; i++) put_layer(json, &experts->layers[i]);
    ggs_json_end(json);
    put_matrices(json, experts);
    put_sets(json, experts);
    ggs_fields_rows(json, "pairs", pairs, experts->pairs, sizeof(*experts->pairs), experts->n_pairs);
    ggs_json_end(json);
}
