// From spool to trace: what sealing makes of what the capture library wrote.
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace-fixture.h"

static char *               folder;
static struct spool_fixture f;

static int setup(void ** state) {
    (void) state;
    folder       = scratch_make();
    char * spool = scratch_path(folder, "spool");
    fixture_open(&f, spool);
    free(spool);
    return 0;
}

static int teardown(void ** state) {
    (void) state;
    scratch_remove(folder);
    return 0;
}

#define READ(reader, table, type, n) ((struct type *) read_all(reader, table, sizeof(struct type), n))

// ---- one run, every value ----

static void test_every_value(void ** state) {
    (void) state;
    static const int32_t   tokens[] = {11, 22, 33};
    struct ggs_seal_result result;
    size_t                 n;
    fixture_process(&f);
    fixture_advance(&f, 500);
    tiny_graph(&f, 1);
    fixture_advance(&f, 500);
    fixture_decode(&f, 1, 0xc0, 3, tokens, 0, 5, 1);
    fixture_lane(&f, 0, 0, 0);
    fixture_thread(&f, 0, 900);
    tiny_run(&f, 1, 1, 1, 2, 0, 3, tokens, 0);
    fixture_decode_end(&f, 1, 0);
    fixture_numbers(&f, GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, &result);
    assert_null(ggs_reader_warning(reader));
    assert_true(result.ended);
    assert_int_equal(result.runs, 1);
    assert_int_equal(result.op_runs, 10);
    assert_int_equal(result.steps, 1);
    assert_int_equal(result.lost + result.damaged + result.unseen + result.interrupted, 0);

    struct ggs_op_run *   ops     = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    static const uint64_t nodes[] = {0, 1, 3, 5, 6};
    assert_int_equal(n, 10);
    for (size_t i = 0; i < n; i++) {
        uint64_t thread = i / 5, k = i % 5;
        assert_int_equal(ops[i].run, 1);
        assert_int_equal(ops[i].node, nodes[k]);
        assert_int_equal(ops[i].thread, thread);
        assert_int_equal(ops[i].os_thread, thread == 0 ? 900 : 0);
        assert_int_equal(ops[i].begin_ns, 1000 + 100 + 200 * k + thread);
        assert_int_equal(ops[i].duration_ns, 100 + thread);
        assert_int_equal(ops[i].wait_ns, 10);
        assert_int_equal(ops[i].inner_wait_ns, k == 2 ? 20 : 0);
        assert_int_equal(ops[i].flags, GGS_OP_RUN_ENDED | (k == 1 ? GGS_OP_RUN_FUSED : 0));
        assert_int_equal(ops[i].absorbed, k == 1);
    }
    free(ops);

    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 1);
    assert_int_equal(runs->run, 1);
    assert_int_equal(runs->graph, 1);
    assert_int_equal(runs->decode, 1);
    assert_int_equal(runs->step, 0);
    assert_int_equal(runs->phase, GGS_PHASE_PROMPT);
    assert_string_equal(ggs_reader_string(reader, runs->backend), "CPU");
    assert_int_equal(runs->begin_ns, 1000);
    assert_int_equal(runs->end_ns, 2100);
    assert_int_equal(runs->threads, 2);
    assert_int_equal(runs->slot, 0);
    assert_int_equal(runs->nodes, 7);
    assert_int_equal(runs->executed, 5);
    assert_int_equal(runs->absorbed, 1);
    assert_int_equal(runs->empty, 1);
    assert_int_equal(runs->skipped + runs->opaque + runs->unseen + runs->cut, 0);
    assert_int_equal(runs->first_op_run, 0);
    assert_int_equal(runs->op_runs, 10);
    free(runs);

    struct ggs_step * steps = READ(reader, GGS_TABLE_STEPS, ggs_step, &n);
    assert_int_equal(n, 1);
    assert_int_equal(steps->step, 0);
    assert_int_equal(steps->phase, GGS_PHASE_PROMPT);
    assert_int_equal(steps->begin_ns, 1000);
    assert_int_equal(steps->end_ns, 3100);
    assert_int_equal(steps->first_run, 1);
    assert_int_equal(steps->last_run, 1);
    assert_int_equal(steps->runs, 1);
    assert_int_equal(steps->tokens, 3);
    free(steps);

    struct ggs_token * rows = READ(reader, GGS_TABLE_TOKENS, ggs_token, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].token, tokens[i]);
        assert_int_equal(rows[i].position, i);
        assert_int_equal(rows[i].sequence, 5);
        assert_int_equal(rows[i].output, i == 2);
        assert_int_equal(rows[i].index, i);
        assert_int_equal(rows[i].decode, 1);
    }
    free(rows);

    struct ggs_process * process = READ(reader, GGS_TABLE_PROCESSES, ggs_process, &n);
    assert_int_equal(process->pid, 4711);
    assert_string_equal(ggs_reader_string(reader, process->executable), "/usr/bin/program");
    assert_int_equal(process->ended, 1);
    assert_int_equal(process->begin_ns, 0);
    free(process);

    struct ggs_type * types = READ(reader, GGS_TABLE_TYPES, ggs_type, &n);
    assert_int_equal(n, 4);
    assert_string_equal(ggs_reader_string(reader, types[2].name), "q4_0");
    assert_int_equal(types[2].block_elements, 32);
    assert_int_equal(types[2].block_bytes, 18);
    assert_int_equal(types[3].type, 4);
    free(types);
    ggs_reader_close(reader);
}

static void test_graph(void ** state) {
    (void) state;
    struct ggs_error   error;
    struct ggs_graph * graph;
    struct ggs_tensor  tensor;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_graph(&f, 7);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    assert_int_equal(ggs_reader_graph(reader, 7, &graph, &error), 0);
    assert_int_equal(graph->n_nodes, TINY_NODES);
    assert_int_equal(graph->n_edges, 11);
    assert_int_equal(graph->first_edge[3], 4);
    assert_int_equal(graph->first_edge[4], 6);
    for (uint64_t i = 0; i < TINY_NODES; i++) {
        assert_int_equal(graph->nodes[i].node, i);
        assert_int_equal(ggs_reader_row(reader, GGS_TABLE_TENSORS, graph->nodes[i].tensor - 1, &tensor, &error), 0);
        assert_int_equal(tensor.tensor, graph->nodes[i].tensor);
        assert_string_equal(ggs_reader_string(reader, tensor.name), tiny_names[i]);
        assert_int_equal(tensor.ne[0], 64);
        assert_int_equal(tensor.ne[1], 8);
        assert_int_equal(tensor.nb[1], 256);
        assert_int_equal(tensor.address, 0x10000 + 0x1000 * (i == 4 ? 3 : i));
        assert_int_equal(tensor.view, i == 4 ? graph->nodes[3].tensor : 0);
    }
    uint64_t     length;
    const void * parameters = ggs_reader_bytes(reader, graph->nodes[5].parameters, &length);
    int32_t      values[16];
    assert_int_equal(length, sizeof(values));
    memcpy(values, parameters, sizeof(values));
    assert_int_equal(values[0], 1);
    assert_int_equal(values[15], -7);
    ggs_graph_free(graph);
    assert_int_equal(ggs_reader_graph(reader, 2, &graph, &error), GGS_ABSENT);
    ggs_reader_close(reader);
}

