// One op of a recording, or its fused group, with inputs and output, and the file that
// ggscope-engine replay reads.
//
//     key                       value
//     general.architecture      "ggscope-op"
//     op.key                    "MUL_MAT:ffn_out-3"
//     op.nodes                  u32: number of nodes, in order of computation
//     op.I.op                   name of node I's op
//     op.I.type, .ne, .params   of its output: type; i64[4]; i32[16]
//     op.I.into                 u32: the source whose memory the output is, such as a cache; missing
//                               if the output has memory of its own
//     op.I.src.S                "node.K": the output of node K; else the name of a tensor
//     op.I.src.S.type, .ne, .nb its type; i64[4]; i64[4] strides in bytes
//     op.I.out                  the tensor with the output of node I; missing if there is none
//
// Bytes are one-dimensional tensors of type I8 with the layout of memory.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

enum { GGS_EXTRACT_NODES = 16, GGS_EXTRACT_SOURCES = 10 };

struct ggs_extract_blob {
    const struct ggs_tensor * tensor; // NULL for none
    uint64_t                  number;
    int                       node; // node of the group that writes it; -1 for an input
    uint8_t *                 data; // NULL if nothing was recorded
    uint64_t                  bytes;
};

struct ggs_extract {
    struct ggs_trace *       trace; // borrowed
    const char *             key;
    struct ggs_run           run;
    const struct ggs_graph * graph;
    uint64_t                 nodes[GGS_EXTRACT_NODES]; // of the graph
    unsigned                 n_nodes;
    struct ggs_extract_blob  sources[GGS_EXTRACT_NODES][GGS_EXTRACT_SOURCES];
    struct ggs_extract_blob  outputs[GGS_EXTRACT_NODES];
    bool                     not_kept; // the op exists, but was not dumped
};

// Finds the op in the first graph run of the step that has its tensors (`step` -1: of any step),
// and collects its bytes: dumped ones, and weights from the model's file.
int  ggs_extract_collect(struct ggs_extract * extract, struct ggs_trace * trace, const char * key, int64_t step,
                         struct ggs_error * error);
void ggs_extract_release(struct ggs_extract * extract);
// The source that a node of the group writes into: its output is that tensor. -1 for none.
int ggs_extract_into(const struct ggs_extract * extract, unsigned node);
// The expression by which --values-dump matches the op.
void ggs_extract_pattern(const char * key, char * pattern, size_t size);
int  ggs_extract_write(const struct ggs_extract * extract, const char * path, struct ggs_error * error);

// Records the command again, with a dump of the op, into a new directory, which the caller removes
// (ggs_attempt_remove). `directory` is "" if none was made.
int ggs_extract_again(const struct ggs_extract * extract, char directory[PATH_MAX], struct ggs_error * error);
// Fails if the inputs of the second, by the hashes of their values, differ from those of the first.
// *known: the first has such hashes, or no input that an op computed. *same_output: the hashes of
// the output do not differ.
int ggs_extract_compare(const struct ggs_extract * first, const struct ggs_extract * second, bool * known,
                        bool * same_output, struct ggs_error * error);
