// A trace opened for analysis: the reader, and the small tables in memory.
//
// Small are tensors, op names, types, buffers and files: they grow with the model and its distinct
// graphs, not with the length of the recording. Everything else is walked with cursors.
//
// A trace is untrusted input whose checksums may be right and whose numbers may be wrong. Opening
// it, and getting a graph of it, checks every number of a tensor, a file or a view: code that has
// them needs no checks of its own.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/reader.h"

// Progress of an analysis for another thread, and a way to stop it.
struct ggs_watch {
    _Atomic uint64_t done; // op runs that were walked over
    _Atomic bool     stop; // set it, and the walk ends with an error
};

// What an op does with its operands, as far as bytes are concerned.
enum ggs_op_kind {
    GGS_KIND_DENSE,      // reads its sources whole, writes its result whole
    GGS_KIND_EMPTY,      // view, reshape, permute, transpose, none: touches nothing
    GGS_KIND_GET_ROWS,   // reads the rows of source 0 that source 1 names
    GGS_KIND_SET_ROWS,   // writes the rows of its result that source 1 names
    GGS_KIND_MUL_MAT_ID, // reads the matrices of source 0 that source 2 names
    GGS_KIND_ADD_ID,     // reads the rows of source 1 that source 2 names
    GGS_KIND_CPY,        // source 1 is where it writes, not what it reads
    GGS_KIND_IM2COL,     // of source 0, the kernel, only the shape matters
    GGS_KIND_ADAMW,      // writes its sources 2 and 3, the moments, besides its result
    GGS_KINDS,
};

// A part of a recording that an analysis is limited to, by requests: see
// analyze/requests/selection.h.
struct ggs_selection {
    uint64_t   request, sequence, context; // number + 1 of the one that was asked for; 0: all
    uint64_t * steps;                      // a bit for each token step that has some of it
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
    bool *                 models;    // by file - 1: weights come from it
    int *                  layers;    // by tensor - 1: the layer in its name, -1 for none
    bool                   tokenless; // the program has no tokens: a step is a graph run
    struct ggs_graph *     graph;     // the one that ggs_trace_graph gave last
    struct ggs_watch *     watch;     // may be NULL
    uint64_t               damaged;   // chunks that were left out: every figure is partial
    struct ggs_selection * selection; // NULL: everything; borrowed
    const struct ggs_op_filter *
        filter; // the ops that an analysis is about: analyze/walk/op-filter.h; NULL: all; borrowed
};

// Is the step in the part of the recording that was asked for? What belongs to no step is, if that
// is everything.
static inline bool ggs_trace_has_step(const struct ggs_trace * trace, int64_t step) {
    const struct ggs_selection * s = trace->selection;
    if (s == NULL) return true;
    return step >= 0 && (uint64_t) step / 64 < s->n_words && (s->steps[(uint64_t) step / 64] >> (step % 64) & 1) != 0;
}

// `path`: an experiment's directory or a trace file.
int ggs_trace_open(struct ggs_trace * trace, const char * path, struct ggs_error * error);
// The same for a damaged trace, of which it reads what is intact: trace->damaged says how many
// chunks are not.
int  ggs_trace_open_damaged(struct ggs_trace * trace, const char * path, struct ggs_error * error);
void ggs_trace_close(struct ggs_trace * trace); // a zeroed struct is fine

// NULL if the trace is whole; else a sentence on what is missing. Whoever shows figures of a trace
// shows this with them.
const char * ggs_trace_missing(const struct ggs_trace * trace);

// A trace is used by one thread at a time, because of the graph that it keeps. Another thread
// borrows it: the tables are shared, the graph is its own. Give it back before the trace is closed.
struct ggs_trace ggs_trace_borrow(const struct ggs_trace * trace);
void             ggs_trace_return(struct ggs_trace * borrowed);

// So many more op runs were looked at. GGS_USAGE if the analysis was asked to stop.
int ggs_trace_progress(struct ggs_trace * trace, uint64_t op_runs, struct ggs_error * error);

// A graph by number; valid until the next call.
int ggs_trace_graph(struct ggs_trace * trace, uint64_t graph, const struct ggs_graph ** out, struct ggs_error * error);