// A graph that equals a known one but for addresses keeps everything else, also where its base is such a graph itself.
static void test_graph_at_other_addresses(void ** state) {
    (void) state;
    struct ggs_error error;
    struct {
        struct ggs_journal_delta header;
        struct ggs_journal_move  moves[2];
    } first = {{2, 1, 2}, {{3, 0, 0x99000}, {5, 3 + 15, 42}}}, second = {{3, 2, 1}, {{3, 0, 0x77000}}};
    fixture_process(&f);
    tiny_graph(&f, 1);
    fixture_record(&f, GGS_JOURNAL_GRAPH_DELTA, &first, sizeof(first), NULL);
    fixture_record(&f, GGS_JOURNAL_GRAPH_DELTA, &second, sizeof(second) - sizeof(second.moves[1]), NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_GRAPHS), 3);
    assert_true(ggs_reader_rows(reader, GGS_TABLE_NODES) < 2 * TINY_NODES);
    for (uint64_t id = 1; id <= 3; id++) {
        static const uint64_t addresses[] = {0, 0x13000, 0x99000, 0x77000};
        struct ggs_graph *    graph;
        struct ggs_tensor     tensor, view, other;
        uint64_t              length;
        assert_int_equal(ggs_reader_graph(reader, id, &graph, &error), 0);
        assert_int_equal(graph->n_nodes, TINY_NODES);
        assert_int_equal(ggs_reader_row(reader, GGS_TABLE_TENSORS, graph->nodes[3].tensor - 1, &tensor, &error), 0);
        assert_int_equal(ggs_reader_row(reader, GGS_TABLE_TENSORS, graph->nodes[4].tensor - 1, &view, &error), 0);
        assert_int_equal(ggs_reader_row(reader, GGS_TABLE_TENSORS, graph->nodes[2].tensor - 1, &other, &error), 0);
        assert_int_equal(tensor.address, addresses[id]);
        assert_int_equal(view.view, graph->nodes[3].tensor);
        assert_int_equal(graph->edges[graph->first_edge[4]].tensor, graph->nodes[3].tensor);
        assert_int_equal(other.address, 0x12000);
        const int32_t * parameters = ggs_reader_bytes(reader, graph->nodes[5].parameters, &length);
        int32_t         last;
        memcpy(&last, parameters + 15, sizeof(last));
        assert_int_equal(last, id == 1 ? -7 : 42);
        ggs_graph_free(graph);
    }
    ggs_reader_close(reader);
}

// ---- where data lives ----

static bool find_origin(void * context, const char * const * paths, size_t n_paths, const char * name, size_t * file,
                        uint64_t * offset) {
    *(int *) context += 1;
    for (size_t i = 0; i < n_paths; i++)
        if (strcmp(paths[i], "/models/two.gguf") == 0 && strcmp(name, "by-name") == 0) {
            *file   = i;
            *offset = 4242;
            return true;
        }
    return false;
}

static void add_buffer(uint64_t id, uint64_t address, uint64_t size, uint32_t usage, uint32_t host, const char * type) {
    struct ggs_journal_buffer buffer = {id, address, size, usage, host};
    fixture_record(&f, GGS_JOURNAL_BUFFER, &buffer, sizeof(buffer), type);
}

