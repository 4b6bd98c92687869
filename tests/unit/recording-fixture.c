#include "recording-fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace-fixture.h"

uint64_t recording_string(struct recording * r, const char * text) {
    return ggs_writer_string(&r->writer, text, strlen(text));
}

void recording_row(struct recording * r, enum ggs_trace_table table, const void * row) {
    ggs_writer_append(&r->writer, table, row);
}

void recording_open(struct recording * r) {
    recording_open_paged(r, 4096);
}

void recording_open_paged(struct recording * r, uint64_t page_size) {
    static const char * const ops[RECORDING_OPS] = {
        "NONE", "ADD",      "MUL_MAT",    "GET_ROWS", "ROPE",   "VIEW",           "RESHAPE", "RMS_NORM",
        "MUL",  "SET_ROWS", "MUL_MAT_ID", "CPY",      "ADD_ID", "OPT_STEP_ADAMW", "SOFT_MAX"};
    static const uint8_t uuid[16] = {1, 2, 3};
    *r                            = (struct recording){.folder = scratch_make()};
    r->path                       = scratch_path(r->folder, "trace.ggs");
    r->fd                         = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(r->fd >= 0);
    assert_int_equal(ggs_writer_init(&r->writer, r->fd, r->path, uuid), 0);
    for (uint64_t i = 0; i < RECORDING_OPS; i++)
        recording_row(r, GGS_TABLE_OPS, &(struct ggs_op){.op = i, .name = recording_string(r, ops[i])});
    recording_row(r, GGS_TABLE_TYPES, &(struct ggs_type){F32, recording_string(r, "f32"), 1, 4});
    recording_row(r, GGS_TABLE_TYPES, &(struct ggs_type){Q8_0, recording_string(r, "q8_0"), 32, 34});
    recording_row(r, GGS_TABLE_TYPES, &(struct ggs_type){I32, recording_string(r, "i32"), 1, 4});
    recording_row(r, GGS_TABLE_PROCESSES,
                  &(struct ggs_process){.process = 1, .pid = 1, .end_ns = 1000000, .page_size = page_size});
}

uint64_t recording_file(struct recording * r, const char * path, uint64_t size) {
    struct ggs_file row = {.file = ++r->n_files, .path = recording_string(r, path), .size = size, .gguf = 1};
    recording_row(r, GGS_TABLE_FILES, &row);
    return row.file;
}

uint64_t recording_buffer(struct recording * r, uint64_t size, uint64_t class_, int64_t begin_ns, int64_t end_ns) {
    struct ggs_buffer row = {
        .buffer = ++r->n_buffers, .size = size, .class_ = class_, .host = 1, .begin_ns = begin_ns, .end_ns = end_ns};
    recording_row(r, GGS_TABLE_BUFFERS, &row);
    return row.buffer;
}

// ---- tensors and graphs ----

struct place in_file(uint64_t file, uint64_t offset) {
    return (struct place){.source = GGS_SOURCE_DISK, .file = file, .file_offset = offset};
}

struct place in_buffer(uint64_t buffer) {
    return (struct place){.source = GGS_SOURCE_BUFFER, .buffer = buffer};
}

struct place copied_from(uint64_t file, uint64_t offset) {
    return (struct place){.source = GGS_SOURCE_BUFFER, .buffer = 1, .origin_file = file, .origin_offset = offset};
}

uint64_t recording_tensor_row(struct recording * r, const char * name, struct ggs_tensor row) {
    row.tensor = ++r->n_tensors;
    row.name   = recording_string(r, name);
    recording_row(r, GGS_TABLE_TENSORS, &row);
    return row.tensor;
}

uint64_t recording_tensor(struct recording * r, const char * name, uint64_t type, int64_t ne0, int64_t ne1, int64_t ne2,
                          struct place place) {
    uint64_t          cell = type == Q8_0 ? 34 : 4, block = type == Q8_0 ? 32 : 1;
    uint64_t          row = (uint64_t) ne0 / block * cell, matrix = row * (uint64_t) ne1;
    struct ggs_tensor t = {.type          = type,
                           .ne            = {ne0, ne1, ne2, 1},
                           .nb            = {cell, row, matrix, matrix * (uint64_t) ne2},
                           .source        = place.source,
                           .file          = place.file,
                           .file_offset   = place.file_offset,
                           .buffer        = place.buffer,
                           .origin_file   = place.origin_file,
                           .origin_offset = place.origin_offset};
    return recording_tensor_row(r, name, t);
}

