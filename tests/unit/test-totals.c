// Unit tests of src/analyze/ops: totals, groups, overview, occupancy and heat of recordings made by
// hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/lanes/gaps.h"
#include "analyze/lanes/kernels.h"
#include "analyze/machine/conditions.h"
#include "analyze/memory/heat.h"
#include "analyze/memory/occupancy.h"
#include "analyze/memory/weights-read.h"
#include "analyze/ops/groups.h"
#include "analyze/ops/overview.h"
#include "analyze/ops/roofline.h"
#include "analyze/ops/same-op.h"
#include "analyze/ops/totals.h"
#include "base/machine-limits.h"
#include "recording-fixture.h"

static struct ggs_error error;

static const struct ggs_op_totals * op_row(const struct ggs_totals * t, const char * name) {
    for (uint64_t i = 0; i < t->n_by_op; i++)
        if (strcmp(t->by_op[i].name, name) == 0) return &t->by_op[i];
    fail_msg("no row %s", name);
    return NULL;
}

static const struct ggs_group * group(const struct ggs_groups * g, const char * name) {
    for (uint64_t i = 0; i < g->n; i++)
        if (strcmp(g->group[i].name, name) == 0) return &g->group[i];
    fail_msg("no group %s", name);
    return NULL;
}

// A warm-up run of the small graph, then the two of the small recording.
static void with_warmup(struct recording * r) {
    static const int32_t prompt[] = {3, 3}, next[] = {5}, warm[] = {9};
    recording_open(r);
    small_graph(r, 1);
    small_run(r, 1, 1, -1, GGS_PHASE_WARMUP, 100, warm, 1);
    small_run(r, 2, 1, 0, GGS_PHASE_PROMPT, SMALL_BEGIN, prompt, 2);
    small_run(r, 3, 1, 1, GGS_PHASE_GENERATE, SMALL_BEGIN + SMALL_APART, next, 1);
    recording_step(r, -1, GGS_PHASE_WARMUP, 1, 100, 600, 1);
    recording_step(r, 0, GGS_PHASE_PROMPT, 2, SMALL_BEGIN, SMALL_BEGIN + SMALL_RUN_NS, 2);
    recording_step(r, 1, GGS_PHASE_GENERATE, 3, SMALL_BEGIN + SMALL_APART, SMALL_BEGIN + SMALL_APART + SMALL_RUN_NS, 1);
}

static void test_totals(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_trace  trace;
    struct ggs_totals t;
    small_recording(&r);
    for (int i = 0; i < 3; i++)
        recording_row(&r, GGS_TABLE_TOKENS,
                      &(struct ggs_token){.step = i / 2, .index = i % 2, .position = i, .output = i > 0});
    recording_row(&r, GGS_TABLE_LOSSES, &(struct ggs_loss){.reason = GGS_LOSS_SPACE, .count = 7});
    recording_row(&r, GGS_TABLE_LOSSES, &(struct ggs_loss){.reason = GGS_LOSS_FAULTS, .count = 100});
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(t.runs, 2);
    assert_int_equal(t.nodes, 12);
    assert_int_equal(t.ops, 8);
    assert_int_equal(t.op_runs, 16);
    assert_int_equal(t.threads, 2);
    assert_int_equal(t.absorbed, 2);
    assert_int_equal(t.dropped, 7); // page faults that were lost are no records of ops
    assert_int_equal(t.steps, 2);
    assert_int_equal(t.prompt_tokens, 2);
    assert_int_equal(t.generated_tokens, 2); // one by the prompt, one after it
    assert_int_equal(t.prompt_ns, SMALL_RUN_NS);
    assert_int_equal(t.generate_ns, SMALL_RUN_NS);
    assert_int_equal(t.wall_ns, SMALL_APART + SMALL_RUN_NS);
    assert_int_equal(t.run_ns, 2 * SMALL_RUN_NS);
    assert_int_equal(t.op_ns, 8 * 65);
    assert_int_equal(t.opaque_ns, 0);
    // Each run: a row of the embedding and the ids, embd and the norm's weight, Q's weight and its
    // input, half of Q.
    assert_int_equal(t.read, 2 * (32 + 8 + 64 + 32 + 256 + 64 + 32));
    assert_int_equal(t.written, 2 * (64 + 64 + 64 + 32));
    assert_int_equal(t.disk, 2 * (32 + 32 + 256));
    assert_int_equal(t.buffer, t.read + t.written - t.disk);
    assert_int_equal(t.model_bytes, 10000);
    assert_int_equal(t.touched_bytes, 2 * 32 + 32 + 256); // rows 3 and 5, and the weights once
    assert_int_equal(t.peak_bytes, 65536);
    const struct ggs_op_totals * mul_mat = op_row(&t, "MUL_MAT");
    assert_int_equal(mul_mat->ops, 2);
    assert_int_equal(mul_mat->wall_ns, 2 * 65);
    assert_int_equal(mul_mat->busy_ns, 2 * 90);
    assert_int_equal(mul_mat->wait_ns, 2 * 30);
    assert_int_equal(mul_mat->read, 2 * (256 + 64));
    assert_int_equal(t.n_by_op, 4); // fused nodes count with their head
    assert_int_equal(t.pattern.reads, 6);
    assert_int_equal(t.pattern.first_bytes, t.touched_bytes); // two rows of the embedding, and the rest once
    ggs_totals_release(&t);
    recording_close(&r, &trace);
}