static void test_places(void ** state) {
    (void) state;
    static const char * const names[] = {"on-disk", "in-buffer", "set",        "by-name",
                                         "device",  "nowhere",   "cache_k_l0", "view-of-disk"};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    fixture_process(&f);
    fixture_numbers(&f, GGS_JOURNAL_LOAD, 1, 0, 0, 0, "/models/one.gguf");
    fixture_record(&f, GGS_JOURNAL_FILE, NULL, 0, "/models/one.gguf");
    fixture_numbers(&f, GGS_JOURNAL_LOAD_END, 1, 0xabc, 0, 0, NULL);
    fixture_numbers(&f, GGS_JOURNAL_LOAD, 2, 0, 0, 0, "/models/two.gguf");
    fixture_record(&f, GGS_JOURNAL_FILE, NULL, 0, "/models/two.gguf");
    fixture_record(
        &f, GGS_JOURNAL_MAPS, NULL, 0,
        "100000 200000 3000 /models/one.gguf\n200000 300000 0 /memfd:secret\n400000 401000 0 /usr/lib/libc.so\n");
    add_buffer(1, 0x100000, 0x80000, 1, 1, "CPU_Mapped");
    add_buffer(2, 0x500000, 0x10000, 1, 1, "CPU_REPACK");
    fixture_numbers(&f, GGS_JOURNAL_LOAD_END, 2, 0xdef, 0, 0, NULL);
    add_buffer(3, 0x600000, 0x10000, 0, 1, "CPU");
    add_buffer(4, 0x110000, 0x10000, 2, 0, "CUDA0");
    add_buffer(5, 0x700000, 0x10000, 0, 1, "CPU");
    fixture_numbers(&f, GGS_JOURNAL_BUFFER_USAGE, 3, 0, 0, 0, NULL);
    struct ggs_journal_transfer set = {.kind      = GGS_TRANSFER_SET,
                                       .from      = 0x120000,
                                       .to        = 0x501000,
                                       .to_buffer = 2,
                                       .bytes     = 64,
                                       .begin     = f.ticks,
                                       .end       = f.ticks + 300};
    fixture_record(&f, GGS_JOURNAL_TRANSFER, &set, sizeof(set), "set");
    struct ggs_journal_transfer get = {
        .kind = GGS_TRANSFER_GET, .from = 0x110000, .to = 0x700010, .from_buffer = 4, .bytes = 8};
    fixture_record(&f, GGS_JOURNAL_TRANSFER, &get, sizeof(get), "result");
    fixture_numbers(&f, GGS_JOURNAL_BUFFER_FREE, 5, 0, 0, 0, NULL);
    static const uint64_t     addresses[COUNT] = {0x101000, 0x500000, 0x501000, 0x502000, 0x110000, 0, 0x600100, 0};
    static const uint64_t     buffers[COUNT]   = {1, 2, 0, 2, 4, 0, 3, 0};
    struct ggs_journal_tensor list[COUNT];
    for (int i = 0; i < COUNT; i++) {
        list[i]         = fixture_tensor(OP_NONE, 8, 1);
        list[i].address = addresses[i];
        list[i].buffer  = buffers[i];
    }
    list[7].view        = 0;
    list[7].view_offset = 0x20;
    fixture_graph(&f, 1, 0, COUNT, list, names);
    fixture_advance(&f, 1000);
    fixture_run(&f, 1, 1, 0, 1, 0);

    int                     calls   = 0;
    struct ggs_seal_options options = {.size = sizeof(options), .origin = find_origin, .origin_context = &calls};
    struct ggs_reader *     reader  = seal_and_open(&f, folder, &options, NULL);
    size_t                  n;
    struct ggs_tensor *     tensors = READ(reader, GGS_TABLE_TENSORS, ggs_tensor, &n);
    struct ggs_file *       files   = READ(reader, GGS_TABLE_FILES, ggs_file, &n);
    assert_int_equal(n, 2);
    assert_string_equal(ggs_reader_string(reader, files[0].path), "/models/one.gguf");
    assert_int_equal(files[0].load, 1);
    assert_int_equal(files[1].load, 2);
    // on disk, though it has a buffer, which lies in the mapping
    assert_int_equal(tensors[0].source, GGS_SOURCE_DISK);
    assert_int_equal(tensors[0].file, 1);
    assert_int_equal(tensors[0].file_offset, 0x4000);
    assert_int_equal(tensors[0].buffer, 1);
    assert_int_equal(tensors[0].buffer_offset, 0x1000);
    assert_int_equal(tensors[1].source, GGS_SOURCE_BUFFER);
    assert_int_equal(tensors[1].origin_file, 0);
    // found by address alone, and copied from the mapping
    assert_int_equal(tensors[2].buffer, 2);
    assert_int_equal(tensors[2].buffer_offset, 0x1000);
    assert_int_equal(tensors[2].origin_file, 1);
    assert_int_equal(tensors[2].origin_offset, 0x23000);
    assert_int_equal(tensors[3].origin_file, 2);
    assert_int_equal(tensors[3].origin_offset, 4242);
    assert_int_equal(calls, 2); // only those in weights whose origin is not known
    // a device's address is no address of ours
    assert_int_equal(tensors[4].source, GGS_SOURCE_BUFFER);
    assert_int_equal(tensors[4].buffer, 4);
    assert_int_equal(tensors[4].file, 0);
    assert_int_equal(tensors[5].source, GGS_SOURCE_NONE);
    assert_int_equal(tensors[7].source, GGS_SOURCE_DISK);
    assert_int_equal(tensors[7].file_offset, 0x4020);
    assert_int_equal(tensors[7].view, 1);
    free(tensors);
    free(files);

    struct ggs_buffer *   rows      = READ(reader, GGS_TABLE_BUFFERS, ggs_buffer, &n);
    static const uint64_t classes[] = {GGS_CLASS_WEIGHTS, GGS_CLASS_WEIGHTS, GGS_CLASS_KV, GGS_CLASS_COMPUTE,
                                       GGS_CLASS_IO};
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].buffer, i + 1);
        assert_int_equal(rows[i].class_, classes[i]);
        assert_int_equal(rows[i].end_ns == -1, i != 4);
    }
    assert_int_equal(rows[0].file, 1);
    assert_string_equal(ggs_reader_string(reader, rows[1].type), "CPU_REPACK");
    free(rows);

    struct ggs_transfer * transfers = READ(reader, GGS_TABLE_TRANSFERS, ggs_transfer, &n);
    assert_int_equal(n, 2);
    assert_int_equal(transfers[0].file, 1);
    assert_int_equal(transfers[0].file_offset, 0x23000);
    assert_int_equal(transfers[0].duration_ns, 100);
    assert_int_equal(transfers[1].to_buffer, 5);
    free(transfers);
    struct ggs_load * loads = READ(reader, GGS_TABLE_LOADS, ggs_load, &n);
    assert_int_equal(n, 2);
    assert_int_equal(loads[1].model, 0xdef);
    free(loads);
    ggs_reader_close(reader);
}

// ---- coverage ----

static void test_coverage(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    fixture_run(&f, 1, 1, 0, 0, 0); // another backend
    fixture_run_end(&f, 1);
    struct ggs_journal_device_run results = {.run = 1, .submitted = f.ticks, .results_ns = fixture_ns(&f)};
    fixture_record(&f, GGS_JOURNAL_DEVICE_RUN, &results, sizeof(results), NULL);
    for (uint32_t i = 0; i < 2; i++) fixture_lane(&f, i, 0, i);
    fixture_run(&f, 2, 1, 0, 2, 0); // a node that nobody saw
    tiny_ops(&f, 2, 2, 0, 0, NULL, 0, 6);
    fixture_run_end(&f, 2);
    fixture_run(&f, 3, 1, 0, 2, 0); // killed in it
    tiny_ops(&f, 3, 2, 0, 0, NULL, 0, 3);
    struct ggs_spool_op cut = {.run = 3, .node = 3, .begin = f.ticks};
    fixture_op(&f, 0, &cut);
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.interrupted, 1);
    assert_int_equal(result.unseen, 1);
    assert_false(result.ended);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(runs[i].nodes, runs[i].executed + runs[i].absorbed + runs[i].empty + runs[i].skipped +
                                            runs[i].opaque + runs[i].unseen + runs[i].cut);
    assert_int_equal(runs[0].opaque, 6);
    assert_int_equal(runs[0].empty, 1);
    assert_int_equal(runs[0].slot, -1);
    assert_int_equal(runs[1].executed, 4);
    assert_int_equal(runs[1].absorbed, 1);
    assert_int_equal(runs[1].unseen, 1);
    assert_int_equal(runs[2].flags, GGS_RUN_INTERRUPTED);
    assert_int_equal(runs[2].executed, 3);
    assert_int_equal(runs[2].cut, 2);
    assert_int_equal(runs[2].unseen, 0);
    assert_true(runs[2].end_ns >= runs[2].begin_ns);
    free(runs);
    struct ggs_op_run * ops = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(n, 8 + 4 + 1);
    assert_int_equal(ops[10].node, 3); // thread 0 of run 3: nodes 0, 1, 3
    assert_int_equal(ops[10].flags, 0);
    assert_int_equal(ops[10].duration_ns, 0);
    free(ops);
    ggs_reader_close(reader);
}

static void test_skipped(void ** state) {
    (void) state;
    size_t                    n;
    struct ggs_journal_tensor list[2]  = {fixture_tensor(OP_ADD, 4, 4), fixture_tensor(OP_ADD, 4, 4)};
    static const char *       names[2] = {"a", "b"};
    fixture_process(&f);
    list[0].flags = list[1].flags = 0; // a release without compute flags
    fixture_graph(&f, 1, 2, 2, list, names);
    fixture_run(&f, 1, 1, 0, 1, 0);
    fixture_run_end(&f, 1);
    list[0].flags = 16;
    list[0].ne[2] = 0; // empty shapes are not computed
    fixture_graph(&f, 2, 2, 2, list, names);
    fixture_run(&f, 2, 2, 0, 1, 0);
    fixture_run_end(&f, 2);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(runs[0].unseen, 2);
    assert_int_equal(runs[1].empty, 1);
    assert_int_equal(runs[1].skipped, 1);
    free(runs);
    ggs_reader_close(reader);
}