// NULL if there is no such tensor or buffer, "" if there is no such op.
const struct ggs_tensor * ggs_trace_tensor(const struct ggs_trace * trace, uint64_t tensor);
const struct ggs_buffer * ggs_trace_buffer(const struct ggs_trace * trace, uint64_t buffer);
uint64_t                  ggs_trace_buffer_device(const struct ggs_trace * trace, uint64_t buffer); // 0 for none
const char *              ggs_trace_device_name(const struct ggs_trace * trace, uint64_t device);   // "" for none
// Is it one that computes, other than the CPU? Its op runs are those of queues, not of threads.
bool             ggs_trace_is_device(const struct ggs_trace * trace, uint64_t device);
const char *     ggs_trace_tensor_name(const struct ggs_trace * trace, uint64_t tensor);
const char *     ggs_trace_op_name(const struct ggs_trace * trace, uint64_t op);
enum ggs_op_kind ggs_trace_op_kind(const struct ggs_trace * trace, uint64_t op);

// ---- nodes ----

// The tensor that a node reads as this source; 0 for none.
uint64_t ggs_trace_source(const struct ggs_graph * graph, uint64_t node, uint64_t slot);
// The node after this one that computes something; graph->n_nodes for none. An op that absorbed n
// nodes computed itself and the next n of these.
uint64_t ggs_trace_next_node(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);
// Does index data decide which bytes an op touches? `absorbed`: nodes that were computed together
// with it.
bool ggs_trace_is_indexed(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node,
                          uint64_t absorbed);
// The layer of a node: that of its result's name, else of a weight that it reads, else, if it has
// no name, of what it reads;
// -1 for none.
int ggs_trace_node_layer(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);

// ---- tensors ----

// The file and offset that a tensor's bytes are at, or were copied from at load; false if in none.
bool ggs_trace_origin(const struct ggs_tensor * tensor, uint64_t * file, uint64_t * offset);
// Weights in buffers that were filled in ways that are not seen: they lie in no file. Where a model
// file is known, tensors with a weight's name count too.
struct ggs_stray_weights {
    uint64_t n, bytes;
};
struct ggs_stray_weights ggs_trace_stray_weights(const struct ggs_trace * trace);
// The tensor that this one is a view of, over all views of views; itself if it is none.
const struct ggs_tensor * ggs_trace_root(const struct ggs_trace * trace, const struct ggs_tensor * tensor);
// Bytes of one row (the first dimension) of a tensor; 0 if its type is unknown.
uint64_t ggs_trace_row_bytes(const struct ggs_trace * trace, const struct ggs_tensor * tensor);
// Bytes from a tensor's first to its last one by its strides; 0 if it has none or its shape makes
// no sense.
uint64_t ggs_trace_extent(const struct ggs_trace * trace, const struct ggs_tensor * tensor);
// Bytes of one expert of a weight of this name and extent; 0 if it has no experts.
uint64_t ggs_trace_expert_bytes(const struct ggs_tensor * tensor, const char * name, uint64_t extent);

// ---- the recording ----

// From the first process's first event to the last one's last.
int ggs_trace_span(struct ggs_trace * trace, int64_t * begin_ns, int64_t * end_ns, struct ggs_error * error);
// Bytes of a page on the machine that was recorded.
uint64_t ggs_trace_page_size(struct ggs_trace * trace);

// Token steps and a layer that a user asked for. GGS_ABSENT with a sentence that names the valid
// range if the recording has none of these steps, or not the layer. Everything is always fine: up
// to INT64_MAX from 0 or below, a layer below 0.
int ggs_trace_check_steps(struct ggs_trace * trace, int64_t first_step, int64_t last_step, struct ggs_error * error);
int ggs_trace_check_layer(struct ggs_trace * trace, int layer, struct ggs_error * error);

// Losses of one reason (enum ggs_loss_reason of ggscope.h), added up. Reason 0: of ops and tokens,
// whatever the reason.
int ggs_trace_lost(struct ggs_trace * trace, uint64_t reason, uint64_t * count, struct ggs_error * error);
// Losses of observations of the machine only: no op, no token is missing.
bool ggs_loss_is_of_machine(uint64_t reason);

// Two nodes may compute the same tensor one after the other, with a name, an address and a shape
// used again; what a node reads is the work of the last one before it. For going through the edges
// in order: brings maker[tensor], a node + 1, up to what the nodes before `node` have made. `made`
// is 0 at first.
void ggs_trace_make(const struct ggs_trace * trace, const struct ggs_graph * graph, uint32_t * maker, uint64_t * made,
                    uint64_t node);
