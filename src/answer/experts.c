#include "answer/answer.h"

#include <math.h>

static double share(uint64_t part, uint64_t whole) {
    return whole == 0 ? (double) NAN : (double) part / (double) whole;
}

// ---- prefetch ----

GGS_GET(int64_t, mean_of, struct ggs_experts_time, (int64_t) ggs_experts_mean(it))

static const struct ggs_field time_fields[] = {
    GGS_FIELD(struct ggs_experts_time, n, "count"),
    GGS_FIELD(struct ggs_experts_time, least_ns, "least_ns"),
    GGS_COUNT("mean_ns", mean_of, ""),
    GGS_FIELD(struct ggs_experts_time, most_ns, "most_ns"),
    {0},
};
static const struct ggs_object time_ = {.name = "Prefetch", .fields = time_fields};

#define PREFETCH(type)                                      \
    GGS_OBJECT_OR_NULL("prefetch", type##_prefetch, &time_, \
                       "time from the router's result to the first byte of an expert; null if not seen")

GGS_GET_VIEW(layer_prefetch, struct ggs_experts_layer, it->prefetch.n > 0 ? &it->prefetch : NULL)
GGS_GET_VIEW(matrix_prefetch, struct ggs_experts_matrix, it->prefetch.n > 0 ? &it->prefetch : NULL)
GGS_GET_VIEW(sums_prefetch, struct ggs_experts_sums, it->prefetch.n > 0 ? &it->prefetch : NULL)

// ---- by layer, by component ----

#define LAYER(member, key, ...) GGS_FIELD(struct ggs_experts_layer, member, key, __VA_ARGS__)

GGS_GET(double, imbalance_of, struct ggs_experts_layer, ggs_experts_imbalance(it))
GGS_GET(double, layer_reuse, struct ggs_experts_layer, share(it->reused, it->chosen))

static const struct ggs_field layer_fields[] = {
    LAYER(layer, "layer"),
    LAYER(experts, "experts", "experts that there are"),
    LAYER(used, "chosen_per_token"),
    LAYER(bytes, "bytes", "of one expert"),
    LAYER(tokens, "tokens"),
    LAYER(activations, "activations", "choices"),
    LAYER(distinct, "distinct", "experts that were chosen at least once"),
    LAYER(follows, "follows", "tokens whose predecessor is known"),
    LAYER(chosen, "chosen", "experts that they chose"),
    LAYER(reused, "reused", "of these, those that the predecessor chose too"),
    LAYER(all_predicted, "all_predicted", "of follows: tokens whose predecessor chose the same experts"),
    LAYER(none_predicted, "none_predicted", "of follows: tokens whose predecessor chose none of them"),
    GGS_REAL("imbalance", imbalance_of, "busiest expert against the mean: 1 is even"),
    GGS_REAL_OR_NULL("reuse_share", layer_reuse, "reused / chosen"),
    PREFETCH(layer),
    GGS_LIST(struct ggs_experts_layer, counts, experts, "counts", "choices by expert"),
    {0},
};
static const struct ggs_object layer = {.name = "ExpertsLayer", .fields = layer_fields, .lines = true};

static const char * component_of(const void * at, const void * trace, char * room, size_t * length) {
    const struct ggs_experts_matrix * matrix = at;
    (void) trace, (void) room;
    *length = (size_t) matrix->component_length;
    return matrix->component;
}

static const struct ggs_field matrix_fields[] = {
    GGS_TEXT("component", component_of, ""),
    GGS_FIELD(struct ggs_experts_matrix, bytes, "bytes_read"),
    PREFETCH(matrix),
    {0},
};
static const struct ggs_object matrix = {.fields = matrix_fields};

// ---- working sets, pairs ----

#define SET(member, ...) GGS_FIELD(struct ggs_experts_set, member, #member, __VA_ARGS__)

GGS_GET(double, mean_experts, struct ggs_experts_set, share(it->sum_experts, it->samples))
GGS_GET(double, mean_bytes, struct ggs_experts_set, share(it->sum_bytes, it->samples))