// ---- runs at the same time ----

static void test_concurrent_runs(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    for (uint32_t slot = 0; slot < 2; slot++)
        for (uint32_t i = 0; i < 2; i++) fixture_lane(&f, slot * 4 + i, slot, i);
    fixture_run(&f, 1, 1, 0, 2, 0);
    fixture_run(&f, 2, 1, 0, 2, 1);
    tiny_ops(&f, 2, 2, 1, 0, NULL, 0, TINY_NODES);
    fixture_run_end(&f, 2); // the second ends first
    fixture_run(&f, 3, 1, 0, 2, 1);
    tiny_ops(&f, 1, 2, 0, 0, NULL, 0, TINY_NODES);
    tiny_ops(&f, 3, 2, 1, 0, NULL, 0, TINY_NODES);
    fixture_run_end(&f, 1);
    fixture_run_end(&f, 3);
    fixture_run(&f, 4, 1, 0, 2, 0); // never ends: its slot is taken again
    tiny_ops(&f, 4, 2, 0, 0, NULL, 0, 2);
    fixture_run(&f, 5, 1, 0, 2, 0);
    tiny_ops(&f, 5, 2, 0, 0, NULL, 0, TINY_NODES);
    fixture_run_end(&f, 5);
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.lost, 0);
    assert_int_equal(result.interrupted, 1);
    struct ggs_op_run * ops = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(n, 44);
    for (size_t i = 1; i < n; i++) {
        assert_true(ops[i].run >= ops[i - 1].run);
        if (ops[i].run != ops[i - 1].run) continue;
        assert_true(ops[i].thread >= ops[i - 1].thread);
        if (ops[i].thread == ops[i - 1].thread) assert_true(ops[i].begin_ns > ops[i - 1].begin_ns);
    }
    free(ops);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(runs[i].run, i + 1);
        assert_int_equal(runs[i].op_runs, i == 3 ? 4 : 10);
        assert_int_equal(runs[i].flags, i == 3 ? GGS_RUN_INTERRUPTED : 0);
        assert_int_equal(runs[i].unseen, 0);
    }
    free(runs);
    ggs_reader_close(reader);
}

// ---- losses and damage ----

static void test_losses(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    fixture_lane(&f, 0, 0, 0);
    struct ggs_spool_op stray = {.run = 1, .node = 0, .begin = f.ticks, .flags = GGS_OP_RUN_ENDED};
    fixture_op(&f, 0, &stray); // of a run that the journal never told
    fixture_run(&f, 2, 1, 0, 1, 0);
    struct ggs_journal_loss loss = {.reason = GGS_LOSS_SPACE, .count = 12, .run = 2, .begin = f.ticks, .end = f.ticks};
    fixture_record(&f, GGS_JOURNAL_LOSS, &loss, sizeof(loss), NULL);
    stray.run = 2, stray.node = TINY_NODES; // no such node
    fixture_op(&f, 0, &stray);
    fixture_run_end(&f, 2);
    stray.run = 3;
    fixture_op(&f, 0, &stray);
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.lost, 14);
    assert_int_equal(result.damaged, 1);
    struct ggs_loss * losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &n);
    assert_int_equal(n, 3);
    assert_int_equal(losses[0].reason, GGS_LOSS_SPACE);
    assert_int_equal(losses[0].count, 12);
    assert_int_equal(losses[1].reason, GGS_LOSS_UNMATCHED);
    assert_int_equal(losses[1].count, 2);
    assert_int_equal(losses[2].reason, GGS_LOSS_DAMAGED);
    free(losses);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(runs[0].lost, 12);
    free(runs);
    ggs_reader_close(reader);
}

// The ring policy gives up the oldest segments of a lane: the runs they held are partial, and no hook is blamed.
static void test_segments_given_up(void ** state) {
    (void) state;
    size_t n;
    f.segment = 4096; // some 12 runs of 10 units on two lanes
    fixture_process(&f);
    tiny_graph(&f, 1);
    for (uint64_t run = 1; run <= 100; run++) tiny_run(&f, run, 1, 0, 2, 0, 0, NULL, 0);
    for (unsigned lane = 0; lane < 2; lane++) {
        char * gone = scratch_path(folder, lane == 0 ? "spool/lane-000-0000.seg" : "spool/lane-001-0000.seg");
        assert_int_equal(unlink(gone), 0);
        free(gone);
    }
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, NULL, &result);
    struct ggs_run *       runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 100);
    assert_int_equal(runs[0].flags, GGS_RUN_PARTIAL);
    assert_int_equal(runs[0].op_runs, 0);
    assert_int_equal(runs[0].cut, 6);
    assert_int_equal(runs[99].flags, 0);
    assert_int_equal(runs[99].executed, 5);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(runs[i].unseen, 0);
        assert_true((runs[i].flags & GGS_RUN_PARTIAL) != 0 || runs[i].op_runs == 10);
    }
    struct ggs_loss * losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &(size_t){0});
    assert_int_equal(losses[0].reason, GGS_LOSS_RING);
    assert_true(result.lost > 0);
    free(losses);
    free(runs);
    ggs_reader_close(reader);
}

// Whatever bytes the segments hold, sealing ends and the trace can be read.
static void test_garbage(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1, 2, 3};
    unsigned             seed     = 12345;
    fixture_process(&f);
    tiny_graph(&f, 1);
    struct ggs_journal_delta delta = {2, 1, 0};
    fixture_record(&f, GGS_JOURNAL_GRAPH_DELTA, &delta, sizeof(delta), NULL);
    fixture_decode(&f, 1, 1, 3, tokens, 0, 0, 1);
    tiny_run(&f, 1, 1, 1, 2, 0, 3, tokens, 0);
    uint64_t journal_used = f.journal.used, lane_used = f.lanes[0].used;
    fixture_close(&f);
    char * journal = scratch_path(folder, "spool/journal-0000.seg");
    char * lane    = scratch_path(folder, "spool/lane-000-0000.seg");
    char * spool   = scratch_path(folder, "spool");
    char * trace   = scratch_path(folder, "garbage.ggs");
    for (int round = 0; round < 300; round++) {
        const char * path = round % 3 == 0 ? lane : journal;
        uint64_t     used = round % 3 == 0 ? lane_used : journal_used;
        int          fd   = open(path, O_RDWR);
        off_t        at   = (off_t) (rand_r(&seed) % used);
        uint8_t      old[8], new[8];
        assert_true(fd >= 0 && pread(fd, old, 8, at) == 8);
        for (int i = 0; i < 8; i++)
            new[i] = (uint8_t) (round % 2 ? rand_r(&seed) : (rand_r(&seed) % 4 ? old[i] : 0xff));
        assert_int_equal(pwrite(fd, new, 8, at), 8);
        struct ggs_error        error;
        struct ggs_reader *     reader;
        struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
        if (ggs_seal_spool(spool, trace, NULL, &options, NULL, &error) != 0)
            fail_msg("round %d: %s", round, error.text);
        assert_int_equal(ggs_reader_open(&reader, trace, &error), 0);
        if (ggs_reader_verify(reader, NULL, NULL, &error) != 0) fail_msg("round %d: %s", round, error.text);
        ggs_reader_close(reader);
        assert_int_equal(pwrite(fd, old, 8, at), 8);
        close(fd);
    }
    free(journal);
    free(lane);
    free(spool);
    free(trace);
}

