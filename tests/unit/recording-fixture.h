// Small recordings made by hand, row by row, with answers that can be worked out on paper: for
// tests of src/analyze.
//
//     struct recording r;
//     recording_open(&r);
//     uint64_t weight = recording_tensor(&r, "blk.0.attn_q.weight", F32, 8, 8, 1, in_file(1, 3000));
//     recording_node(&r, 1, 0, OP_MUL_MAT, result, weight, input, 0);
//     recording_run(&r, &(struct ggs_run){.run = 1, .graph = 1, ...});
//     recording_done(&r, &trace);      // written, and opened for analysis
//     ...
//     recording_close(&r, &trace);
//
// Rows are written in the order of the calls. Failures end the test.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"
#include "spool-fixture.h"
#include "trace/writer.h"

// Types and ops that every such recording names. The first ten ops are those of spool-fixture.h.
enum { F32 = 0, Q8_0 = 8, I32 = 26 };
enum { OP_MUL_MAT_ID = OP_SET_ROWS + 1, OP_CPY, OP_ADD_ID, OP_OPT_STEP_ADAMW, OP_SOFT_MAX, RECORDING_OPS };

struct recording {
    char *            folder;
    char *            path;
    int               fd;
    struct ggs_writer writer;
    uint64_t          n_tensors, n_files, n_buffers;
    uint64_t          graph, n_nodes; // the graph whose nodes are being written
};

void recording_open(struct recording * r);
void recording_open_paged(struct recording * r, uint64_t page_size); // of a machine with such pages
// Writes the end of the file and opens it.
void recording_done(struct recording * r, struct ggs_trace * trace);
// Writes the end of the file, for tests that open it themselves.
void recording_write(struct recording * r);
void recording_close(struct recording * r, struct ggs_trace * trace); // trace may be NULL

uint64_t recording_string(struct recording * r, const char * text);
uint64_t recording_file(struct recording * r, const char * path, uint64_t size); // a GGUF file; its number
uint64_t recording_buffer(struct recording * r, uint64_t size, uint64_t class_, int64_t begin_ns, int64_t end_ns);

// Where a tensor lies.
struct place {
    uint64_t source, file, file_offset, buffer, origin_file, origin_offset;
};
struct place in_file(uint64_t file, uint64_t offset);
struct place in_buffer(uint64_t buffer);
struct place copied_from(uint64_t file, uint64_t offset);

// A contiguous tensor; its number.
uint64_t recording_tensor(struct recording * r, const char * name, uint64_t type, int64_t ne0, int64_t ne1, int64_t ne2,
                          struct place place);
// Any tensor: name and number are filled in.
uint64_t recording_tensor_row(struct recording * r, const char * name, struct ggs_tensor row);

// Nodes of a graph one after the other, from 0; sources of 0 are none. A graph is complete when the
// next one begins.
void recording_node(struct recording * r, uint64_t graph, uint64_t op, uint64_t tensor, uint64_t source0,
                    uint64_t source1, uint64_t source2);

enum { RECORDING_OS_THREAD = 500 }; // of thread 0; the others follow
void recording_run(struct recording * r, const struct ggs_run * run);
void recording_op_run(struct recording * r, uint64_t run, uint64_t node, uint64_t thread, int64_t begin_ns,
                      uint64_t duration_ns, uint64_t wait_ns, uint64_t inner_wait_ns, uint64_t absorbed);
void recording_step(struct recording * r, int64_t step, uint64_t phase, uint64_t run, int64_t begin_ns, int64_t end_ns,
                    uint64_t tokens);
void recording_index(struct recording * r, uint64_t run, uint64_t node, uint64_t slot, const int32_t * values,
                     uint64_t ne0, uint64_t ne1);
void recording_row(struct recording * r, enum ggs_trace_table table, const void * row);

// ---- one that many tests share ----
//
// A file of 10,000 bytes, gone since, with token_embd.weight [8, 10] at 1000,
// blk.0.attn_norm.weight [8] at 2000 and blk.0.attn_q.weight [8, 8] at 3000, all F32, and one
// compute buffer. A graph of six nodes:
//
//     0 GET_ROWS embd = token_embd.weight by inp_tokens      3 MUL_MAT Qcur-0 = blk.0.attn_q.weight, attn_norm-0
//     1 RMS_NORM norm-0 = embd                               4 VIEW    Qcur-0 (view), half of each row
//     2 MUL attn_norm-0 = norm-0, blk.0.attn_norm.weight     5 ADD     out-0 = the view
//        (computed together with 1)
//
// Runs 1 and 2 of it on two threads: a prompt of the tokens 3 3, then token 5. In a run, the ops
// begin at begin_ns + 100, 200, 300 and 400; on thread 0 each takes 50 ns and waits 10, thread 1
// begins 5 later and takes 60, of which MUL_MAT waits 20 inside.
enum { SMALL_NODES = 6, SMALL_BEGIN = 1000, SMALL_RUN_NS = 500, SMALL_APART = 1000 };
void small_graph(struct recording * r, uint64_t graph); // with its file and buffer, if there are none yet
void small_run(struct recording * r, uint64_t run, uint64_t graph, int64_t step, uint64_t phase, int64_t begin_ns,
               const int32_t * tokens, uint64_t n_tokens);
void small_recording(struct recording * r); // open, the graph, both runs and their steps
