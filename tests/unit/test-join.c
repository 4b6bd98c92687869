// Joining: clocks of two machines, the runs that both have, and one numbering for all.
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "trace-fixture.h"
#include "trace/join/join.h"
#include "trace/writer.h"

// ---- clocks ----

enum { MS = 1000000, SECOND = 1000000000 };

// Ever other numbers, the same in every run.
static uint64_t random_below(uint64_t * state, uint64_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

// The server's clock is `offset` behind and goes `ppb` slower. Wires take from 20 to 20 + spread
// microseconds, each way.
static void fit(int64_t offset, int64_t ppb, uint64_t n, int64_t span, uint64_t spread_us, int64_t * error) {
    struct ggs_clock_bound * bounds = calloc(n, sizeof(*bounds));
    struct ggs_clock_line    line;
    uint64_t                 state = (uint64_t) offset + n;
    for (uint64_t i = 0; i < n; i++) {
        int64_t at    = span / (int64_t) n * (int64_t) i;
        int64_t truth = offset + (int64_t) llround((double) at * (double) ppb / 1e9);
        int64_t up    = 20000 + (int64_t) random_below(&state, spread_us * 1000 + 1);
        int64_t down  = 20000 + (int64_t) random_below(&state, spread_us * 1000 + 1);
        bounds[i]     = (struct ggs_clock_bound){at, truth - up, truth + down};
    }
    assert_true(ggs_clocks_fit(bounds, n, 0, span, &line));
    for (int64_t at = 0; at <= span; at += span / 16) {
        double truth = (double) offset + (double) at * (double) ppb / 1e9;
        double found = (double) (ggs_clock_line_map(&line, at) - at);
        if (fabs(found - truth) > (double) line.error_ns)
            fail_msg("at %lld: %.0f is off by %.0f, and the bound is %lld", (long long) at, found, found - truth,
                     (long long) line.error_ns);
    }
    *error = line.error_ns;
    free(bounds);
}

static void bounds_cover_the_truth(void ** state) {
    (void) state;
    int64_t error, offsets[] = {0, 5, -123456789, 86400ll * SECOND, -7ll * 86400 * SECOND};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        for (int64_t ppb = -50000; ppb <= 50000; ppb += 25000) {
            fit(offsets[i], ppb, 200, 20ll * SECOND, 300, &error);
            assert_in_range(error, 20000, 100000); // the quickest of 200 are near 20 microseconds
            fit(offsets[i], ppb, 3, SECOND, 1000, &error);
            fit(offsets[i], ppb, 1, 100 * MS, 0, &error);
            assert_in_range(error, 20000, 60000);
        }
    }
}

static void clocks_that_were_set_do_not_fit(void ** state) {
    (void) state;
    struct ggs_clock_line  line;
    struct ggs_clock_bound bounds[] = {{0, -20000, 20000}, {SECOND, 5 * MS, 6 * MS}};
    assert_false(ggs_clocks_fit(bounds, 2, 0, SECOND, &line));
    assert_false(ggs_clocks_fit(bounds, 0, 0, SECOND, &line));
    bounds[1].least_ns = 100000, bounds[1].most_ns = 140000; // 120 ppm
    assert_true(ggs_clocks_fit(bounds, 2, 0, SECOND, &line));
}

static void lines_follow_each_other(void ** state) {
    (void) state;
    struct ggs_clock_line a = {.origin_ns = 100, .offset_ns = 5000, .drift_ppb = 20000, .error_ns = 30};
    struct ggs_clock_line b = {.origin_ns = 7000, .offset_ns = -900, .drift_ppb = -1000, .error_ns = 12};
    struct ggs_clock_line c = ggs_clock_line_after(&a, &b), back = ggs_clock_line_inverse(&a);
    for (int64_t ns = 0; ns < 10ll * SECOND; ns += SECOND) {
        assert_in_range(ggs_clock_line_map(&b, ggs_clock_line_map(&a, ns)) - ggs_clock_line_map(&c, ns) + 10, 0, 20);
        assert_in_range(ggs_clock_line_map(&back, ggs_clock_line_map(&a, ns)) - ns + 10, 0, 20);
    }
    assert_int_equal(c.error_ns, 42);
    b.error_ns = -1;
    assert_int_equal(ggs_clock_line_after(&a, &b).error_ns, -1);
}

// ---- recordings ----