// The CPU computes it, but there was no lane for it: it is not opaque, all of it was lost.
static void test_run_without_a_lane(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    fixture_run(&f, 1, 1, 0, 2, UINT32_MAX);
    struct ggs_journal_loss loss = {.reason = GGS_LOSS_SLOTS, .count = 10, .run = 1, .begin = f.ticks};
    fixture_advance(&f, 1000);
    loss.end = f.ticks;
    fixture_record(&f, GGS_JOURNAL_LOSS, &loss, sizeof(loss), NULL);
    fixture_run_end(&f, 1);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(runs[0].flags, GGS_RUN_PARTIAL);
    assert_int_equal(runs[0].slot, -1);
    assert_int_equal(runs[0].opaque, 0);
    assert_int_equal(runs[0].cut + runs[0].empty, runs[0].nodes);
    assert_int_equal(runs[0].lost, 10);
    struct ggs_loss * losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &n);
    assert_int_equal(losses[0].run, 1);
    assert_int_equal(losses[0].end_ns - losses[0].begin_ns, 1000);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_LOD), 0);
    free(runs);
    free(losses);
    ggs_reader_close(reader);
}

// A run on a device: what its DEVICE_RUN says of nodes, which comes after the call has returned. `replayed`: a captured graph, whose record
// names every node. `lost`: the program was killed before its results were there.
static void device_run(uint64_t run, bool replayed, bool lost) {
    static const uint32_t  visited[] = {0, 1, 3, 4, 5, 6}; // 2 is computed together with 1, 4 is empty
    struct ggs_journal_run begin     = {
            .run = run, .graph = 1, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f), .os_thread = 7};
    fixture_record(&f, GGS_JOURNAL_RUN, &begin, sizeof(begin), "CUDA0");
    uint64_t start = fixture_ns(&f);
    fixture_advance(&f, 1000);
    struct ggs_journal_run_end end = {.run = run, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f)};
    fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    fixture_advance(&f, 9000);
    if (lost) return;
    struct {
        struct ggs_journal_device_run head;
        struct ggs_journal_device_op  ops[TINY_NODES];
    } record = {.head = {.run        = run,
                         .results_ns = start + 9500,
                         .ops        = replayed ? 7 : 6,
                         .timed      = replayed ? GGS_DEVICE_REPLAYED : GGS_DEVICE_TIMED}};
    for (uint32_t i = 0; i < record.head.ops; i++) {
        uint32_t node = replayed ? i : visited[i];
        bool     ran  = node != 4 && node != 2;
        record.ops[i] = (struct ggs_journal_device_op){.node     = node,
                                                       .queue    = 40,
                                                       .submit   = begin.ticks + 10 * node,
                                                       .begin_ns = ran ? start + 2000 + 1000 * node : 0,
                                                       .end_ns   = ran ? start + 2900 + 1000 * node : 0};
    }
    struct {
        struct ggs_journal_kernels head;
        struct ggs_journal_kernel  rows[2];
        char                       names[16];
    } kernels = {.head  = {.run = run, .count = 2},
                 .rows  = {{.node     = 1,
                            .queue    = 40,
                            .begin_ns = start + 3000,
                            .end_ns   = start + 3400,
                            .grid     = {2, 3, 4},
                            .block    = {32, 1, 1}},
                           {.node     = GGS_DEVICE_NO_NODE,
                            .queue    = 40,
                            .begin_ns = start + 9000,
                            .end_ns   = start + 9100,
                            .bytes    = 77,
                            .name     = 9}},
                 .names = "multiply\0copy"};
    if (!replayed) fixture_record(&f, GGS_JOURNAL_KERNELS, &kernels, sizeof(kernels), NULL);
    fixture_record(&f, GGS_JOURNAL_DEVICE_RUN, &record, sizeof(record.head) + record.head.ops * sizeof(record.ops[0]),
                   NULL);
}

static void test_device_runs(void ** state) {
    (void) state;
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    device_run(1, false, false);
    device_run(2, true, false);
    device_run(3, false, true);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 3);
    assert_int_equal(runs[2].flags, GGS_RUN_INTERRUPTED | GGS_RUN_RESULTS_UNSEEN);
    assert_int_equal(runs[2].cut, 6);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(runs[i].flags, 0);
        assert_int_equal(runs[i].end_ns - runs[i].begin_ns, 9500); // not when the call returned
        assert_int_equal(runs[i].executed, 5);
        assert_int_equal(runs[i].absorbed, 1);
        assert_int_equal(runs[i].empty, 1);
        assert_int_equal(runs[i].unseen + runs[i].opaque + runs[i].skipped, 0);
    }
    struct ggs_op_run * ops = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(n, 10);
    assert_int_equal(ops[1].node, 1);
    assert_int_equal(ops[1].absorbed, 1);
    assert_int_equal(ops[1].begin_ns - runs[0].begin_ns, 3000);
    assert_int_equal(ops[1].duration_ns, 900);
    assert_true(ops[1].submit_ns >= runs[0].begin_ns && ops[1].submit_ns < ops[1].begin_ns);
    assert_int_equal(ops[6].absorbed, 1); // the same of the replay
    assert_int_equal(ops[1].flags, GGS_OP_RUN_ENDED | GGS_OP_RUN_FUSED | GGS_OP_RUN_WAIT_UNSEEN);
    assert_int_equal(ops[1].inner_wait_ns, 500); // its kernel ran in the first 400 of 900
    assert_int_equal(ops[0].inner_wait_ns, 0);   // no kernel is known of it
    struct ggs_kernel * kernels = READ(reader, GGS_TABLE_KERNELS, ggs_kernel, &n);
    assert_int_equal(n, 2);
    assert_string_equal(ggs_reader_string(reader, kernels[0].name), "multiply");
    assert_int_equal(kernels[0].duration_ns, 400);
    assert_int_equal(kernels[0].grid_x * 100 + kernels[0].grid_y * 10 + kernels[0].grid_z, 234);
    assert_int_equal(kernels[0].block_x, 32);
    assert_string_equal(ggs_reader_string(reader, kernels[1].name), "copy");
    assert_int_equal(kernels[1].bytes, 77);
    assert_int_equal(kernels[1].nodes, 0); // work of the run that belongs to no node
    free(kernels);
    struct ggs_lane * lanes = READ(reader, GGS_TABLE_LANES, ggs_lane, &n);
    assert_int_equal(n, 1);
    assert_int_equal(lanes[0].kind, GGS_LANE_QUEUE);
    assert_string_equal(ggs_reader_string(reader, lanes[0].name), "CUDA0");
    free(runs);
    free(ops);
    free(lanes);
    ggs_reader_close(reader);
}