// A prompt and many tokens: the ops of tokens are compared with those of tokens, and of thousands
// some stand for others.
static void test_same_op(void ** state) {
    (void) state;
    enum { TOKENS = 2500, MUL_MAT = 3 };
    static const int32_t prompt[] = {3, 3}, next[] = {5};
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_same_ops  same;
    recording_open(&r);
    small_graph(&r, 1);
    small_run(&r, 1, 1, 0, GGS_PHASE_PROMPT, SMALL_BEGIN, prompt, 2);
    for (int i = 1; i <= TOKENS; i++)
        small_run(&r, (uint64_t) i + 1, 1, i, GGS_PHASE_GENERATE, SMALL_BEGIN + i * SMALL_APART, next, 1);
    recording_done(&r, &trace);
    assert_int_equal(ggs_same_ops_find(&same, &trace, 778, MUL_MAT, &error), 0);
    assert_int_equal(same.ops, TOKENS);
    assert_int_equal(same.ops_per_row, 3);
    assert_in_range(same.n, TOKENS / 3, GGS_SAME_OPS_MOST);
    assert_int_equal(same.median_ns, 65);
    assert_int_equal(same.least_ns, same.most_ns);
    uint64_t found = 0;
    for (uint64_t i = 0; i < same.n; i++) {
        assert_true(i == 0 || same.rows[i].run > same.rows[i - 1].run);
        assert_int_equal(same.rows[i].step, same.rows[i].run - 1);
        assert_true(same.rows[i].step > 0);
        found += same.rows[i].run == 778;
    }
    assert_int_equal(found, 1);
    ggs_same_ops_release(&same);
    assert_int_equal(ggs_same_ops_find(&same, &trace, 1, MUL_MAT, &error), 0);
    assert_int_equal(same.ops, 1);
    ggs_same_ops_release(&same);
    assert_int_equal(ggs_same_ops_find(&same, &trace, 2, 99, &error), GGS_ABSENT);
    assert_string_equal(error.text, "the time of node 99 of graph run 2 was not seen");
    recording_close(&r, &trace);
}

// What lies between decodes is the user's time, but not what lies before a prompt, nor what no
// window recorded.
static void test_time_between_decodes(void ** state) {
    (void) state;
    for (int paused = 0; paused < 2; paused++) {
        struct recording  r;
        struct ggs_trace  trace;
        struct ggs_totals t;
        int64_t           end = SMALL_BEGIN + SMALL_APART + SMALL_RUN_NS;
        with_warmup(&r);
        recording_step(&r, 2, GGS_PHASE_GENERATE, 3, end + 700, end + 900, 1);
        recording_step(&r, 3, GGS_PHASE_PROMPT, 3, end + 5000, end + 6000, 4);
        recording_step(&r, 4, GGS_PHASE_GENERATE, 3, end + 6010, end + 6500, 1);
        for (int i = 0; paused && i < 2; i++) {
            struct ggs_window row = {.window   = (uint64_t) i + 1,
                                     .kind     = GGS_WINDOW_RECORDED,
                                     .begin_ns = i == 0 ? 0 : end + 600,
                                     .end_ns   = -1};
            recording_row(&r, GGS_TABLE_WINDOWS, &row);
        }
        recording_done(&r, &trace);
        assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
        assert_int_equal(t.between_ns, SMALL_APART - SMALL_RUN_NS + (paused ? 0 : 700) + 10);
        ggs_totals_release(&t);
        struct ggs_totals_range part = {2, 2, 0};
        assert_int_equal(ggs_totals_compute(&t, &trace, &part, &error), 0);
        assert_int_equal(t.between_ns, 0); // the step before is not asked for
        ggs_totals_release(&t);
        recording_close(&r, &trace);
    }
}

// What a hypervisor takes away is no other program's.
static void test_steal_is_apart(void ** state) {
    (void) state;
    static const char * const texts[] = {
        "{\"machine\":{\"cpu_ns\":1000,\"others_cpu_ns\":10,\"steal_cpu_ns\":400}}",
        "{\"machine\":{\"cpu_ns\":1000,\"others_cpu_ns\":400}}", // of older recordings: steal is in it
        "{}",
    };
    static const double others[] = {0.01, 0.4, -1}, steal[] = {0.4, -1, -1};
    for (int i = 0; i < 3; i++) {
        struct recording      r;
        struct ggs_trace      trace;
        struct ggs_conditions c;
        small_recording(&r);
        struct ggs_experiment row = {.text = texts[i], .length = strlen(texts[i])};
        recording_row(&r, GGS_TABLE_EXPERIMENT, &row);
        recording_done(&r, &trace);
        ggs_conditions_read(&c, &trace);
        assert_true(c.others_cpu_share == others[i]);
        assert_true(c.steal_share == steal[i]);
        assert_int_equal(ggs_conditions_are_busy(&c), i < 2);
        recording_close(&r, &trace);
    }
}

static void test_weights_of_unknown_origin(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_trace  trace;
    struct ggs_totals t;
    small_recording(&r);
    uint64_t weights    = recording_buffer(&r, 1000, GGS_CLASS_WEIGHTS, 0, -1),
             other      = recording_buffer(&r, 500, GGS_CLASS_COMPUTE, 0, -1);
    struct place copied = copied_from(1, 0);
    copied.buffer       = weights;
    recording_tensor(&r, "blk.0.attn_k.weight", F32, 8, 4, 1, in_buffer(weights));
    recording_tensor(&r, "blk.0.attn_v.weight", F32, 8, 4, 1, copied);
    recording_tensor(&r, "x", F32, 8, 4, 1, in_buffer(other));
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(t.stray.n, 1);
    assert_int_equal(t.stray.bytes, 8 * 4 * 4);
    ggs_totals_release(&t);
    recording_close(&r, &trace);
}

static void test_totals_of_a_part(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_trace  trace;
    struct ggs_totals t;
    with_warmup(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&t, &trace, &(struct ggs_totals_range){1, 1, 0}, &error), 0);
    assert_int_equal(t.runs, 1);
    assert_int_equal(t.ops, 4);
    assert_int_equal(t.prompt_tokens, 0);
    assert_int_equal(t.touched_bytes, 32 + 32 + 256);
    ggs_totals_release(&t);
    struct ggs_op_filter layer = GGS_OP_FILTER_ALL;
    layer.layer                = 0;
    trace.filter               = &layer;
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(t.runs, 3);
    assert_int_equal(t.ops, 9); // without GET_ROWS, which has no layer
    ggs_totals_release(&t);
    trace.filter = NULL;
    assert_int_equal(ggs_totals_compute(&t, &trace, &(struct ggs_totals_range){99, 99, 0}, &error), GGS_ABSENT);
    assert_string_equal(error.text, "there is no token 99: this recording has tokens 0 to 1");
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(t.warmup_steps, 1);
    assert_int_equal(t.steps, 2);
    assert_int_equal(t.touched_bytes, 2 * 32 + 32 + 256); // row 9 was only warmed up
    ggs_totals_release(&t);
    recording_close(&r, &trace);
}