enum { RUNS = 20, COMPUTE = 3 * MS, WEIGHT_AT = 4096 };
static const int64_t behind = 3600ll * SECOND + 123456; // the server's clock
static char *        folder;

static int setup(void ** state) {
    (void) state;
    folder = scratch_make();
    return 0;
}

static int teardown(void ** state) {
    (void) state;
    scratch_remove(folder);
    return 0;
}

static uint64_t string(struct ggs_writer * w, const char * text) {
    return ggs_writer_string(w, text, strlen(text));
}

static int64_t sent_at(uint64_t i) {
    return SECOND + (int64_t) i * 10 * MS;
}

static int64_t wire(uint64_t i, int way) {
    return 50000 + (int64_t) ((i * 7 + (uint64_t) way * 3) % 11) * 10000;
}

// The server counts from its own start, 0.5 s before the client's, by its own clock.
static int64_t server_time(int64_t client) {
    return client + SECOND / 2;
}

// What both sides have: an op, its result, the weight that it reads, one graph.
static void common_tables(struct ggs_writer * w, const char * program, uint64_t op, bool client) {
    struct ggs_process process = {.process     = 1,
                                  .pid         = client ? 11 : 22,
                                  .executable  = string(w, program),
                                  .begin_ns    = 1000,
                                  .end_ns      = sent_at(RUNS) + SECOND,
                                  .realtime_ns = 1700000000ull * SECOND,
                                  .page_size   = 4096};
    ggs_writer_append(w, GGS_TABLE_PROCESSES, &process);
    ggs_writer_append(w, GGS_TABLE_OPS, &(struct ggs_op){op, string(w, "MUL_MAT")});
    ggs_writer_append(w, GGS_TABLE_TYPES, &(struct ggs_type){client ? 0 : 3, string(w, "f32"), 1, 4});
    if (client)
        ggs_writer_append(w, GGS_TABLE_FILES,
                          &(struct ggs_file){.file = 1, .path = string(w, "/m.gguf"), .size = 1 << 20});
    const char *      backend = client ? "RPC0[10.0.0.2:50052]" : "CPU";
    struct ggs_device device  = {
         .device = 1, .name = string(w, backend), .type = client ? 2 : 1, .backend = string(w, backend)};
    ggs_writer_append(w, GGS_TABLE_DEVICES, &device);
    struct ggs_lane lane = {
        .lane = 1, .device = 1, .slot = client ? -1 : 0, .kind = client ? 3 : 1, .name = string(w, backend)};
    ggs_writer_append(w, GGS_TABLE_LANES, &lane);
    struct ggs_buffer buffer = {
        .buffer = 1, .size = 4096, .type = string(w, backend), .end_ns = -1, .device = client, .host = !client};
    ggs_writer_append(w, GGS_TABLE_BUFFERS, &buffer);
    struct ggs_tensor tensor = {.tensor = 1,
                                .name   = string(w, "x-0"),
                                .type   = client ? 0 : 3,
                                .ne     = {4, 1, 1, 1},
                                .nb     = {4, 16, 16, 16},
                                .source = GGS_SOURCE_BUFFER,
                                .buffer = 1};
    ggs_writer_append(w, GGS_TABLE_TENSORS, &tensor);
    tensor.tensor = 2, tensor.name = string(w, "blk.0.attn_q.weight");
    if (client) tensor.origin_file = 1, tensor.origin_offset = WEIGHT_AT;
    ggs_writer_append(w, GGS_TABLE_TENSORS, &tensor);
    ggs_writer_append(w, GGS_TABLE_GRAPHS, &(struct ggs_graph_row){.graph = 1, .nodes = 1, .tensors = 2});
    ggs_writer_append(w, GGS_TABLE_NODES, &(struct ggs_node){.graph = 1, .tensor = 1, .op = op});
    ggs_writer_append(w, GGS_TABLE_EDGES, &(struct ggs_edge){.graph = 1, .tensor = 2});
}