// Backends that are seen as whole graphs have a lane each, named after them; the CPU's keep their names.
static void test_lanes(void ** state) {
    (void) state;
    static const char * const names[] = {"CPU thread 0", "CPU thread 1", "CUDA0", "BLAS", "CPU #2 thread 0"};
    size_t                    n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 2, 0, 0, NULL, 0);
    for (uint64_t run = 2; run < 5; run++) {
        struct ggs_journal_run     begin = {.run = run, .graph = 1, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f)};
        struct ggs_journal_run_end end   = {.run = run};
        fixture_record(&f, GGS_JOURNAL_RUN, &begin, sizeof(begin), run == 3 ? "BLAS" : "CUDA0");
        fixture_advance(&f, 5000);
        end.ticks = f.ticks, end.monotonic_ns = fixture_ns(&f);
        fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    }
    tiny_run(&f, 5, 1, 0, 1, 1, 0, NULL, 0);
    fixture_numbers(&f, GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_lane *   lanes  = READ(reader, GGS_TABLE_LANES, ggs_lane, &n);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) assert_string_equal(ggs_reader_string(reader, lanes[i].name), names[i]);
    struct ggs_device * devices = READ(reader, GGS_TABLE_DEVICES, ggs_device, &n);
    assert_int_equal(n, 3);
    assert_int_equal(devices[0].seen, GGS_SEEN_OPS);
    assert_int_equal(devices[1].seen, GGS_SEEN_GRAPHS);
    struct ggs_run * runs = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    for (size_t i = 0; i < n; i++) {
        static const uint64_t device[] = {1, 2, 3, 2, 1};
        assert_int_equal(runs[i].device, device[i]);
        assert_int_equal(runs[i].process, 1);
        assert_int_equal(runs[i].flags, i == 0 || i == 4 ? 0 : GGS_RUN_OPAQUE | GGS_RUN_RESULTS_UNSEEN);
    }
    struct ggs_lod * lod  = READ(reader, GGS_TABLE_LOD, ggs_lod, &n);
    uint64_t         busy = 0;
    for (size_t i = 0; i < n; i++)
        if (lod[i].level == lod[0].level && lod[i].lane == 3) busy += lod[i].busy_ns;
    assert_int_equal(busy, 10000);
    free(lanes);
    free(devices);
    free(runs);
    free(lod);
    ggs_reader_close(reader);
}

struct unit {
    uint32_t lane, node;
    uint64_t begin, duration, wait, inner; // in ns after the run's begin
    uint8_t  flags;
};

// Seals one run of two threads with these units, and compares the op runs that come of them, in the same order.
static void check_times(const struct unit * units, const struct unit * expected, size_t count, uint64_t run_flags) {
    size_t n;
    fixture_process(&f);
    tiny_graph(&f, 1);
    uint64_t start = f.ticks;
    fixture_run(&f, 1, 1, 0, 2, 0);
    for (uint32_t i = 0; i < 2; i++) fixture_lane(&f, i, 0, i);
    for (size_t i = 0; i < count; i++) {
        struct ggs_spool_op op = {.flags      = units[i].flags,
                                  .run        = 1,
                                  .node       = units[i].node,
                                  .begin      = start + 3 * units[i].begin,
                                  .duration   = (uint32_t) (3 * units[i].duration),
                                  .wait       = (uint32_t) (3 * units[i].wait),
                                  .inner_wait = (uint32_t) (3 * units[i].inner)};
        fixture_op(&f, units[i].lane, &op);
    }
    fixture_advance(&f, 500);
    struct ggs_journal_run_end end = {.run = 1, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f), .flags = run_flags};
    fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    run    = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    struct ggs_op_run * rows   = READ(reader, GGS_TABLE_OP_RUNS, ggs_op_run, &n);
    assert_int_equal(run->flags, run_flags);
    assert_int_equal(n, count);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].node, expected[i].node);
        assert_int_equal(rows[i].thread, expected[i].lane);
        assert_int_equal(rows[i].begin_ns - run->begin_ns, expected[i].begin);
        assert_int_equal(rows[i].duration_ns, expected[i].duration);
        assert_int_equal(rows[i].wait_ns, expected[i].wait);
        assert_int_equal(rows[i].inner_wait_ns, expected[i].inner);
        assert_int_equal(rows[i].flags, expected[i].flags);
    }
    free(run);
    free(rows);
    ggs_reader_close(reader);
}

// The engine's barrier was not seen: thread 0 tells its ends, the others end before any thread begins the next op.
static void test_hidden_barrier(void ** state) {
    (void) state;
    enum { TOLD = GGS_OP_RUN_ENDED | GGS_OP_RUN_WAIT_UNSEEN, BOUND = TOLD | GGS_OP_RUN_END_BOUND };
    static const struct unit units[] = {
        {0, 0, 100, 50, 0, 0, TOLD},
        {0, 3, 200, 90, 0, 10, TOLD},
        {1, 0, 110, 0, 0, 0, 0},
        {1, 3, 190, 30, 20, 5, GGS_OP_RUN_ENDED}, // ended by a barrier inside it
    };
    static const struct unit expected[] = {
        {0, 0, 100, 50, 0, 0, TOLD},
        {0, 3, 200, 90, 0, 10, TOLD},
        {1, 0, 110, 80, 0, 0, BOUND},
        {1, 3, 190, 310, 0, 25, BOUND},
    };
    check_times(units, expected, 4, GGS_RUN_NO_WAITS);
}