// ---- backends without op times ----

static void add_opaque_run(struct recording * r, uint64_t run, int64_t step, int64_t begin_ns) {
    struct ggs_run row = {.run      = run,
                          .graph    = 1,
                          .step     = step,
                          .phase    = GGS_PHASE_GENERATE,
                          .backend  = recording_string(r, "Vulkan0"),
                          .slot     = -1,
                          .begin_ns = begin_ns,
                          .end_ns   = begin_ns + 3000,
                          .flags    = GGS_RUN_OPAQUE,
                          .nodes    = SMALL_NODES,
                          .empty    = 1,
                          .opaque   = 5};
    recording_run(r, &row);
    recording_step(r, step, GGS_PHASE_GENERATE, run, begin_ns, begin_ns + 3000, 1);
}

static void test_time_of_opaque_runs_is_a_row(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_trace  trace;
    struct ggs_totals t;
    small_recording(&r);
    add_opaque_run(&r, 3, 2, 5000);
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(t.ops, 8); // those that have times
    assert_int_equal(t.opaque, 5);
    assert_int_equal(t.opaque_ns, 3000);
    assert_int_equal(t.run_ns, 2 * SMALL_RUN_NS + 3000);
    assert_string_equal(t.by_op[0].name, "Vulkan0, as a whole"); // the longest
    assert_true(t.by_op[0].opaque);
    assert_int_equal(t.by_op[0].ops, 5);
    assert_int_equal(t.by_op[0].wall_ns, 3000);
    // Two rows of the embedding, which ones is not known; norm-0 is not handed on inside.
    assert_int_equal(t.by_op[0].read, 64 + 8 + 64 + 64 + 32 + 256 + 64 + 32);
    assert_int_equal(t.touched_bytes, 2 * 32 + 32 + 256); // those that the CPU read
    assert_int_equal(t.unknown_bytes, 320 - 2 * 32);      // any other row may have been
    assert_int_equal(t.pattern.uses[0].bytes, 3 * 32 - 32);
    assert_false(op_row(&t, "ADD")->opaque);
    ggs_totals_release(&t);
    recording_close(&r, &trace);
}

static void test_groups_of_opaque_runs(void ** state) {
    (void) state;
    static const enum ggs_by by[] = {GGS_BY_OP, GGS_BY_LAYER, GGS_BY_TENSOR, GGS_BY_TOKEN};
    struct ggs_groups        g[4];
    struct recording         r;
    struct ggs_trace         trace;
    small_recording(&r);
    add_opaque_run(&r, 3, 2, 5000);
    recording_done(&r, &trace);
    assert_int_equal(ggs_groups_compute_several(g, by, 4, &trace, &ggs_totals_all, &error), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(group(&g[i], "Vulkan0, as a whole")->opaque);
        assert_int_equal(group(&g[i], "Vulkan0, as a whole")->wall_ns, 3000);
    }
    assert_string_equal(g[1].group[g[1].n - 1].name, "Vulkan0, as a whole"); // behind the layers
    assert_int_equal(group(&g[0], "Vulkan0, as a whole")->read, 584);
    assert_int_equal(group(&g[2], "Vulkan0, as a whole")->read, 0); // by tensor it is known what was read
    assert_int_equal(group(&g[2], "blk.0.attn_q.weight")->read, 3 * (256 + 64));
    assert_int_equal(group(&g[3], "2")->wall_ns, 3000);
    assert_int_equal(group(&g[3], "1")->wall_ns, 4 * 65);
    for (int i = 0; i < 4; i++) ggs_groups_release(&g[i]);
    recording_close(&r, &trace);
}

// ---- groups ----

static void test_groups(void ** state) {
    (void) state;
    static const enum ggs_by by[] = {GGS_BY_OP, GGS_BY_LAYER, GGS_BY_COMPONENT, GGS_BY_TENSOR, GGS_BY_TOKEN};
    struct ggs_groups        g[5];
    struct recording         r;
    struct ggs_trace         trace;
    small_recording(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_groups_compute_several(g, by, 5, &trace, &ggs_totals_all, &error), 0);
    for (int i = 0; i < 5; i++) {
        uint64_t ops = 0, read = 0, disk = 0;
        assert_true(g[i].has_bytes);
        for (uint64_t k = 0; k < g[i].n; k++)
            ops += g[i].group[k].ops, read += g[i].group[k].read, disk += g[i].group[k].disk;
        assert_int_equal(ops, 8);
        assert_int_equal(read, 976);
        assert_int_equal(disk, 640);
    }
    assert_int_equal(g[0].n, 4);
    assert_int_equal(g[1].n, 2);
    assert_string_equal(g[1].group[0].name, "none");
    assert_int_equal(group(&g[1], "0")->ops, 6);
    assert_int_equal(group(&g[2], "Attention Q")->busy_ns, 180);
    assert_int_equal(group(&g[2], "(activations)")->ops, 2);
    assert_int_equal(group(&g[3], "blk.0.attn_norm.weight")->ops, 2); // of the node that was fused
    assert_int_equal(group(&g[3], "out-0")->written, 64);
    assert_int_equal(group(&g[4], "0")->read, 488);
    for (int i = 0; i < 5; i++) ggs_groups_release(&g[i]);
    recording_close(&r, &trace);
}

static void test_threads_have_times_and_no_bytes(void ** state) {
    (void) state;
    struct ggs_groups g;
    struct recording  r;
    struct ggs_trace  trace;
    small_recording(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_groups_compute(&g, &trace, GGS_BY_THREAD, &ggs_totals_all, &error), 0);
    assert_int_equal(g.n, 2);
    assert_false(g.has_bytes);
    assert_int_equal(g.group[0].wall_ns, 8 * 50);
    assert_int_equal(g.group[0].wait_ns, 8 * 10);
    assert_int_equal(g.group[1].wall_ns, 8 * 60);
    assert_int_equal(g.group[1].busy_ns, 8 * 60 - 2 * 20);
    assert_int_equal(g.group[1].wait_ns, 2 * 20);
    for (int i = 0; i < 2; i++) assert_int_equal(g.group[i].read + g.group[i].written + g.group[i].disk, 0);
    ggs_groups_release(&g);
    recording_close(&r, &trace);
}