static void end_graph(struct recording * r) {
    if (r->graph == 0) return;
    struct ggs_graph_row row = {.graph = r->graph, .nodes = r->n_nodes};
    recording_row(r, GGS_TABLE_GRAPHS, &row);
    r->graph = r->n_nodes = 0;
}

void recording_node(struct recording * r, uint64_t graph, uint64_t op, uint64_t tensor, uint64_t source0,
                    uint64_t source1, uint64_t source2) {
    if (r->graph != graph) end_graph(r);
    r->graph                  = graph;
    struct ggs_node row       = {.graph = graph, .node = r->n_nodes++, .tensor = tensor, .op = op};
    uint64_t        sources[] = {source0, source1, source2};
    recording_row(r, GGS_TABLE_NODES, &row);
    for (uint64_t i = 0; i < 3; i++) {
        struct ggs_edge edge = {.graph = graph, .node = row.node, .slot = i, .tensor = sources[i]};
        if (sources[i] != 0) recording_row(r, GGS_TABLE_EDGES, &edge);
    }
}

// ---- runs ----

void recording_run(struct recording * r, const struct ggs_run * run) {
    recording_row(r, GGS_TABLE_RUNS, run);
}

void recording_op_run(struct recording * r, uint64_t run, uint64_t node, uint64_t thread, int64_t begin_ns,
                      uint64_t duration_ns, uint64_t wait_ns, uint64_t inner_wait_ns, uint64_t absorbed) {
    struct ggs_op_run row = {.run           = run,
                             .node          = node,
                             .thread        = thread,
                             .os_thread     = RECORDING_OS_THREAD + thread,
                             .begin_ns      = begin_ns,
                             .duration_ns   = duration_ns,
                             .wait_ns       = wait_ns,
                             .inner_wait_ns = inner_wait_ns,
                             .flags         = GGS_OP_RUN_ENDED | (absorbed > 0 ? GGS_OP_RUN_FUSED : 0),
                             .absorbed      = absorbed};
    recording_row(r, GGS_TABLE_OP_RUNS, &row);
}

void recording_step(struct recording * r, int64_t step, uint64_t phase, uint64_t run, int64_t begin_ns, int64_t end_ns,
                    uint64_t tokens) {
    struct ggs_step row = {.step      = step,
                           .phase     = phase,
                           .begin_ns  = begin_ns,
                           .end_ns    = end_ns,
                           .first_run = run,
                           .last_run  = run,
                           .runs      = 1,
                           .tokens    = tokens};
    recording_row(r, GGS_TABLE_STEPS, &row);
}

void recording_index(struct recording * r, uint64_t run, uint64_t node, uint64_t slot, const int32_t * values,
                     uint64_t ne0, uint64_t ne1) {
    struct ggs_index row = {.run    = run,
                            .node   = node,
                            .slot   = slot,
                            .width  = 4,
                            .ne     = {ne0, ne1, 1, 1},
                            .data   = values,
                            .length = 4 * ne0 * ne1};
    recording_row(r, GGS_TABLE_INDEX, &row);
}

void recording_write(struct recording * r) {
    struct ggs_error error = {0};
    end_graph(r);
    int status = ggs_writer_finish(&r->writer, &error);
    ggs_writer_release(&r->writer); // ends its thread: a test that fails leaves this memory behind
    if (status != 0) fail_msg("%s", error.text);
}

void recording_done(struct recording * r, struct ggs_trace * trace) {
    struct ggs_error error = {0};
    recording_write(r);
    if (ggs_trace_open(trace, r->path, &error) != 0) fail_msg("%s", error.text);
}

void recording_close(struct recording * r, struct ggs_trace * trace) {
    if (trace != NULL) ggs_trace_close(trace);
    close(r->fd);
    free(r->path);
    scratch_remove(r->folder);
}

// ---- the small one ----