// A thread that read its clock too early seems to begin an op before another one has ended the op before.
static void test_order_of_ops(void ** state) {
    (void) state;
    static const struct unit units[] = {
        {0, 0, 100, 50, 10, 0, GGS_OP_RUN_ENDED}, {0, 1, 170, 60, 0, 0, GGS_OP_RUN_ENDED},
        {0, 3, 290, 40, 20, 0, GGS_OP_RUN_ENDED}, {1, 0, 110, 70, 20, 0, GGS_OP_RUN_ENDED},
        {1, 1, 295, 5, 5, 0, GGS_OP_RUN_ENDED},   {1, 3, 225, 10, 100, 9, GGS_OP_RUN_ENDED},
    };
    static const struct unit expected[] = {
        {0, 0, 100, 50, 10, 0, GGS_OP_RUN_ENDED},
        {0, 1, 170, 60, 0, 0, GGS_OP_RUN_ENDED},
        {0, 3, 290, 40, 20, 0, GGS_OP_RUN_ENDED},
        {1, 0, 110, 60, 30, 0, GGS_OP_RUN_ENDED}, // thread 0 had begun the next op at 170: it waited since then
        {1, 1, 290, 0, 15, 0, GGS_OP_RUN_ENDED},  // likewise at 290
        {1, 3, 290, 0, 45, 0, GGS_OP_RUN_ENDED},  // which is when it ended the one before
    };
    check_times(units, expected, 6, 0);
}

// The graph of a run on a device is guessed when it is submitted, and looked at while it computes.
static void test_guessed_graph(void ** state) {
    (void) state;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_graph(&f, 2);
    for (uint64_t run = 1; run <= 3; run++) {
        fixture_run(&f, run, 1, 0, 0, 0);
        fixture_advance(&f, 500);
        struct ggs_journal_run_end end = {
            .run = run, .ticks = f.ticks, .monotonic_ns = fixture_ns(&f), .graph = run == 3 ? 0 : run};
        fixture_record(&f, GGS_JOURNAL_RUN_END, &end, sizeof(end), NULL);
    }
    size_t              n;
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_run *    runs   = READ(reader, GGS_TABLE_RUNS, ggs_run, &n);
    assert_int_equal(n, 3);
    assert_int_equal(runs[0].graph, 1);
    assert_int_equal(runs[1].graph, 2);
    assert_int_equal(runs[2].graph, 1);
    free(runs);
    ggs_reader_close(reader);
}

// A header that gives less than its own size: the segment is damaged, and nothing beyond it is read.
static void test_header_size(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1};
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 1, 0, 1, tokens, 0);
    fixture_close(&f);
    char * lane  = scratch_path(folder, "spool/lane-000-0000.seg");
    char * spool = scratch_path(folder, "spool");
    char * trace = scratch_path(folder, "size.ggs");
    for (uint64_t size = 0; size < sizeof(struct ggs_spool_header); size += 7) {
        struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
        struct ggs_seal_result  result;
        struct ggs_error        error;
        int                     fd = open(lane, O_RDWR);
        assert_int_equal(pwrite(fd, &size, sizeof(size), offsetof(struct ggs_spool_header, size)), sizeof(size));
        close(fd);
        assert_int_equal(ggs_seal_spool(spool, trace, NULL, &options, &result, &error), 0);
        assert_int_equal(result.damaged, 1);
        assert_int_equal(result.op_runs, 0);
    }
    free(lane);
    free(spool);
    free(trace);
}

// ---- the directory ----

static bool exists(const char * name) {
    char *      path = scratch_path(folder, name);
    struct stat info;
    bool        there = lstat(path, &info) == 0;
    free(path);
    return there;
}

static void test_directory(void ** state) {
    (void) state;
    struct ggs_seal_result result;
    struct ggs_error       error;
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 2, 0, 0, NULL, 0);
    fixture_close(&f);
    // the spool lies elsewhere
    char * spool     = scratch_path(folder, "spool");
    char * elsewhere = scratch_path(folder, "elsewhere");
    char * trace     = scratch_path(folder, "trace.ggs");
    char * json      = scratch_path(folder, "experiment.json");
    assert_int_equal(rename(spool, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, spool), 0);
    FILE * file = fopen(json, "w");
    fputs("{\"id\": 1}\n", file);
    fclose(file);
    // an earlier seal died half way
    file = fopen(trace, "w");
    fputs("GGSCOPE1", file);
    fclose(file);

    struct ggs_seal_options options = {
        .size = sizeof(options), .uuid = "0123456789abcde", .start_monotonic_ns = FIXTURE_FIRST_NS - 50};
    assert_int_equal(ggs_seal(folder, &options, &result, &error), 0);
    assert_false(result.already);
    assert_true(exists("trace.ggs"));
    assert_false(exists("spool"));
    assert_false(exists("elsewhere"));
    assert_false(exists("trace.ggs.tmp"));
    struct stat info;
    assert_int_equal(stat(trace, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_size, result.bytes);
    struct ggs_reader * reader;
    assert_int_equal(ggs_reader_open(&reader, folder, &error), 0);
    assert_memory_equal(ggs_reader_uuid(reader), "0123456789abcde", 16);
    assert_string_equal(ggs_reader_experiment(reader), "{\"id\": 1}\n");
    struct ggs_run run;
    assert_int_equal(ggs_reader_row(reader, GGS_TABLE_RUNS, 0, &run, &error), 0);
    assert_int_equal(run.begin_ns, 50);
    ggs_reader_close(reader);

    assert_int_equal(ggs_seal(folder, &options, &result, &error), 0);
    assert_true(result.already);
    assert_int_equal(unlink(trace), 0);
    assert_int_equal(ggs_seal(folder, &options, &result, &error), GGS_ABSENT);
    free(spool);
    free(elsewhere);
    free(trace);
    free(json);
}

// A seal that died after the trace had its name: what is left of the spool must not replace it.
static void test_half_removed_spool(void ** state) {
    (void) state;
    struct ggs_seal_result  result;
    struct ggs_error        error;
    struct ggs_seal_options options = {.size = sizeof(options), .keep_spool = true};
    fixture_process(&f);
    tiny_graph(&f, 1);
    tiny_run(&f, 1, 1, 0, 2, 0, 0, NULL, 0);
    fixture_close(&f);
    assert_int_equal(ggs_seal(folder, &options, &result, &error), 0);
    assert_true(exists("spool"));
    char * journal = scratch_path(folder, "spool/journal-0000.seg");
    assert_int_equal(unlink(journal), 0);
    free(journal);
    assert_int_equal(ggs_seal(folder, NULL, &result, &error), 0);
    assert_true(result.already);
    assert_false(exists("spool"));
    struct ggs_reader * reader;
    assert_int_equal(ggs_reader_open(&reader, folder, &error), 0);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_OP_RUNS), 10);
    ggs_reader_close(reader);
}

// ---- weights that were read by hand ----

static void fill(uint64_t address, uint64_t bytes, uint64_t offset, const char * path) {
    struct ggs_journal_filled filled = {address, bytes, offset};
    fixture_record(&f, GGS_JOURNAL_FILLED, &filled, sizeof(filled), path);
}