// ---- overview ----

static void test_roofline(void ** state) {
    (void) state;
    struct recording    r;
    struct ggs_trace    trace;
    struct ggs_roofline roofline;
    small_recording(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_roofline_compute(&roofline, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(roofline.n, 8); // four ops in two phases
    for (uint64_t i = 0; i < roofline.n; i++) {
        const struct ggs_roofline_row * row = &roofline.row[i];
        assert_int_equal(row->ops, 1);
        assert_int_equal(row->op_runs, 2);
        assert_int_equal(row->wall_ns, 65); // thread 1 begins 5 later and takes 60
        assert_int_equal(row->bins[6], 1);
        // Thread 0 waits for thread 1, which waits for nobody: all of it is because the work was
        // uneven.
        assert_int_equal(row->shared, 1);
        assert_int_equal(row->uneven_ns, 10);
        assert_int_equal(row->barrier_ns, 0);
        if (strcmp(row->op, "MUL_MAT") != 0) {
            assert_int_equal(row->flops, -1);
            continue;
        }
        assert_int_equal(row->flops, 2 * 8 * 8 * 2); // [8, 8] times [8, 2]
        assert_int_equal(row->read, 8 * 8 * 4 + 8 * 2 * 4);
        assert_string_equal(row->component, "Attention Q");
        assert_int_equal(row->shared_ns, 50 + 40);
    }
    ggs_roofline_release(&roofline);
    struct ggs_totals_range last = {1, 1, 0};
    assert_int_equal(ggs_roofline_compute(&roofline, &trace, &last, &error), 0);
    assert_int_equal(roofline.n, 4);
    assert_int_equal(roofline.row[0].phase, GGS_PHASE_GENERATE);
    ggs_roofline_release(&roofline);
    recording_close(&r, &trace);
}

// Whose weights lie where nobody saw them come from: attention is told by what reads what.
static void test_attention_of_unknown_weights(void ** state) {
    (void) state;
    struct recording    r;
    struct ggs_trace    trace;
    struct ggs_roofline roofline;
    recording_open(&r);
    uint64_t buffer = recording_buffer(&r, 1 << 20, GGS_CLASS_COMPUTE, 0, -1), t[8];
    for (int i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i);
        t[i] = recording_tensor(&r, name, F32, 8, 8, 1, in_buffer(buffer));
    }
    uint64_t          weight = recording_tensor(&r, "leaf_0", F32, 8, 8, 1, in_buffer(buffer));
    struct ggs_tensor view   = {.type = F32, .ne = {8, 8, 1, 1}, .nb = {4, 32, 256, 256}, .buffer = buffer};
    view.source              = GGS_SOURCE_BUFFER;
    view.view                = recording_tensor(&r, "leaf_1", F32, 8, 8, 1, in_buffer(buffer));
    uint64_t keys = recording_tensor_row(&r, "", view), values = recording_tensor_row(&r, "", view);
    recording_node(&r, 1, OP_MUL_MAT, t[1], weight, t[0], 0); // queries
    recording_node(&r, 1, OP_MUL_MAT, t[2], keys, t[1], 0);   // scores
    recording_node(&r, 1, OP_ADD, t[3], t[2], t[0], 0);       // mask
    recording_node(&r, 1, OP_SOFT_MAX, t[4], t[3], 0, 0);
    recording_node(&r, 1, OP_MUL_MAT, t[5], values, t[4], 0);
    recording_node(&r, 1, OP_MUL_MAT, t[6], weight, t[5], 0); // a router
    recording_node(&r, 1, OP_SOFT_MAX, t[7], t[6], 0, 0);
    recording_run(&r, &(struct ggs_run){.run = 1, .graph = 1, .phase = GGS_PHASE_GRAPH, .begin_ns = 0, .end_ns = 90});
    for (uint64_t node = 0; node < 7; node++) recording_op_run(&r, 1, node, 0, (int64_t) node * 10, 10, 0, 0, 0);
    recording_done(&r, &trace);
    assert_int_equal(ggs_roofline_compute(&roofline, &trace, &ggs_totals_all, &error), 0);
    for (uint64_t i = 0; i < roofline.n; i++) {
        const struct ggs_roofline_row * row = &roofline.row[i];
        uint64_t expected = strcmp(row->op, "SOFT_MAX") == 0 || strcmp(row->op, "MUL_MAT") == 0 ? 20 : 0;
        assert_int_equal(row->attention_ns, expected);
    }
    ggs_roofline_release(&roofline);
    recording_close(&r, &trace);
}

static void test_stray_weights(void ** state) {
    (void) state;
    struct recording r;
    struct ggs_trace trace;
    recording_open(&r);
    recording_file(&r, "model.gguf", 10000);
    uint64_t buffer = recording_buffer(&r, 1 << 20, GGS_CLASS_COMPUTE, 0, -1);
    uint64_t weight = recording_tensor(&r, "blk.0.attn_norm.weight", F32, 8, 1, 1, in_buffer(buffer));
    // Moments of an optimizer are named after their weights.
    uint64_t first  = recording_tensor(&r, "AdamW m for blk.0.attn_norm.weight", F32, 8, 1, 1, in_buffer(buffer));
    uint64_t second = recording_tensor(&r, "AdamW v for blk.0.attn_norm.weight", F32, 8, 1, 1, in_buffer(buffer));
    recording_node(&r, 1, OP_OPT_STEP_ADAMW, weight, weight, first, second);
    recording_done(&r, &trace);
    struct ggs_stray_weights stray = ggs_trace_stray_weights(&trace);
    assert_int_equal(stray.n, 1);
    assert_int_equal(stray.bytes, 32);
    recording_close(&r, &trace);
}

static void test_limits(void ** state) {
    (void) state;
    static const char list[] = "[{\"threads\": 1, \"memory_bytes_per_second\": 10, \"flops_per_second\": 5},"
                               " {\"threads\": 4, \"memory_bytes_per_second\": 30}, 7]";
    static const char one[]  = "{\"memory_bytes_per_second\": 9, \"threads\": 2}";
    struct ggs_limits limits;
    ggs_limits_read(&limits, ggs_json_read(list, strlen(list)));
    assert_int_equal(limits.n, 2);
    assert_int_equal(ggs_limits_of(&limits, 1).memory_bytes_per_second, 10);
    assert_int_equal(ggs_limits_of(&limits, 2).memory_bytes_per_second, 30);
    assert_int_equal(ggs_limits_of(&limits, 64).memory_bytes_per_second, 30);
    assert_int_equal(ggs_limits_of(&limits, 64).flops_per_second, 0);
    ggs_limits_read(&limits, ggs_json_read(one, strlen(one)));
    assert_int_equal(limits.n, 1);
    assert_int_equal(ggs_limits_of(&limits, 1).memory_bytes_per_second, 9);
    ggs_limits_read(&limits, (struct ggs_json_value){0});
    assert_int_equal(ggs_limits_of(&limits, 1).memory_bytes_per_second, 0);
}

static void test_overview(void ** state) {
    (void) state;
    struct recording    r;
    struct ggs_trace    trace;
    struct ggs_overview o;
    with_warmup(&r);
    add_opaque_run(&r, 4, 2, 5000);
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&o, &trace, &error), 0);
    assert_int_equal(o.steps, 3);
    assert_int_equal(o.warmup_steps, 1);
    assert_int_equal(o.slowest_step, 2);
    assert_int_equal(o.slowest_ns, 3000);
    assert_int_equal(o.ops, 12);
    assert_int_equal(o.rows, 3 * 5 + 5); // every node that was computed
    assert_int_equal(o.end_ns, 1000000);
    assert_int_equal(ggs_overview_find(&o, 3)->first_row, 10);
    assert_int_equal(ggs_overview_at(&o, 9)->run, 2);
    assert_int_equal(ggs_overview_at(&o, 10)->run, 3);
    assert_null(ggs_overview_at(&o, 20));
    // An opaque run has a lane of its own, and does not rename a thread's.
    assert_int_equal(o.n_lanes, 3);
    assert_string_equal(ggs_reader_string(trace.reader, o.lanes[0].backend), "CPU");
    assert_string_equal(ggs_reader_string(trace.reader, o.lanes[2].backend), "Vulkan0");
    assert_int_equal(o.lanes[2].slot, -1);
    ggs_overview_release(&o);
    recording_close(&r, &trace);
}