static void client_run(struct ggs_writer * w, uint64_t i) {
    struct ggs_run run = {.run      = i + 1,
                          .graph    = 1,
                          .step     = (int64_t) i,
                          .phase    = i == 0 ? GGS_PHASE_PROMPT : GGS_PHASE_GENERATE,
                          .backend  = string(w, "RPC0[10.0.0.2:50052]"),
                          .begin_ns = sent_at(i),
                          .end_ns   = sent_at(i) + wire(i, 0) + COMPUTE + wire(i, 1),
                          .slot     = -1,
                          .flags    = GGS_RUN_OPAQUE,
                          .nodes    = 1,
                          .opaque   = 1,
                          .device   = 1,
                          .context  = 0};
    ggs_writer_append(w, GGS_TABLE_RUNS, &run);
    struct ggs_step step = {.step        = (int64_t) i,
                            .phase       = run.phase,
                            .begin_ns    = run.begin_ns - 1000,
                            .end_ns      = run.end_ns + 1000,
                            .first_run   = run.run,
                            .last_run    = run.run,
                            .runs        = 1,
                            .first_token = ggs_writer_next_row(w, GGS_TABLE_TOKENS),
                            .tokens      = 1,
                            .decodes     = 1};
    ggs_writer_append(w, GGS_TABLE_STEPS, &step);
    ggs_writer_append(
        w, GGS_TABLE_TOKENS,
        &(struct ggs_token){.step = (int64_t) i, .token = (int64_t) (100 + i), .position = (int64_t) i, .output = 1});
    struct ggs_transfer transfer = {.kind        = GGS_TRANSFER_GET,
                                    .from_buffer = 1,
                                    .bytes       = 16,
                                    .begin_ns    = run.begin_ns + 10,
                                    .duration_ns = (uint64_t) (run.end_ns - run.begin_ns) - 10,
                                    .name        = string(w, "x-0")};
    ggs_writer_append(w, GGS_TABLE_TRANSFERS, &transfer);
}

static void server_run(struct ggs_writer * w, uint64_t i) {
    int64_t        begin = server_time(sent_at(i) + wire(i, 0));
    struct ggs_run run   = {.run          = i + 1,
                            .graph        = 1,
                            .step         = (int64_t) i,
                            .phase        = GGS_PHASE_GRAPH,
                            .backend      = string(w, "CPU"),
                            .host         = 1,
                            .begin_ns     = begin,
                            .end_ns       = begin + COMPUTE,
                            .threads      = 1,
                            .nodes        = 1,
                            .executed     = 1,
                            .first_op_run = i,
                            .op_runs      = 1,
                            .device       = 1,
                            .context      = 0};
    ggs_writer_append(w, GGS_TABLE_RUNS, &run);
    struct ggs_op_run op = {.run         = i + 1,
                            .begin_ns    = begin + 1000,
                            .duration_ns = COMPUTE - 2000,
                            .wait_ns     = 500,
                            .flags       = GGS_OP_RUN_ENDED,
                            .submit_ns   = -1};
    ggs_writer_append(w, GGS_TABLE_OP_RUNS, &op);
    struct ggs_step step = {.step      = (int64_t) i,
                            .phase     = GGS_PHASE_GRAPH,
                            .begin_ns  = begin,
                            .end_ns    = run.end_ns,
                            .first_run = i + 1,
                            .last_run  = i + 1,
                            .runs      = 1};
    ggs_writer_append(w, GGS_TABLE_STEPS, &step);
}

static struct ggs_reader * make(const char * name, bool client, uint64_t first, uint64_t last) {
    static struct ggs_writer w;
    struct ggs_error         error;
    struct ggs_reader *      reader;
    uint8_t                  uuid[16] = {(uint8_t) client, (uint8_t) first, (uint8_t) name[0], (uint8_t) last};
    char *                   path     = scratch_path(folder, name);
    int                      fd       = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ggs_writer_init(&w, fd, path, uuid), 0);
    common_tables(&w, client ? "/bin/engine" : "/bin/rpc-server", client ? 1 : 7, client);
    for (uint64_t i = first; i < last; i++) client ? client_run(&w, i) : server_run(&w, i);
    ggs_writer_append(&w, GGS_TABLE_CONTEXTS, &(struct ggs_context){.context = 0});
    assert_int_equal(ggs_writer_finish(&w, &error), 0);
    ggs_writer_release(&w);
    close(fd);
    assert_int_equal(ggs_reader_open(&reader, path, &error), 0);
    free(path);
    return reader;
}

static struct ggs_join_source source(struct ggs_reader * reader, const char * boot, uint64_t start) {
    return (struct ggs_join_source){
        .path = "x", .host = boot, .boot = boot, .experiment = "e", .reader = reader, .start_monotonic_ns = start};
}