static const struct ggs_field set_fields[] = {
    SET(window, "consecutive tokens"),
    SET(samples),
    GGS_REAL_OR_NULL("mean_experts", mean_experts, ""),
    SET(most_experts),
    GGS_REAL_OR_NULL("mean_bytes", mean_bytes, ""),
    SET(most_bytes),
    {0},
};
static const struct ggs_object set = {.fields = set_fields};

#define PAIR(member, ...) GGS_FIELD(struct ggs_experts_pair, member, #member, __VA_ARGS__)

static const struct ggs_field pair_fields[] = {
    PAIR(layer),
    PAIR(a, "an expert"),
    PAIR(b, "another one"),
    PAIR(times, "how often they were chosen together"),
    PAIR(expected, "how often, if choices were independent"),
    {0},
};
static const struct ggs_object pair = {.fields = pair_fields};

// ---- the answer ----

#define SUM(member, key, ...) GGS_FIELD(struct ggs_experts_sums, member, key, __VA_ARGS__)

GGS_GET(double, sums_reuse, struct ggs_experts_sums, share(it->reused, it->chosen))
GGS_GET(double, sums_chance, struct ggs_experts_sums, it->chosen == 0 ? share(0, 0) : it->chance)

static const struct ggs_field reuse_fields[] = {
    SUM(follows, "follows", "tokens whose predecessor is known, over all layers"),
    SUM(chosen, "chosen", "experts that they chose"),
    SUM(reused, "reused", "of these, those that the predecessor chose too"),
    SUM(all_predicted, "all_predicted", "of follows: tokens whose predecessor chose the same experts"),
    SUM(none_predicted, "none_predicted", "of follows: tokens whose predecessor chose none of them"),
    GGS_REAL_OR_NULL("by_chance", sums_chance, "share that would be reused if each token chose at random"),
    GGS_REAL_OR_NULL("share", sums_reuse, "reused / chosen"),
    {0},
};
static const struct ggs_object reuse = {.fields = reuse_fields};

static const struct ggs_field sums_fields[] = {
    SUM(experts, "experts", "experts of all layers"),
    SUM(used, "chosen_per_token", "experts chosen per token, in the layer with the most"),
    SUM(bytes, "bytes", "bytes of all experts"),
    SUM(distinct, "distinct", "experts that were chosen at least once"),
    SUM(distinct_bytes, "distinct_bytes"),
    SUM(activations, "activations", "choices"),
    GGS_OBJECT_OF("reuse", &reuse, "how often a token chooses what its predecessor chose"),
    PREFETCH(sums),
    {0},
};
static const struct ggs_object sums = {.fields = sums_fields};

static const void * sums_of(const void * at, const void * trace, void * room) {
    (void) trace;
    *(struct ggs_experts_sums *) room = ggs_experts_sum(at);
    return room;
}

#define EXPERTS(member, key, ...) GGS_FIELD(struct ggs_experts, member, key, __VA_ARGS__)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    EXPERTS(any, "has_experts", "there are ops on experts"),
    EXPERTS(tokens, "tokens"),
    EXPERTS(unknown, "unknown", "ops on experts whose choice was not recorded"),
    GGS_MEMBERS_VIEW(sums_of, &sums),
    GGS_ROWS(struct ggs_experts, layers, n_layers, "by_layer", &layer),
    GGS_ROWS(struct ggs_experts, matrices, n_matrices, "by_component", &matrix,
             "kinds of matrices that experts consist of", .inside = true),
    GGS_ROWS(struct ggs_experts, sets, n_sets, "working_sets", &set,
             "distinct experts that a window of consecutive tokens needs", .inside = true),
    GGS_ROWS(struct ggs_experts, pairs, n_pairs, "pairs", &pair, "experts that were chosen together most often",
             .inside = true),
    {0},
};
const struct ggs_object ggs_experts_object = {
    .name   = "Experts",
    .text   = "Which experts were chosen, how evenly, and how often again.",
    .fields = fields,
    .lines  = true,
};