// An opaque run that names a thread's slot does not take over its lane.
static void test_lanes_of_opaque_runs(void ** state) {
    (void) state;
    static const int32_t tokens[] = {1};
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_overview  o;
    recording_open(&r);
    small_graph(&r, 1);
    struct ggs_run row = {.run = 1, .graph = 1, .backend = recording_string(&r, "BLAS"), .flags = GGS_RUN_OPAQUE};
    recording_run(&r, &row);
    small_run(&r, 2, 1, 0, GGS_PHASE_PROMPT, 1000, tokens, 1);
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&o, &trace, &error), 0);
    assert_int_equal(o.n_lanes, 3);
    int lane = ggs_overview_lane(&o, 0, 0);
    assert_true(lane >= 0);
    assert_string_equal(ggs_reader_string(trace.reader, o.lanes[lane].backend), "CPU");
    ggs_overview_release(&o);
    recording_close(&r, &trace);
}

// ---- gaps ----

static void test_gaps(void ** state) {
    (void) state;
    static const struct ggs_loss losses[] = {
        {.reason = GGS_LOSS_SPACE, .lane = 1, .count = 4, .run = 2},                      // in one run
        {.reason = GGS_LOSS_RING, .lane = 0, .count = 9, .begin_ns = 500, .end_ns = 900}, // before the first
        {.reason = GGS_LOSS_FAULTS, .lane = 0, .count = 5, .run = 1},                     // not of ops
        {.reason   = GGS_LOSS_SPACE,
         .lane     = 0,
         .count    = 1,
         .run      = 77,
         .begin_ns = 30,
         .end_ns   = 20}, // a run that is not there
    };
    struct recording r;
    struct ggs_trace trace;
    struct ggs_gaps  g;
    small_recording(&r);
    for (unsigned i = 0; i < 4; i++) recording_row(&r, GGS_TABLE_LOSSES, &losses[i]);
    recording_done(&r, &trace);
    assert_int_equal(ggs_gaps_list(&g, &trace, 0, INT64_MAX, &error), 0);
    assert_int_equal(g.n, 3);
    assert_int_equal(g.gap[0].begin_ns, 30);
    assert_int_equal(g.gap[0].end_ns, 30);
    assert_int_equal(g.gap[1].end_ns, 900);
    assert_int_equal(g.gap[2].begin_ns, SMALL_BEGIN + SMALL_APART); // reaches over the run
    assert_int_equal(g.gap[2].end_ns, SMALL_BEGIN + SMALL_APART + SMALL_RUN_NS);
    assert_int_equal(g.gap[2].count, 4);
    ggs_gaps_release(&g);
    assert_int_equal(ggs_gaps_list(&g, &trace, 900, 1000, &error), 0);
    assert_int_equal(g.n, 1);
    ggs_gaps_release(&g);
    recording_close(&r, &trace);
}

// ---- buffers ----

