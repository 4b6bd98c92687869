// Compares touched pages with prediction: every op must touch the pages of its byte ranges and no
// others.
//
//     predicted   pages of the ranges of the op's DISK operands, rounded outwards to whole pages
//     touched     pages that the hardware reported (table `pages`, recordings with --prove)
//     recall      share of the touched pages that was predicted: below 1 the trace lacks some
//     precision   share of the predicted pages that was touched
//
// Pages are counted once per op. Memory is that of one graph run.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_proof_sum {
    const char * op; // ggml's name; lives as long as the trace
    uint64_t     ops;
    uint64_t     predicted, touched, both; // pages
};

// Pages that an op touched although they were not predicted.
struct ggs_surprise {
    uint64_t     run, node;
    int64_t      token;
    const char * op;     // "" if the op was not recorded
    const char * tensor; // the op's result
    uint64_t     file, page, pages;
};

// Ops that read weights outside of mapped files, whose pages are not checked: the engine copied
// them into buffers.
struct ggs_proof_copies {
    const char * op;          // ggml's name; lives as long as the trace, and so does the next
    const char * buffer_type; // "AMX", "CPU_REPACK", "CUDA0"
    uint64_t     op_number;
    uint64_t     ops;
    uint64_t     bytes; // of these weights, summed over all reads
};

enum { GGS_PROOF_SURPRISES = 10000 }; // maximum that is kept

struct ggs_proof {
    uint64_t                  page_size;
    uint64_t                  runs;       // checked graph runs
    uint64_t                  incomplete; // ops that touched more pages than could be recorded
    uint64_t                  lost;       // ops whose touched pages were lost
    struct ggs_proof_sum      total;      // sum over all; its `op` is NULL
    uint64_t                  n_by_op;    // most pages touched first
    struct ggs_proof_sum *    by_op;
    uint64_t                  n_surprises; // total, kept or not
    uint64_t                  surprise_pages;
    struct ggs_surprise *     surprises;
    uint64_t                  n_copies;
    struct ggs_proof_copies * copies;     // by op and type of buffer, most bytes first
    uint64_t                  copied_ops; // distinct ops in `copies`
};

// 1 if nothing was touched or predicted: nothing was missed.
double ggs_proof_recall(const struct ggs_proof_sum * sum);
double ggs_proof_precision(const struct ggs_proof_sum * sum);

// GGS_ABSENT if the recording has no touched pages.
int  ggs_proof_compute(struct ggs_proof * proof, struct ggs_trace * trace, struct ggs_error * error);
void ggs_proof_release(struct ggs_proof * proof);
