// A trace opened for analysis: the reader, and the small tables in memory.
//
// Small tables are tensors, op names, types, buffers and files: they grow with the model and its
// distinct graphs, not with the length of the recording. Everything else is read with cursors.
//
// A trace is untrusted, even with valid checksums. Opening it, and getting a graph of it, checks
// every number of a tensor, a file or a view, so other code need not check them.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/reader.h"

// Progress of an analysis for another thread, and a way to stop it.
struct ggs_watch {
    _Atomic uint64_t done; // op runs walked so far
    _Atomic bool     stop; // set it to end the walk with an error
};

// The access pattern of an op.
enum ggs_op_kind {
    GGS_KIND_DENSE,      // reads its sources and writes its result as a whole
    GGS_KIND_EMPTY,      // view, reshape, permute, transpose, none: touches nothing
    GGS_KIND_GET_ROWS,   // reads the rows of source 0 given by source 1
    GGS_KIND_SET_ROWS,   // writes the rows of its result given by source 1
    GGS_KIND_MUL_MAT_ID, // reads the matrices of source 0 given by source 2
    GGS_KIND_ADD_ID,     // reads the rows of source 1 given by source 2
    GGS_KIND_CPY,        // source 1 is the target and not read
    GGS_KIND_IM2COL,     // of source 0, the kernel, only the shape is used
    GGS_KIND_ADAMW,      // also writes its sources 2 and 3, the moments
    GGS_KINDS,
};

// The part of a recording that an analysis is limited to, by requests: see
// analyze/requests/selection.h.
struct ggs_selection {
    uint64_t   request, sequence, context; // number + 1 of the selected one; 0: all
    uint64_t * steps;                      // a bit per token step with some of it
    uint64_t   n_words;
    int64_t    first_step;
};

struct ggs_op_filter;

struct ggs_trace {
    struct ggs_reader *    reader;
    struct ggs_tensor *    tensors; // tensors[i].tensor == i + 1
    uint64_t               n_tensors;
    const char **          op_names; // by op number, "" if unknown
    enum ggs_op_kind *     op_kinds;
    uint64_t               n_ops;
    struct ggs_type *      types; // by type number; name 0 if unknown
    uint64_t               n_types;
    struct ggs_buffer *    buffers;
    uint64_t               n_buffers;
    struct ggs_file *      files;
    uint64_t               n_files;
    struct ggs_device *    devices; // devices[i].device == i + 1
    uint64_t               n_devices;
    bool *                 models;    // by file - 1: contains weights
    int *                  layers;    // by tensor - 1: the layer in its name, -1 for none
    bool                   tokenless; // the program has no tokens: a step is a graph run
    struct ggs_graph *     graph;     // the last result of ggs_trace_graph
    struct ggs_watch *     watch;     // may be NULL
    uint64_t               damaged;   // skipped chunks: every figure is partial
    struct ggs_selection * selection; // NULL: everything; borrowed
    const struct ggs_op_filter *
        filter; // the ops that an analysis is limited to: analyze/walk/op-filter.h; NULL: all; borrowed
};

// True if the step is selected. Without a step: true if everything is selected.
static inline bool ggs_trace_has_step(const struct ggs_trace * trace, int64_t step) {
    const struct ggs_selection * s = trace->selection;
    if (s == NULL) return true;
    return step >= 0 && (uint64_t) step / 64 < s->n_words && (s->steps[(uint64_t) step / 64] >> (step % 64) & 1) != 0;
}

// `path`: an experiment's directory or a trace file.
int ggs_trace_open(struct ggs_trace * trace, const char * path, struct ggs_error * error);
// The same for a damaged trace, whose intact part is read: trace->damaged is the number of skipped
// chunks.
int  ggs_trace_open_damaged(struct ggs_trace * trace, const char * path, struct ggs_error * error);
void ggs_trace_close(struct ggs_trace * trace); // a zeroed struct is fine

// Returns NULL if the trace is complete; else a sentence on what is missing, to be shown with every
// figure.
const char * ggs_trace_missing(const struct ggs_trace * trace);

// A trace is used by one thread at a time, because of its current graph. Another thread borrows it:
// the tables are shared, the graph is separate. Return it before the trace is closed.
struct ggs_trace ggs_trace_borrow(const struct ggs_trace * trace);
void             ggs_trace_return(struct ggs_trace * borrowed);

// Reports that `op_runs` more were processed. GGS_USAGE if the analysis was asked to stop.
int ggs_trace_progress(struct ggs_trace * trace, uint64_t op_runs, struct ggs_error * error);

