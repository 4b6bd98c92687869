// Compares two recordings.
//
// Ops are aligned by (token step, layer, op, name of the result), and by their order if a step has
// several of them; never by time. Names that the engine derives from a node's number do not count,
// so that one more op does not shift all that follow.
//
// Ops that one recording fused and the other computed separately are compared as one op: the first
// of them.
//
// Bytes and experts are compared exactly. Times are noisy: verdict.h defines what counts as a
// change.
//
// Memory grows with the models' graphs, not with the length of the recordings.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/diff/verdict.h"
#include "analyze/ops/totals.h"
#include "analyze/walk/names.h"
#include "analyze/walk/trace.h"

struct ggs_diff_side {
    uint64_t             ops;                    // that were compared
    uint64_t             only;                   // that the other recording lacks
    uint64_t             wall_ns, read, written; // of the compared ops
    struct ggs_quartiles time;                   // of one op
};

enum { GGS_DIFF_LAYERS = -2 }; // layer of an item: all layers together

// Equal ops: of one layer or all layers; of prompts or of generated tokens.
struct ggs_diff_item {
    bool                 prompt;
    int                  layer; // -1: none; GGS_DIFF_LAYERS
    const char *         op;
    const char *         tensor; // "" without a name; without the layer's number for all layers
    struct ggs_diff_side a, b;
    uint64_t             bytes_differ; // ops with different bytes
    enum ggs_verdict     verdict;
};

struct ggs_diff_times {
    struct ggs_quartiles a, b;       // of one token step
    uint64_t             a_ns, b_ns; // of all steps
    enum ggs_verdict     verdict;
};

enum { GGS_DIFF_WARNINGS = 12, GGS_DIFF_CAUSES = 12, GGS_DIFF_WARNING = 320 };

struct ggs_causes {
    unsigned n;
    char     text[GGS_DIFF_CAUSES][GGS_DIFF_WARNING]; // "only B: ..."
};

struct ggs_diff {
    bool                   identical; // no difference at all, not even times
    struct ggs_totals      a, b;
    uint64_t               tokens, tokens_only_a, tokens_only_b; // compared steps
    int64_t                parted;                               // first step with different tokens, -1 for none
    uint64_t               ops, only_a, only_b;
    uint64_t               fused;        // ops that only one recording fused; compared as part of the fused op
    uint64_t               bytes_differ; // ops
    uint64_t               choices, choices_differ; // ops on experts; those with different experts
    struct ggs_diff_times  prompt, generate;
    double                 shift; // B's time divided by A's for the typical kind of op; 1 if there is none
    bool                   engines_differ;
    uint64_t               n_items; // changes, most time first
    struct ggs_diff_item * items;
    struct ggs_names *     names; // storage of their names
    unsigned               n_warnings;
    char              warnings[GGS_DIFF_WARNINGS][GGS_DIFF_WARNING]; // sentences: what makes the two hard to compare
    struct ggs_causes causes;                                        // findings that one of the two has
};

int  ggs_diff_compute(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error);
void ggs_diff_release(struct ggs_diff * diff);