static void test_fills(void ** state) {
    (void) state;
    enum { COUNT = 6 };
    static const char * const names[COUNT]     = {"a", "b", "c", "d", "e", "f"};
    static const uint64_t     addresses[COUNT] = {0x500000, 0x500040, 0x500080, 0x500100, 0x500200, 0x600000};
    struct ggs_journal_tensor list[COUNT];
    fixture_process(&f);
    add_buffer(1, 0x500000, 0x10000, 0, 1, "CPU");
    add_buffer(2, 0x600000, 0x10000, 2, 1, "CPU"); // of a scheduler
    fill(0x500000, 0x100, 0x1000, "/data/one");    // several tensors at once
    fill(0x500080, 0x40, 0x9000, "/data/two");     // over a part of it
    fill(0x500100, 0x40, 0x2000, "/data/one");
    fill(0x500300, 0x40, 0x3000, "/data/one");
    fill(0x600000, 0x40, 0x4000, "/data/one");
    fill(0x900000, 0x40, 0x5000, "/data/one"); // no buffer's
    struct ggs_journal_transfer set = {
        .kind = GGS_TRANSFER_SET, .from = 0x10, .to = 0x500100, .to_buffer = 1, .bytes = 64};
    fixture_record(&f, GGS_JOURNAL_TRANSFER, &set, sizeof(set), "d"); // something else is there now
    for (int i = 0; i < COUNT; i++) {
        list[i]         = fixture_tensor(OP_NONE, 8, 1);
        list[i].address = addresses[i];
    }
    fixture_graph(&f, 1, 0, COUNT, list, names);
    fixture_run(&f, 1, 1, 0, 1, 0);
    struct ggs_reader *   reader = seal_and_open(&f, folder, NULL, NULL);
    size_t                n;
    struct ggs_tensor *   tensors        = READ(reader, GGS_TABLE_TENSORS, ggs_tensor, &n);
    static const uint64_t files[COUNT]   = {1, 1, 2, 0, 0, 0};
    static const uint64_t offsets[COUNT] = {0x1000, 0x1040, 0x9000, 0, 0, 0};
    assert_int_equal(n, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(tensors[i].origin_file, files[i]);
        assert_int_equal(tensors[i].origin_offset, offsets[i]);
    }
    free(tensors);
    ggs_reader_close(reader);
}

// ---- windows ----

static void write_control(const struct ggs_control_entry * entries, uint32_t n) {
    struct ggs_spool_control control = {.entries = n};
    char                     path[4200];
    memcpy(control.magic, GGS_CONTROL_MAGIC, sizeof(control.magic));
    snprintf(path, sizeof(path), "%s/%s", f.directory, GGS_SPOOL_CONTROL);
    FILE * file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&control, sizeof(control), 1, file), 1);
    assert_int_equal(fwrite(entries, sizeof(*entries), n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void test_windows(void ** state) {
    (void) state;
    static const int32_t           token[]   = {7};
    const struct ggs_control_entry entries[] = {
        {.kind = GGS_WINDOW_RECORDED, .begin_ns = FIXTURE_FIRST_NS + 100, .end_ns = FIXTURE_FIRST_NS + 200},
        {.kind = GGS_WINDOW_MARK, .begin_ns = FIXTURE_FIRST_NS + 150, .end_ns = FIXTURE_FIRST_NS + 150, .text = "here"},
        {.kind = GGS_WINDOW_RECORDED, .begin_ns = FIXTURE_FIRST_NS + 300},
        {.kind = 77}, // damage
    };
    fixture_process(&f);
    // Single tokens in the middle of a text, and again after a gap: generated, not prompt.
    for (uint64_t i = 1; i <= 4; i++) {
        fixture_decode(&f, i, 0xc0, 1, token, (int32_t) (i < 3 ? 40 + i : 90 + i), 0, 1);
        fixture_advance(&f, 100);
        fixture_decode_end(&f, i, 0);
    }
    write_control(entries, 4);
    struct ggs_seal_options options = {.size = sizeof(options), .start_monotonic_ns = FIXTURE_FIRST_NS};
    struct ggs_reader *     reader  = seal_and_open(&f, folder, &options, NULL);
    size_t                  n;
    struct ggs_window *     windows = READ(reader, GGS_TABLE_WINDOWS, ggs_window, &n);
    assert_int_equal(n, 3);
    assert_int_equal(windows[0].begin_ns, 100);
    assert_int_equal(windows[0].end_ns, 200);
    assert_int_equal(windows[1].kind, GGS_WINDOW_MARK);
    assert_string_equal(ggs_reader_string(reader, windows[1].text), "here");
    assert_int_equal(windows[2].end_ns, -1);
    free(windows);
    struct ggs_step * steps = READ(reader, GGS_TABLE_STEPS, ggs_step, &n);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) assert_int_equal(steps[i].phase, GGS_PHASE_GENERATE);
    free(steps);
    ggs_reader_close(reader);
}

static void test_no_windows(void ** state) {
    (void) state;
    const struct ggs_control_entry entry = {.kind = GGS_WINDOW_RECORDED, .reserved = 1, .begin_ns = FIXTURE_FIRST_NS};
    fixture_process(&f);
    write_control(&entry, 1);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_WINDOWS), 0); // it was never paused
    ggs_reader_close(reader);
}

// ---- programs without tokens ----

static void test_graph_steps(void ** state) {
    (void) state;
    static const char * const names[] = {"a"};
    struct ggs_journal_tensor list[1] = {fixture_tensor(OP_NONE, 8, 1)};
    fixture_process(&f);
    fixture_graph(&f, 1, 0, 1, list, names);
    for (uint64_t run = 1; run <= 3; run++) {
        fixture_advance(&f, 1000);
        fixture_run(&f, run, 1, 0, 1, 0);
        fixture_advance(&f, 1000);
        fixture_run_end(&f, run);
    }
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    size_t              n;
    struct ggs_step *   steps = READ(reader, GGS_TABLE_STEPS, ggs_step, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(steps[i].phase, GGS_PHASE_GRAPH);
        assert_int_equal(steps[i].step, i);
        assert_int_equal(steps[i].first_run, i + 1);
        assert_int_equal(steps[i].end_ns - steps[i].begin_ns, 1000);
    }
    free(steps);
    ggs_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_value),
        TEST(graph),
        TEST(graph_at_other_addresses),
        TEST(places),
        TEST(fills),
        TEST(windows),
        TEST(no_windows),
        TEST(graph_steps),
        TEST(coverage),
        TEST(skipped),
        TEST(concurrent_runs),
        TEST(losses),
        TEST(segments_given_up),
        TEST(garbage),
        TEST(guessed_graph),
        TEST(header_size),
        TEST(run_without_a_lane),
        TEST(lanes),
        TEST(hidden_barrier),
        TEST(order_of_ops),
        TEST(device_runs),
        TEST(directory),
        TEST(half_removed_spool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
