// Reads an op written by ggscope extract (src/cli/extract/extract.h). The file is untrusted:
// shapes, types and sizes are checked.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>
#include <gguf.h>
#include <stdbool.h>

struct ggs_error;

enum { GGS_OP_NODES = 16 };

struct ggs_op_file {
    struct gguf_context * gguf;
    struct ggml_context * data; // owns the bytes
    const char *          path;
    const char *          key;
    unsigned              n_nodes;
};

int  ggs_op_file_open(struct ggs_op_file * file, const char * path, struct ggs_error * error);
void ggs_op_file_close(struct ggs_op_file * file);

// Makes the nodes in `context`, which has no memory for data. `blobs` receives the tensors whose
// bytes are in the file, in the order of ggs_op_file_fill.
struct ggs_op_graph {
    struct ggml_tensor * nodes[GGS_OP_NODES];
    struct ggml_tensor * blobs[GGS_OP_NODES * GGML_MAX_SRC];
    struct ggml_tensor * bytes[GGS_OP_NODES * GGML_MAX_SRC];
    unsigned             n_blobs;
};
int  ggs_op_file_build(const struct ggs_op_file * file, struct ggml_context * context, struct ggs_op_graph * graph,
                       struct ggs_error * error);
void ggs_op_file_fill(const struct ggs_op_graph * graph);
// Returns the recorded output of the node; NULL if there is none.
const struct ggml_tensor * ggs_op_file_output(const struct ggs_op_file * file, unsigned node);