static struct ggs_reader * join_two(struct ggs_join_source * sources, struct ggs_join * join) {
    static const uint8_t uuid[16] = {9};
    struct ggs_error     error;
    struct ggs_reader *  reader;
    char *               path = scratch_path(folder, "joined.ggs");
    if (ggs_join_open(join, sources, 2, &error) != 0) fail_msg("%s", error.text);
    if (ggs_join_write(join, path, uuid, "{}", &error) != 0) fail_msg("%s", error.text);
    assert_int_equal(ggs_reader_open(&reader, path, &error), 0);
    assert_int_equal(ggs_reader_verify(reader, NULL, NULL, &error), 0);
    free(path);
    return reader;
}

static void finish(struct ggs_join * join, struct ggs_join_source * sources, struct ggs_reader * reader) {
    ggs_reader_close(reader);
    ggs_join_release(join);
    for (int i = 0; i < 2; i++) ggs_reader_close(sources[i].reader);
}

// Everything that must hold of the joined trace, whatever brought the clocks together.
static void check_joined(struct ggs_reader * reader, uint64_t n_client, uint64_t first, uint64_t last,
                         int64_t error_ns) {
    size_t                n, n_ops, n_steps, n_transfers, n_tensors;
    struct ggs_run *      runs      = read_all(reader, GGS_TABLE_RUNS, sizeof(*runs), &n);
    struct ggs_op_run *   op_runs   = read_all(reader, GGS_TABLE_OP_RUNS, sizeof(*op_runs), &n_ops);
    struct ggs_step *     steps     = read_all(reader, GGS_TABLE_STEPS, sizeof(*steps), &n_steps);
    struct ggs_transfer * transfers = read_all(reader, GGS_TABLE_TRANSFERS, sizeof(*transfers), &n_transfers);
    struct ggs_tensor *   tensors   = read_all(reader, GGS_TABLE_TENSORS, sizeof(*tensors), &n_tensors);
    assert_int_equal(n, n_client + last - first);
    assert_int_equal(n_ops, last - first);
    assert_int_equal(n_steps, n_client); // none of the server's
    uint64_t matched = 0, op_run = 0;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(runs[i].run, i + 1);
        if (i > 0) assert_true(runs[i].begin_ns >= runs[i - 1].begin_ns);
        if (runs[i].peer == 0) continue;
        const struct ggs_run * peer = &runs[runs[i].peer - 1];
        assert_int_equal(peer->peer, i + 1);
        assert_int_not_equal(peer->process, runs[i].process);
        assert_int_equal(peer->step, runs[i].step);
        if (runs[i].process == 1) {
            assert_int_equal(runs[i].opaque, 0);
            assert_int_equal(runs[i].skipped, 1);
            continue;
        }
        // The server's, in the client's time: begins after it was sent, and the results come after
        // its end.
        int64_t truth = peer->begin_ns + wire((uint64_t) runs[i].step, 0);
        if (llabs(runs[i].begin_ns - truth) > error_ns)
            fail_msg("off by %lld, and the bound is %lld", (long long) (runs[i].begin_ns - truth),
                     (long long) error_ns);
        assert_int_equal(runs[i].slot, 0);
        assert_int_equal(runs[i].first_op_run, op_run);
        assert_int_equal(op_runs[op_run].run, i + 1);
        assert_true(op_runs[op_run].begin_ns >= runs[i].begin_ns);
        assert_true(op_runs[op_run].begin_ns + (int64_t) op_runs[op_run].duration_ns <= runs[i].end_ns);
        assert_int_equal(steps[runs[i].step].runs, 2);
        op_run++;
        matched++;
    }
    assert_int_equal(matched, last - first);
    for (size_t i = 0; i < n_transfers; i++) assert_int_equal(transfers[i].peer, 2);
    assert_int_equal(n_tensors, 4);
    assert_int_equal(tensors[3].tensor, 4);
    assert_int_equal(tensors[3].type, 0); // by name: the server's engine numbers types in another way
    assert_int_equal(tensors[3].origin_file, 1);
    assert_int_equal(tensors[3].origin_offset, WEIGHT_AT);
    free(runs), free(op_runs), free(steps), free(transfers), free(tensors);
}

