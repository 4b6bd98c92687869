// Mixture of experts: which experts did which token choose in which layer, and what would a cache
// or a prefetcher gain?
//
// Counted per token, also if a prompt's tokens were computed together. The token before is that of
// the same sequence. Warm-up is left out. Memory does not grow with the recording.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_experts_options {
    int64_t  first_token, last_token; // token steps
    uint64_t window;                  // of the working set, in tokens; 0: several, powers of two
};

// A time that was seen several times.
struct ggs_experts_time {
    uint64_t n, sum_ns, least_ns, most_ns;
};

struct ggs_experts_layer {
    int        layer;
    uint64_t   experts; // how many there are
    uint64_t   used;    // how many a token chooses
    uint64_t   bytes;   // of one expert, all its matrices
    uint64_t   tokens, activations;
    uint64_t * counts; // by expert
    uint64_t   distinct, most;
    // Between tokens that follow each other: how much of a token's choice was the choice of the one
    // before?
    uint64_t                follows;        // tokens whose predecessor is known
    uint64_t                chosen, reused; // experts that they chose; of these, those that the predecessor had chosen
    uint64_t                all_predicted, none_predicted; // of `follows`
    struct ggs_experts_time prefetch;                      // router's result to the first byte of the experts
    // below: while it is computed
    int64_t *  last_seen; // by expert: token, -1 for never
    uint32_t * pairs;     // by (lower, higher); NULL if there are too many experts
};

// One kind of matrix that experts consist of, over all layers.
struct ggs_experts_matrix {
    const char *            component; // "ffn_gate_exps": not NUL-terminated
    int                     component_length;
    struct ggs_experts_time prefetch; // router's result to the begin of the op that reads it
    uint64_t                bytes;    // that were read
};

// How many different experts (of all layers) do so many consecutive tokens need?
struct ggs_experts_set {
    uint64_t window, samples;
    uint64_t sum_experts, most_experts;
    uint64_t sum_bytes, most_bytes;
    uint64_t now_experts, now_bytes; // while it is computed
};

struct ggs_experts_pair {
    int      layer;
    uint32_t a, b; // a < b
    uint64_t times;
    double   expected; // times, if choices did not depend on each other
};

enum { GGS_EXPERTS_MATRICES = 16, GGS_EXPERTS_SETS = 12, GGS_EXPERTS_PAIRS = 64 };

struct ggs_experts {
    bool                       any;     // there are expert ops at all
    uint64_t                   unknown; // of them those whose choice was not recorded
    uint64_t                   tokens;
    uint64_t                   n_layers, capacity; // those with experts, ascending
    struct ggs_experts_layer * layers;
    unsigned                   n_matrices;
    struct ggs_experts_matrix  matrices[GGS_EXPERTS_MATRICES];
    unsigned                   n_sets; // those that the recording is long enough for
    struct ggs_experts_set     sets[GGS_EXPERTS_SETS];
    unsigned                   n_pairs; // those that were chosen together most often
    struct ggs_experts_pair    pairs[GGS_EXPERTS_PAIRS];
};

int  ggs_experts_compute(struct ggs_experts * experts, struct ggs_trace * trace,
                         const struct ggs_experts_options * options, struct ggs_error * error);
void ggs_experts_release(struct ggs_experts * experts);

// All layers together.
struct ggs_experts_sums {
    uint64_t                experts, used, bytes, distinct, distinct_bytes, activations; // used: the most of any layer
    uint64_t                follows, chosen, reused, all_predicted, none_predicted;
    double                  chance; // share that would be reused if each token chose at random; 0 if chosen is 0
    struct ggs_experts_time prefetch;
};
struct ggs_experts_sums ggs_experts_sum(const struct ggs_experts * experts);
double   ggs_experts_imbalance(const struct ggs_experts_layer * layer); // busiest expert against the mean: 1 is even
uint64_t ggs_experts_mean(const struct ggs_experts_time * time);        // ns; 0 if there was none