// Returns a graph by number; valid until the next call.
int ggs_trace_graph(struct ggs_trace * trace, uint64_t graph, const struct ggs_graph ** out, struct ggs_error * error);

// Returns NULL for an unknown tensor or buffer, "" for an unknown op.
const struct ggs_tensor * ggs_trace_tensor(const struct ggs_trace * trace, uint64_t tensor);
const struct ggs_buffer * ggs_trace_buffer(const struct ggs_trace * trace, uint64_t buffer);
uint64_t                  ggs_trace_buffer_device(const struct ggs_trace * trace, uint64_t buffer); // 0 for none
const char *              ggs_trace_device_name(const struct ggs_trace * trace, uint64_t device);   // "" for none
// True for a computing device other than the CPU. Its op runs are those of queues, not of threads.
bool             ggs_trace_is_device(const struct ggs_trace * trace, uint64_t device);
const char *     ggs_trace_tensor_name(const struct ggs_trace * trace, uint64_t tensor);
const char *     ggs_trace_op_name(const struct ggs_trace * trace, uint64_t op);
enum ggs_op_kind ggs_trace_op_kind(const struct ggs_trace * trace, uint64_t op);

// ---- nodes ----

// Returns the tensor that a node reads as this source; 0 for none.
uint64_t ggs_trace_source(const struct ggs_graph * graph, uint64_t node, uint64_t slot);
// Returns the next node that computes something; graph->n_nodes for none. An op that absorbed n
// nodes computed itself and the next n of these.
uint64_t ggs_trace_next_node(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);
// True if index data determines the bytes of an op. `absorbed`: nodes fused with it.
bool ggs_trace_is_indexed(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node,
                          uint64_t absorbed);
// The layer of a node: from its result's name, else of a weight that it reads, else, if unnamed, of
// its sources; -1 for none.
int ggs_trace_node_layer(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);

// ---- tensors ----

// Returns the file and offset of a tensor's bytes, or of their origin if copied at load; false if
// there is none.
bool ggs_trace_origin(const struct ggs_tensor * tensor, uint64_t * file, uint64_t * offset);
// Weights in buffers that were filled in an unseen way: they are in no file. If a model file is
// known, tensors with a weight's name count too.
struct ggs_stray_weights {
    uint64_t n, bytes;
};
struct ggs_stray_weights ggs_trace_stray_weights(const struct ggs_trace * trace);
// Returns the tensor at the end of the chain of views; itself if it is not a view.
const struct ggs_tensor * ggs_trace_root(const struct ggs_trace * trace, const struct ggs_tensor * tensor);
// Bytes of one row (the first dimension) of a tensor; 0 if its type is unknown.
uint64_t ggs_trace_row_bytes(const struct ggs_trace * trace, const struct ggs_tensor * tensor);
// Bytes from a tensor's first to its last, by its strides; 0 if it has none or its shape is
// invalid.
uint64_t ggs_trace_extent(const struct ggs_trace * trace, const struct ggs_tensor * tensor);
// Bytes of one expert of a weight of this name and extent; 0 without experts.
uint64_t ggs_trace_expert_bytes(const struct ggs_tensor * tensor, const char * name, uint64_t extent);

// ---- the recording ----

// From the first process's first event to the last one's last.
int ggs_trace_span(struct ggs_trace * trace, int64_t * begin_ns, int64_t * end_ns, struct ggs_error * error);
// Page size of the recorded machine.
uint64_t ggs_trace_page_size(struct ggs_trace * trace);

// Checks token steps and a layer given by a user. GGS_ABSENT with a sentence that names the valid
// range if the recording has none of these steps, or not the layer. Everything is always valid: up
// to INT64_MAX from 0 or below, a layer below 0.
int ggs_trace_check_steps(struct ggs_trace * trace, int64_t first_step, int64_t last_step, struct ggs_error * error);
int ggs_trace_check_layer(struct ggs_trace * trace, int layer, struct ggs_error * error);

// Sums the losses of one reason (enum ggs_loss_reason of ggscope.h). Reason 0: of ops and tokens,
// for any reason.
int ggs_trace_lost(struct ggs_trace * trace, uint64_t reason, uint64_t * count, struct ggs_error * error);
// True for losses of machine observations only: no op or token is missing.
bool ggs_loss_is_of_machine(uint64_t reason);

// Two nodes may compute the same tensor one after the other (a reused name, address and shape); a
// node reads the result of the last one before it. For walking edges in order: updates
// maker[tensor], a node + 1, to the nodes before `node`. `made` starts at 0.
void ggs_trace_make(const struct ggs_trace * trace, const struct ggs_graph * graph, uint32_t * maker, uint64_t * made,
                    uint64_t node);