static void test_occupancy(void ** state) {
    (void) state;
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_occupancy o;
    uint64_t             curve[4];
    recording_open(&r);
    recording_buffer(&r, 1000, GGS_CLASS_WEIGHTS, 0, -1);
    recording_buffer(&r, 500, GGS_CLASS_COMPUTE, 100000, 600000);
    recording_buffer(&r, 700, GGS_CLASS_COMPUTE, 600000, 900000); // takes the place of the one before
    struct ggs_buffer mapped = {.buffer = 4, .size = 9999, .class_ = GGS_CLASS_WEIGHTS, .file = 1, .end_ns = -1};
    recording_row(&r, GGS_TABLE_BUFFERS, &mapped);
    struct ggs_transfer t = {.kind = GGS_TRANSFER_SET, .to_buffer = 1, .bytes = 40, .duration_ns = 3};
    recording_row(&r, GGS_TABLE_TRANSFERS, &t);
    recording_row(&r, GGS_TABLE_TRANSFERS, &t);
    t.to_buffer = 2;
    recording_row(&r, GGS_TABLE_TRANSFERS, &t);
    recording_done(&r, &trace);
    assert_int_equal(ggs_occupancy_compute(&o, &trace, &error), 0);
    assert_int_equal(o.peak_bytes, 1700);
    assert_int_equal(o.peak_ns, 600000);
    assert_int_equal(o.class_peak[GGS_CLASS_COMPUTE], 700);
    assert_int_equal(o.mapped_bytes, 9999);
    assert_int_equal(o.n_events, 5);
    assert_int_equal(o.n_transfers, 2);
    assert_int_equal(o.transfers[0].count, 2);
    assert_int_equal(o.transfers[0].bytes, 80);
    ggs_occupancy_curve(&o, curve, 4); // quarters of a millisecond
    assert_int_equal(curve[0], 1500);
    assert_int_equal(curve[1], 1500);
    assert_int_equal(curve[2], 1700);
    assert_int_equal(curve[3], 1700);
    ggs_occupancy_release(&o);
    recording_close(&r, &trace);
}

// ---- heat ----

static const struct ggs_heat_place * heat_of(const struct ggs_heat * heat, const struct ggs_model_map * map,
                                             const char * name) {
    for (uint64_t i = 0; i < map->n; i++)
        if (strcmp(map->places[i].name, name) == 0) return &heat->places[i];
    fail_msg("no place %s", name);
    return NULL;
}

static void test_heat(void ** state) {
    (void) state;
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_model_map map;
    struct ggs_heat      heat;
    struct ggs_totals    t;
    with_warmup(&r);
    recording_done(&r, &trace);
    assert_int_equal(ggs_model_map_make(&map, &trace, &error), 0);
    assert_int_equal(map.n, 3);
    assert_int_equal(map.from_trace, 1);
    assert_int_equal(ggs_model_map_find(&map, 1, 3255), 2);
    assert_int_equal(ggs_model_map_find(&map, 1, 3256), -1);
    assert_int_equal(ggs_heat_compute(&heat, &trace, &map, 0, INT64_MAX, &error), 0);
    assert_int_equal(heat_of(&heat, &map, "token_embd.weight")->reads, 2);
    assert_int_equal(heat_of(&heat, &map, "token_embd.weight")->bytes, 64);
    assert_int_equal(heat_of(&heat, &map, "blk.0.attn_q.weight")->reads, 2);
    assert_int_equal(heat_of(&heat, &map, "blk.0.attn_q.weight")->bytes, 512);
    assert_int_equal(heat_of(&heat, &map, "blk.0.attn_q.weight")->last_run, 3);
    assert_int_equal(heat_of(&heat, &map, "blk.0.attn_norm.weight")->last_node, 1); // at the head
    assert_int_equal(heat.buffers[0].writes, 8);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(heat.touched_bytes, t.touched_bytes); // both ways to the same number
    assert_int_equal(heat.model_bytes, t.model_bytes);
    ggs_totals_release(&t);
    ggs_heat_release(&heat);
    ggs_model_map_release(&map);
    recording_close(&r, &trace);
}

static void test_heat_of_opaque_runs(void ** state) {
    (void) state;
    struct recording     r;
    struct ggs_trace     trace;
    struct ggs_model_map map;
    struct ggs_heat      heat;
    recording_open(&r);
    small_graph(&r, 1);
    add_opaque_run(&r, 1, 0, 5000);
    add_opaque_run(&r, 2, 1, 9000);
    recording_done(&r, &trace);
    assert_int_equal(ggs_model_map_make(&map, &trace, &error), 0);
    assert_int_equal(ggs_heat_compute(&heat, &trace, &map, 0, INT64_MAX, &error), 0);
    assert_int_equal(heat_of(&heat, &map, "blk.0.attn_q.weight")->reads, 2); // not "never touched"
    assert_int_equal(heat_of(&heat, &map, "blk.0.attn_norm.weight")->bytes, 64);
    assert_int_equal(heat_of(&heat, &map, "token_embd.weight")->bytes, 2 * 64); // two rows each time, whichever
    ggs_heat_release(&heat);
    ggs_model_map_release(&map);
    recording_close(&r, &trace);
}

// ---- weights ----

static void test_weights(void ** state) {
    (void) state;
    struct recording   r;
    struct ggs_trace   trace;
    struct ggs_totals  t;
    struct ggs_weights w;
    small_recording(&r);
    recording_tensor(&r, "blk.0.ffn_b.weight", F32, 8, 4, 1, in_file(1, 5000)); // that nothing reads
    recording_tensor(&r, "blk.0.ffn_a.weight", F32, 8, 4, 1, in_file(1, 6000)); // as large
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(ggs_weights_list(&w, &trace, &t, &error), 0);
    assert_int_equal(w.n, 5);
    assert_string_equal(w.weight[0].name, "blk.0.attn_q.weight");
    assert_int_equal(w.weight[0].bytes, 512);
    assert_int_equal(w.weight[0].reads, 2);
    assert_int_equal(w.bytes, 320 + 32 + 256 + 128 + 128);
    assert_int_equal(w.touched, t.touched_bytes);
    assert_int_equal(w.never, 2); // not the embedding, of which two rows were read
    assert_int_equal(w.never_bytes, 256);
    assert_int_equal(w.partial, 1);
    assert_int_equal(w.untouched_bytes, 320 - 64);
    assert_int_equal(w.n_cold, 3); // ties are all there
    assert_string_equal(w.cold[0]->name, "token_embd.weight");
    assert_string_equal(w.cold[1]->name, "blk.0.ffn_a.weight");
    assert_string_equal(w.cold[2]->name, "blk.0.ffn_b.weight");
    assert_int_equal(w.unread, 1);
    ggs_weights_release(&w);
    ggs_totals_release(&t);
    recording_close(&r, &trace);
}