static void two_machines_by_their_runs(void ** state) {
    (void) state;
    struct ggs_join        join;
    struct ggs_join_source sources[] = {
        source(make("client.ggs", true, 0, RUNS), "a", 10ull * SECOND),
        source(make("server.ggs", false, 0, RUNS), "b", (uint64_t) (7200ll * SECOND - behind))};
    struct ggs_reader *  reader = join_two(sources, &join);
    size_t               n;
    struct ggs_process * processes = read_all(reader, GGS_TABLE_PROCESSES, sizeof(*processes), &n);
    assert_int_equal(n, 2);
    assert_int_equal(processes[1].clock, GGS_CLOCK_RUNS);
    assert_int_equal(processes[1].pairs, RUNS);
    assert_string_equal(ggs_reader_string(reader, processes[1].host), "b");
    // The wire takes 50 to 150 microseconds each way.
    assert_in_range(processes[1].error_ns, 50000, 200000);
    assert_int_equal(sources[1].matched, RUNS);
    assert_int_equal(sources[1].machine, 2);
    check_joined(reader, RUNS, 0, RUNS, processes[1].error_ns);
    struct ggs_op * ops = read_all(reader, GGS_TABLE_OPS, sizeof(*ops), &n);
    assert_int_equal(n, 1);
    struct ggs_lane * lanes = read_all(reader, GGS_TABLE_LANES, sizeof(*lanes), &n);
    assert_int_equal(n, 2);
    assert_string_equal(ggs_reader_string(reader, lanes[1].name), "b rpc-server 22: CPU");
    assert_true(ggs_reader_rows(reader, GGS_TABLE_LOD) > 0);
    free(processes), free(ops), free(lanes);
    finish(&join, sources, reader);
}

static void one_machine_is_exact(void ** state) {
    (void) state;
    struct ggs_join        join;
    struct ggs_join_source sources[] = {source(make("client.ggs", true, 0, RUNS), "a", 10ull * SECOND),
                                        source(make("server.ggs", false, 0, RUNS), "a", 10ull * SECOND - SECOND / 2)};
    struct ggs_reader *    reader    = join_two(sources, &join);
    assert_int_equal(sources[1].clock, GGS_CLOCK_BOOT);
    assert_int_equal(sources[1].line.error_ns, 0);
    assert_int_equal(sources[1].machine, 1);
    check_joined(reader, RUNS, 0, RUNS, 0);
    finish(&join, sources, reader);
}

// A server that was killed, and one that was recorded from the middle on.
static void parts_are_enough(void ** state) {
    (void) state;
    static const uint64_t parts[][2] = {{0, 7}, {0, 1}};
    for (size_t i = 0; i < 2; i++) {
        struct ggs_join        join;
        struct ggs_join_source sources[] = {source(make("client.ggs", true, 0, RUNS), "a", 10ull * SECOND),
                                            source(make("server.ggs", false, parts[i][0], parts[i][1]), "b", SECOND)};
        struct ggs_reader *    reader    = join_two(sources, &join);
        assert_int_equal(join.links[0].matched, parts[i][1] - parts[i][0]);
        check_joined(reader, RUNS, parts[i][0], parts[i][1], sources[1].line.error_ns);
        finish(&join, sources, reader);
    }
}

static void strangers_meet_by_the_wall(void ** state) {
    (void) state;
    struct ggs_join        join;
    struct ggs_join_source sources[] = {source(make("client.ggs", true, 0, RUNS), "a", SECOND),
                                        source(make("other.ggs", true, 1, RUNS), "", SECOND)};
    struct ggs_reader *    reader    = join_two(sources, &join);
    assert_int_equal(sources[1].clock, GGS_CLOCK_WALL);
    assert_int_equal(sources[1].line.error_ns, -1);
    assert_int_equal(sources[1].matched, 0);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_STEPS), 2 * RUNS - 1);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_TOKENS), 2 * RUNS - 1);
    // A joined one is not joined again; nor is one joined with itself.
    struct ggs_error error;
    struct ggs_join  again;
    sources[1].reader = (ggs_reader_close(sources[1].reader), reader);
    assert_int_equal(ggs_join_open(&again, sources, 2, &error), GGS_USAGE);
    assert_non_null(strstr(error.text, "joined already"));
    struct ggs_reader * same = make("client.ggs", true, 0, RUNS);
    sources[1]               = source(same, "a", SECOND);
    assert_int_equal(ggs_join_open(&again, sources, 2, &error), GGS_USAGE);
    assert_non_null(strstr(error.text, "the same recording"));
    finish(&join, sources, reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_cover_the_truth),
        cmocka_unit_test(clocks_that_were_set_do_not_fit),
        cmocka_unit_test(lines_follow_each_other),
        cmocka_unit_test_setup_teardown(two_machines_by_their_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(one_machine_is_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_are_enough, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers_meet_by_the_wall, setup, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