void small_graph(struct recording * r, uint64_t graph) {
    if (r->n_files == 0) recording_file(r, "/gone/small.gguf", 10000);
    if (r->n_buffers == 0) recording_buffer(r, 65536, GGS_CLASS_COMPUTE, 10, -1);
    uint64_t          embd_w = recording_tensor(r, "token_embd.weight", F32, 8, 10, 1, in_file(1, 1000));
    uint64_t          tokens = recording_tensor(r, "inp_tokens", I32, 2, 1, 1, in_buffer(1));
    uint64_t          embd   = recording_tensor(r, "embd", F32, 8, 2, 1, in_buffer(1));
    uint64_t          norm_w = recording_tensor(r, "blk.0.attn_norm.weight", F32, 8, 1, 1, in_file(1, 2000));
    uint64_t          norm   = recording_tensor(r, "norm-0", F32, 8, 2, 1, in_buffer(1));
    uint64_t          normed = recording_tensor(r, "attn_norm-0", F32, 8, 2, 1, in_buffer(1));
    uint64_t          q_w    = recording_tensor(r, "blk.0.attn_q.weight", F32, 8, 8, 1, in_file(1, 3000));
    uint64_t          q      = recording_tensor(r, "Qcur-0", F32, 8, 2, 1, in_buffer(1));
    struct ggs_tensor half   = {
          .ne = {4, 2, 1, 1}, .nb = {4, 32, 64, 64}, .source = GGS_SOURCE_BUFFER, .buffer = 1, .view = q};
    uint64_t view = recording_tensor_row(r, "Qcur-0 (view)", half);
    uint64_t out  = recording_tensor(r, "out-0", F32, 4, 2, 1, in_buffer(1));
    recording_node(r, graph, OP_GET_ROWS, embd, embd_w, tokens, 0);
    recording_node(r, graph, OP_RMS_NORM, norm, embd, 0, 0);
    recording_node(r, graph, OP_MUL, normed, norm, norm_w, 0);
    recording_node(r, graph, OP_MUL_MAT, q, q_w, normed, 0);
    recording_node(r, graph, OP_VIEW, view, q, 0, 0);
    recording_node(r, graph, OP_ADD, out, view, 0, 0);
}

void small_run(struct recording * r, uint64_t run, uint64_t graph, int64_t step, uint64_t phase, int64_t begin_ns,
               const int32_t * tokens, uint64_t n_tokens) {
    static const uint64_t computed[] = {0, 1, 3, 5};
    struct ggs_run        row        = {.run      = run,
                                        .graph    = graph,
                                        .step     = step,
                                        .phase    = phase,
                                        .backend  = recording_string(r, "CPU"),
                                        .host     = 1,
                                        .begin_ns = begin_ns,
                                        .end_ns   = begin_ns + SMALL_RUN_NS,
                                        .threads  = 2,
                                        .nodes    = SMALL_NODES,
                                        .executed = 4,
                                        .absorbed = 1,
                                        .empty    = 1,
                                        .op_runs  = 8};
    row.first_op_run                 = ggs_writer_next_row(&r->writer, GGS_TABLE_OP_RUNS);
    recording_run(r, &row);
    for (uint64_t thread = 0; thread < 2; thread++) {
        for (uint64_t i = 0; i < 4; i++) {
            uint64_t node  = computed[i];
            int64_t  begin = begin_ns + 100 * (int64_t) (i + 1) + 5 * (int64_t) thread;
            recording_op_run(r, run, node, thread, begin, thread == 0 ? 50 : 60, thread == 0 ? 10 : 0,
                             thread == 1 && node == 3 ? 20 : 0, node == 1);
        }
    }
    if (n_tokens > 0) recording_index(r, run, 0, 1, tokens, n_tokens, 1);
}

void small_recording(struct recording * r) {
    static const int32_t prompt[] = {3, 3}, next[] = {5};
    recording_open(r);
    small_graph(r, 1);
    small_run(r, 1, 1, 0, GGS_PHASE_PROMPT, SMALL_BEGIN, prompt, 2);
    small_run(r, 2, 1, 1, GGS_PHASE_GENERATE, SMALL_BEGIN + SMALL_APART, next, 1);
    recording_step(r, 0, GGS_PHASE_PROMPT, 1, SMALL_BEGIN, SMALL_BEGIN + SMALL_RUN_NS, 2);
    recording_step(r, 1, GGS_PHASE_GENERATE, 2, SMALL_BEGIN + SMALL_APART, SMALL_BEGIN + SMALL_APART + SMALL_RUN_NS, 1);
}
