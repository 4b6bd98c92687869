// Mixture of experts: the experts chosen by token and layer, and the potential of caches and
// prefetching.
//
// Counts are per token, also for prompt tokens computed together. The previous token is that of the
// same sequence. Warm-up is left out. Memory does not grow with the recording.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_experts_options {
    int64_t  first_token, last_token; // token steps
    uint64_t window;                  // of the working set, in tokens; 0: several powers of two
};

// A repeatedly measured time.
struct ggs_experts_time {
    uint64_t n, sum_ns, least_ns, most_ns;
};

struct ggs_experts_layer {
    int        layer;
    uint64_t   experts; // total
    uint64_t   used;    // chosen by a token
    uint64_t   bytes;   // of one expert, all its matrices
    uint64_t   tokens, activations;
    uint64_t * counts; // by expert
    uint64_t   distinct, most;
    // Reuse of the experts that the previous token of the sequence chose.
    uint64_t                follows;        // tokens whose predecessor is known
    uint64_t                chosen, reused; // chosen by these tokens; of them, also chosen by the predecessor
    uint64_t                all_predicted, none_predicted; // of `follows`
    struct ggs_experts_time prefetch;                      // from the router's result to the first byte of the experts
    // used during computation
    int64_t *  last_seen; // by expert: token, -1: never
    uint32_t * pairs;     // by (lower, higher); NULL with too many experts
};

// One kind of matrix of experts, over all layers.
struct ggs_experts_matrix {
    const char *            component; // "ffn_gate_exps": not NUL-terminated
    int                     component_length;
    struct ggs_experts_time prefetch; // from the router's result to the start of the op that reads it
    uint64_t                bytes;    // that were read
};

// The number of distinct experts (over all layers) used by consecutive tokens.
struct ggs_experts_set {
    uint64_t window, samples;
    uint64_t sum_experts, most_experts;
    uint64_t sum_bytes, most_bytes;
    uint64_t now_experts, now_bytes; // used during computation
};

struct ggs_experts_pair {
    int      layer;
    uint32_t a, b; // a < b
    uint64_t times;
    double   expected; // times, if choices were independent
};

enum { GGS_EXPERTS_MATRICES = 16, GGS_EXPERTS_SETS = 12, GGS_EXPERTS_PAIRS = 64 };

struct ggs_experts {
    bool                       any;     // there are expert ops
    uint64_t                   unknown; // number of ops whose choice was not recorded
    uint64_t                   tokens;
    uint64_t                   n_layers, capacity; // those with experts, ascending
    struct ggs_experts_layer * layers;
    unsigned                   n_matrices;
    struct ggs_experts_matrix  matrices[GGS_EXPERTS_MATRICES];
    unsigned                   n_sets; // windows that fit the recording
    struct ggs_experts_set     sets[GGS_EXPERTS_SETS];
    unsigned                   n_pairs; // most frequent pairs
    struct ggs_experts_pair    pairs[GGS_EXPERTS_PAIRS];
};

int  ggs_experts_compute(struct ggs_experts * experts, struct ggs_trace * trace,
                         const struct ggs_experts_options * options, struct ggs_error * error);
void ggs_experts_release(struct ggs_experts * experts);

// All layers together.
struct ggs_experts_sums {
    uint64_t experts, used, bytes, distinct, distinct_bytes, activations; // used: the maximum over layers
    uint64_t follows, chosen, reused, all_predicted, none_predicted;
    double   chance; // expected share of reuse with random choices; 0 if chosen is 0
    struct ggs_experts_time prefetch;
};
struct ggs_experts_sums ggs_experts_sum(const struct ggs_experts * experts);
double   ggs_experts_imbalance(const struct ggs_experts_layer * layer); // busiest expert divided by the mean: 1 is even
uint64_t ggs_experts_mean(const struct ggs_experts_time * time);        // ns; 0 if there was none
