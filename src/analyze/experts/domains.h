// Compares the experts of several recordings of one model, each with prompts of a domain.
//
// A share is an expert's part of the choices in a layer, per recording. Layers are compared
// separately, because expert 3 of one layer is unrelated to that of another; there are means and
// sums over all layers.
#pragma once

#include <stdint.h>

#include "analyze/experts/experts.h"

enum { GGS_DOMAINS_MOST = 12 };

struct ggs_domains_layer {
    int      layer;
    unsigned n;
    uint64_t experts;
    uint64_t choices[GGS_DOMAINS_MOST];
    double * shares;                    // [domain * experts + expert]
    double   entropy[GGS_DOMAINS_MOST]; // bits: log2(experts) for uniform choices; NaN: no choices
    double   overlap;                   // mean over pairs of domains; NaN: none
    uint64_t specialists;               // experts
};

// The overlap of two domains: the sum of the smaller of both shares, 1 for equal choices, 0 without
// a common expert.
struct ggs_domains_pair {
    unsigned a, b;
    double   overlap; // mean over layers; NaN: no layer has choices of both
};

// An expert with at least twice the share in one domain than in any other, and more than its share
// under uniform choices.
struct ggs_specialist {
    int      layer;
    uint64_t expert;
    unsigned domain;
    double   share, next; // in that domain; maximum in any other
};

struct ggs_domains {
    unsigned                   n;
    uint64_t                   tokens[GGS_DOMAINS_MOST];
    double                     entropy[GGS_DOMAINS_MOST];     // mean over layers
    uint64_t                   specialists[GGS_DOMAINS_MOST]; // per domain
    struct ggs_domains_layer * layers;
    uint64_t                   n_layers;
    struct ggs_domains_pair    pairs[GGS_DOMAINS_MOST * GGS_DOMAINS_MOST / 2];
    unsigned                   n_pairs;
    struct ggs_specialist *    list; // largest share first
    uint64_t                   n_list, list_capacity;
};

// Fails if a recording has no experts, or if the numbers of layers or experts differ.
int  ggs_domains_compute(struct ggs_domains * domains, struct ggs_trace * traces, unsigned n,
                         const struct ggs_experts_options * options, struct ggs_error * error);
void ggs_domains_release(struct ggs_domains * domains);