// ---- devices ----

static void add_kernel(struct recording * r, uint64_t run, uint64_t node, const char * name, uint64_t ns) {
    struct ggs_kernel row = {
        .run = run, .node = node, .nodes = 1, .name = recording_string(r, name), .begin_ns = 1000, .duration_ns = ns};
    ggs_writer_append(&r->writer, GGS_TABLE_KERNELS, &row);
}

static void test_kernels_by_name(void ** state) {
    (void) state;
    struct recording        r;
    struct ggs_trace        trace;
    struct ggs_groups       groups;
    struct ggs_totals_range second = {1, 1, 0};
    small_recording(&r);
    add_kernel(&r, 1, 1, "quantize", 10);
    add_kernel(&r, 1, 1, "multiply", 40);
    add_kernel(&r, 2, 1, "quantize", 20);
    recording_done(&r, &trace);
    assert_int_equal(ggs_groups_of_kernels(&groups, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(groups.n, 2);
    assert_string_equal(groups.group[0].name, "multiply"); // the longest first
    assert_int_equal(groups.group[1].wall_ns, 30);
    assert_int_equal(groups.group[1].ops, 2);
    ggs_groups_release(&groups);
    assert_int_equal(ggs_groups_of_kernels(&groups, &trace, &second, &error), 0);
    assert_int_equal(groups.n, 1);
    assert_int_equal(groups.group[0].wall_ns, 20);
    ggs_groups_release(&groups);
    recording_close(&r, &trace);
}

static void small_recording_with_gpu(struct recording * r, const char * name) {
    small_recording(r);
    struct ggs_device cpu = {.device = 1, .name = recording_string(r, "CPU"), .type = GGS_DEVICE_CPU},
                      gpu = {.device = 2, .name = recording_string(r, name), .type = GGS_DEVICE_GPU};
    ggs_writer_append(&r->writer, GGS_TABLE_DEVICES, &cpu);
    ggs_writer_append(&r->writer, GGS_TABLE_DEVICES, &gpu);
}

static void add_device_run(struct recording * r, uint64_t number, int64_t begin_ns, int64_t ns) {
    struct ggs_run run = {.run      = number,
                          .graph    = 1,
                          .step     = (int64_t) number - 1,
                          .phase    = GGS_PHASE_GENERATE,
                          .slot     = 1026,
                          .begin_ns = begin_ns,
                          .end_ns   = begin_ns + ns,
                          .nodes    = SMALL_NODES,
                          .executed = 1,
                          .threads  = 1,
                          .op_runs  = 1,
                          .device   = 2};
    run.first_op_run   = ggs_writer_next_row(&r->writer, GGS_TABLE_OP_RUNS);
    recording_run(r, &run);
    recording_op_run(r, number, 1, 0, begin_ns, (uint64_t) ns - 1000, 0, 0, 0);
    recording_step(r, run.step, GGS_PHASE_GENERATE, number, begin_ns, begin_ns + ns, 1);
}

// The ops of a device's first graph run have a row of their own if it compiled shaders.
static void test_first_use_is_a_row(void ** state) {
    (void) state;
    enum { MS = 1000000 };
    for (int compiles = 0; compiles < 2; compiles++) {
        struct recording  r;
        struct ggs_trace  trace;
        struct ggs_totals t;
        uint64_t          all = 0;
        small_recording_with_gpu(&r, "Vulkan0");
        add_device_run(&r, 3, 5000, 300 * MS);
        add_device_run(&r, 4, 400 * MS, compiles ? 15 * MS : 16 * MS); // a twentieth, or more
        recording_done(&r, &trace);
        assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
        for (uint64_t i = 0; i < t.n_by_op; i++) all += t.by_op[i].wall_ns;
        assert_int_equal(all, t.op_ns);
        assert_int_equal(strcmp(t.by_op[0].name, "first use of Vulkan0") == 0, compiles);
        assert_int_equal(t.by_op[0].opaque, compiles); // no op
        assert_int_equal(t.by_op[0].ops > 1, !compiles);
        if (compiles) assert_int_equal(t.by_op[0].wall_ns, 300 * MS - 1000);
        ggs_totals_release(&t);
        recording_close(&r, &trace);
    }
}

// A device that computes one op from 6000 to 7000, and transfers of which half lies inside of it.
static void test_devices(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_trace  trace;
    struct ggs_totals t;
    small_recording_with_gpu(&r, "Vulkan0");
    uint64_t          number = r.n_buffers + 1;
    struct ggs_buffer buffer = {.buffer = number, .size = 4096, .begin_ns = 0, .end_ns = -1, .device = 2};
    ggs_writer_append(&r.writer, GGS_TABLE_BUFFERS, &buffer);
    struct ggs_run run = {.run      = 3,
                          .graph    = 1,
                          .step     = 2,
                          .phase    = GGS_PHASE_GENERATE,
                          .slot     = 1026,
                          .begin_ns = 5000,
                          .end_ns   = 8000,
                          .nodes    = SMALL_NODES,
                          .executed = 1,
                          .threads  = 1,
                          .op_runs  = 1,
                          .device   = 2};
    run.first_op_run   = ggs_writer_next_row(&r.writer, GGS_TABLE_OP_RUNS);
    recording_run(&r, &run);
    recording_op_run(&r, 3, 1, 0, 6000, 1000, 0, 0, 0);
    recording_step(&r, 2, GGS_PHASE_GENERATE, 3, 5000, 8000, 1);
    struct ggs_transfer moves[] = {
        {.kind = GGS_TRANSFER_SET, .to_buffer = number, .bytes = 800, .begin_ns = 6500, .duration_ns = 1000},
        {.kind = GGS_TRANSFER_GET, .from_buffer = number, .bytes = 100, .async = 1, .begin_ns = 7600, .duration_ns = 5},
        {.kind = GGS_TRANSFER_COPY, .from_buffer = number, .to_buffer = number, .bytes = 7, .begin_ns = 7700}};
    for (int i = 0; i < 3; i++) ggs_writer_append(&r.writer, GGS_TABLE_TRANSFERS, &moves[i]);
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    const struct ggs_device_totals * device = &t.devices.device[1];
    assert_string_equal(device->name, "Vulkan0");
    assert_int_equal(device->runs, 1);
    assert_int_equal(device->timed_runs, 1);
    assert_int_equal(device->op_ns, 1000);
    uint64_t busy = 0;
    for (int i = 0; i < GGS_DEVICE_BINS; i++) busy += device->bins[i];
    assert_int_equal(busy, 1000);
    assert_int_equal(device->in.count, 1);
    assert_int_equal(device->in.bytes, 800);
    assert_int_equal(device->in.overlap_ns, 500);
    assert_int_equal(device->out.bytes, 100); // what stays inside is not moved
    assert_int_equal(device->out.timed, 0);
    assert_true(ggs_device_busy(&t.devices, device) > 0);
    assert_int_equal(t.estimate.runs, 0); // all runs have op times
    double to[4] = {0}, from[4] = {0};
    assert_int_equal(ggs_device_transfers(&trace, 6000, 8000, 4, to, from, &error), 0);
    assert_true(to[1] == 400 && to[2] == 400 && to[0] == 0 && from[3] == 100 && from[2] == 0);
    ggs_totals_release(&t);
    // The host computed the same op in the same phase: that is another row, because only its limits
    // are known.
    struct ggs_roofline roofline;
    assert_int_equal(ggs_roofline_compute(&roofline, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(roofline.n, 9);
    assert_true(roofline.row[0].on_device && roofline.row[0].wall_ns == 1000);
    for (uint64_t i = 1; i < roofline.n; i++) assert_false(roofline.row[i].on_device);
    ggs_roofline_release(&roofline);
    recording_close(&r, &trace);
}

// A device with op times in one run of three: the others are taken to spend their time alike, but
// not those of another phase.
static void test_estimate(void ** state) {
    (void) state;
    struct recording  r;
    struct ggs_trace  trace;
    struct ggs_totals t;
    small_recording_with_gpu(&r, "CUDA0");
    for (uint64_t i = 0; i < 3; i++) {
        struct ggs_run run = {.run      = 3 + i,
                              .graph    = 1,
                              .step     = 2 + (int64_t) i,
                              .phase    = i == 2 ? GGS_PHASE_PROMPT : GGS_PHASE_GENERATE,
                              .slot     = i == 0 ? 1026 : -1,
                              .begin_ns = 5000 + 5000 * (int64_t) i,
                              .end_ns   = i == 0 ? 9000 : 5000 + 5000 * (int64_t) i + 2000,
                              .nodes    = SMALL_NODES,
                              .executed = i == 0,
                              .opaque   = i == 0 ? 0 : SMALL_NODES,
                              .threads  = 1,
                              .op_runs  = i == 0,
                              .flags    = i == 0 ? 0 : GGS_RUN_OPAQUE,
                              .device   = 2};
        run.first_op_run   = ggs_writer_next_row(&r.writer, GGS_TABLE_OP_RUNS);
        recording_run(&r, &run);
        if (i == 0) recording_op_run(&r, 3, 1, 0, 6000, 1000, 0, 0, 0);
        recording_step(&r, run.step, run.phase, run.run, run.begin_ns, run.end_ns, 1);
    }
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&t, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(t.estimate.runs, 1); // nothing says what the prompt's run did
    assert_int_equal(t.estimate.run_ns, 2000);
    assert_int_equal(t.estimate.from_runs, 1);
    assert_int_equal(t.estimate.from_ns, 4000);
    assert_int_equal(t.estimate.n, 1);
    assert_int_equal(t.estimate.op[0].wall_ns, 1500); // a quarter of 4000 was seen, a quarter of 2000 is estimated
    assert_true(ggs_spread_quartiles(&t.devices.device[1].timed_run).median == 4000);
    assert_true(ggs_spread_quartiles(&t.devices.device[1].whole_run).median == 2000);
    ggs_totals_release(&t);
    recording_close(&r, &trace);
}

// A run that a device still works on has no lane beside the one of the device's queue.
static void test_lanes_of_interrupted_runs(void ** state) {
    (void) state;
    struct recording    r;
    struct ggs_trace    trace;
    struct ggs_overview o;
    small_recording_with_gpu(&r, "Vulkan0");
    for (uint64_t i = 0; i < 2; i++) {
        struct ggs_run run = {.run      = 3 + i,
                              .graph    = 1,
                              .step     = -1,
                              .slot     = i == 0 ? 1026 : -1,
                              .begin_ns = 5000 + 5000 * (int64_t) i,
                              .end_ns   = i == 0 ? 9000 : 10000,
                              .threads  = i == 0,
                              .flags    = i == 0 ? 0 : GGS_RUN_INTERRUPTED,
                              .device   = 2};
        recording_run(&r, &run);
    }
    recording_done(&r, &trace);
    assert_int_equal(ggs_overview_compute(&o, &trace, &error), 0);
    assert_int_equal(o.interrupted_runs, 1);
    assert_true(ggs_overview_lane(&o, 1026, 0) >= 0);
    assert_int_equal(ggs_overview_whole(&o, 2), -1);
    ggs_overview_release(&o);
    recording_close(&r, &trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_by_name),
        cmocka_unit_test(test_first_use_is_a_row),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_time_between_decodes),
        cmocka_unit_test(test_weights_of_unknown_origin),
        cmocka_unit_test(test_steal_is_apart),
        cmocka_unit_test(test_totals_of_a_part),
        cmocka_unit_test(test_time_of_opaque_runs_is_a_row),
        cmocka_unit_test(test_groups_of_opaque_runs),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_threads_have_times_and_no_bytes),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_attention_of_unknown_weights),
        cmocka_unit_test(test_stray_weights),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_overview),
        cmocka_unit_test(test_lanes_of_opaque_runs),
        cmocka_unit_test(test_lanes_of_interrupted_runs),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_same_op),
        cmocka_unit_test(test_heat),
        cmocka_unit_test(test_heat_of_opaque_runs),
        cmocka_unit_test(test_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
