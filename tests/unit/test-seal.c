// From spool to trace: what sealing makes of what the capture library wrote.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sealing-fixture.h"

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

// A graph that equals a known one but for addresses keeps everything else, also where its base is
// such a graph itself.
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

// ---- weights that were read by hand ----

static void fill_after(uint64_t before, uint64_t address, uint64_t bytes, uint64_t offset, const char * path) {
    struct ggs_journal_filled filled = {address, bytes, offset, before};
    fixture_record(&f, GGS_JOURNAL_FILLED, &filled, sizeof(filled), path);
}

static void fill(uint64_t address, uint64_t bytes, uint64_t offset, const char * path) {
    fill_after(0, address, bytes, offset, path);
}

static void test_fills(void ** state) {
    (void) state;
    enum { COUNT = 10 };
    static const char * const names[COUNT]     = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    static const uint64_t     addresses[COUNT] = {0x500000, 0x500040, 0x500080, 0x500100, 0x500200,
                                                  0x600000, 0x500400, 0x500480, 0x500500, 0x5000c0};
    struct ggs_journal_tensor list[COUNT];
    fixture_process(&f);
    add_buffer(1, 0x500000, 0x10000, 0, 1, "CPU");
    add_buffer(2, 0x600000, 0x10000, 2, 1, "CPU"); // of a scheduler
    fill(0x500000, 0x100, 0x1000, "/data/one");    // several tensors at once
    fill(0x500080, 0x40, 0x9000, "/data/two");     // over a part of it
    fill(0x500100, 0x40, 0x2000, "/data/one");
    fill(0x500300, 0x40, 0x3000, "/data/one");
    fill(0x600000, 0x40, 0x4000, "/data/one");
    fill(0x900000, 0x40, 0x5000, "/data/one");             // no buffer's
    fill_after(0x20, 0x500410, 0x10, 0x6010, "/data/one"); // a stream had the first bytes of g already
    fill_after(0x99, 0x5004c0, 0x10, 0x7000, "/data/one"); // h ends before
    fill_after(0x08, 0x500510, 0x10, 0x8000, "/data/one"); // not all that is missing of i
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
    static const uint64_t files[COUNT]   = {1, 1, 2, 0, 0, 0, 1, 0, 0, 1};
    static const uint64_t offsets[COUNT] = {0x1000, 0x1040, 0x9000, 0, 0, 0, 0x6000, 0, 0, 0x10c0};
    assert_int_equal(n, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(tensors[i].origin_file, files[i]);
        assert_int_equal(tensors[i].origin_offset, offsets[i]);
    }
    free(tensors);
    ggs_reader_close(reader);
}

// Every byte of the file is its offset, modulo 251.
static void write_numbers(const char * path, size_t bytes) {
    FILE * file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < bytes; i++) assert_int_not_equal(fputc((int) (i % 251), file), EOF);
    assert_int_equal(fclose(file), 0);
}

// What the tensor holds: the file from `offset` on, but for `wrong` of its bytes, from the last on.
static void sample(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t wrong) {
    struct {
        struct ggs_journal_sample head;
        uint8_t                   taken[GGS_SAMPLE_PIECES * GGS_SAMPLE_PIECE];
    } record   = {.head = {address, bytes}};
    uint64_t n = ggs_sample_pieces(bytes), size = ggs_sample_piece(bytes);
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t k = 0; k < size; k++) {
            uint64_t at                = ggs_sample_offset(bytes, i) + k;
            record.taken[i * size + k] = (uint8_t) ((offset + at) % 251 + (at + wrong >= bytes));
        }
    }
    fixture_record(&f, GGS_JOURNAL_SAMPLE, &record, sizeof(record.head) + n * size, NULL);
}

static void test_samples(void ** state) {
    (void) state;
    enum { COUNT = 6 };
    static const char * const names[COUNT]     = {"a", "b", "c", "d", "e", "f"};
    static const uint64_t     addresses[COUNT] = {0x500000, 0x500400, 0x500800, 0x500c00, 0x501000, 0x501010};
    static const uint64_t     bytes[COUNT]     = {0x400, 0x400, 0x400, 0x400, 16, 16};
    static const uint64_t     wrong[COUNT]     = {0, 1, 0, 0x400, 0, 1};
    struct ggs_journal_tensor list[COUNT];
    char                      path[4200];
    snprintf(path, sizeof(path), "%s/numbers", folder);
    write_numbers(path, 0x2000);
    fixture_process(&f);
    add_buffer(1, 0x500000, 0x10000, 0, 1, "CPU");
    fill(0x500000, 0x1020, 0x300, path); // all of them at once
    for (int i = 0; i < COUNT; i++) {
        sample(addresses[i], bytes[i], 0x300 + addresses[i] - 0x500000, wrong[i]);
        list[i]         = fixture_tensor(OP_NONE, (int64_t) bytes[i] / 4, 1);
        list[i].address = addresses[i];
    }
    fixture_graph(&f, 1, 0, COUNT, list, names);
    fixture_run(&f, 1, 1, 0, 1, 0);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
    size_t              n;
    struct ggs_tensor * tensors = READ(reader, GGS_TABLE_TENSORS, ggs_tensor, &n);
    assert_int_equal(n, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(tensors[i].origin_file, wrong[i] == 0);
        assert_int_equal(tensors[i].origin_offset, wrong[i] == 0 ? 0x300 + addresses[i] - 0x500000 : 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, sealing_setup, sealing_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_value), TEST(graph),      TEST(graph_at_other_addresses),
        TEST(places),      TEST(fills),      TEST(samples),
        TEST(windows),     TEST(no_windows), TEST(graph_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
