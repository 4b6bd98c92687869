// struct ggs_stream in single cases: what each of its parts promises, on a disk whose reads end
// when the test says so, or on one that is good.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/system/cache.h"
#include "stream-world.h"
#include "stream/core.h"
#include "stream/weights/expert-slots.h"
#include "stream/weights/predict.h"
#include "stream/weights/routers.h"
#include "trace/spool.h"

static const struct ggs_stream_settings usual = {.predict = -1};
static const struct shape moe   = {.layers = 4, .dense = 2, .experts = 16, .used = 3, .inputs = 32, .expert_rows = 200};
static const struct shape dense = {.layers = 8, .dense = 4, .inputs = 32};

static struct model  model;
static struct graph  token, prompt;
static struct random dice = {7};

static void begin(const struct shape * shape) {
    memset(&faults, 0, sizeof(faults));
    assert_true(model_make(&model, shape, 5));
    faulty_file(&model);
    graph_make(&token, &model, 0, shape->layers, 1);
    graph_make(&prompt, &model, 0, shape->layers, 40);
}

static void map_and_choose(struct world * w) {
    model_map(&model, w->stream);
    graph_choose(&token, &dice);
    graph_choose(&prompt, &dice);
}

static void end(struct world * w) {
    model_unmap(&model, w->stream);
    world_end(w);
    graph_release(&token);
    graph_release(&prompt);
    model_remove(&model);
}

static void begin_world(struct world * w, const struct shape * shape, double share) {
    begin(shape);
    world_make(w, &usual, limit_for(&model, share), false);
    map_and_choose(w);
}

static struct ggs_stream_counts counts(struct world * w) {
    ggs_stream_lock(w->stream);
    struct ggs_stream_counts counts = w->stream->counts;
    ggs_stream_unlock(w->stream);
    return counts;
}

static uint64_t divided(struct world * w) {
    ggs_stream_lock(w->stream);
    uint64_t bytes = w->stream->budget.divided;
    ggs_stream_unlock(w->stream);
    return bytes;
}

// How often something is repeated until a wrong byte shows. A race shows in the first ones, and
// ThreadSanitizer is 50 times slower.
#if defined(__SANITIZE_THREAD__)
enum { OFTEN = 20 };
#else
enum { OFTEN = 100 };
#endif

static void run(struct world * w, struct graph * g, int times) {
    for (int i = 0; i < times; i++) {
        graph_choose(g, &dice);
        assert_true(graph_run(g, w->stream, 2));
    }
}

static void wait_until_idle(struct world * w) {
    for (;;) {
        ggs_stream_lock(w->stream);
        bool idle = w->stream->reading == 0;
        ggs_stream_unlock(w->stream);
        if (idle) return;
        usleep(200);
    }
}

// ---- arrivals ----

static void test_arrival(void ** state) {
    (void) state;
    struct world w;
    char         to[8192] __attribute__((aligned(4096)));
    begin(&dense);
    world_make(&w, &usual, limit_for(&model, 0.5), true);
    struct ggs_stream * s    = w.stream;
    struct ggs_arrival  a    = {0};
    struct ggs_span     span = ggs_span_of(5000, 700, 512);
    assert_true(span.offset == 4608 && span.bytes == 1536 && span.needed == 1092 && span.delta == 392);
    ggs_stream_lock(s);
    assert_false(ggs_arrival_cancel(&a));
    ggs_arrival_read(s, &a, 3, &span, to, false, GGS_READ_SOON);
    assert_true(a.state == GGS_ARRIVAL_READING && s->reading == 1 && s->filling == 0);
    assert_true(ggs_arrival_cancel(&a)); // in time
    assert_true(a.state == GGS_ARRIVAL_EMPTY && s->reading == 0);
    ggs_arrival_read(s, &a, 3, &span, to, false, GGS_READ_IDLE);
    assert_int_equal(s->filling, 1);
    w.held.refuses = true;
    assert_false(ggs_arrival_cancel(&a)); // too late: it is still to come
    assert_int_equal(a.state, GGS_ARRIVAL_READING);
    ggs_stream_unlock(s);
    assert_true(held_disk_finish(&w.held, UINT64_MAX, false));
    ggs_stream_lock(s); // what is missing is no failure: nobody wants it
    assert_true(a.state == GGS_ARRIVAL_EMPTY && s->reading == 0 && s->filling == 0 && !ggs_arrival_wait(&a));
    ggs_arrival_read(s, &a, 3, &span, to, false, GGS_READ_NOW);
    ggs_stream_unlock(s);
    assert_true(held_disk_finish(&w.held, UINT64_MAX, false));
    ggs_stream_lock(s);
    assert_true(a.state == GGS_ARRIVAL_FAILED && s->reading == 0 && !ggs_arrival_wait(&a));
    ggs_arrival_read(s, &a, 3, &span, to, true, GGS_READ_NOW); // the data begins where memory does
    ggs_stream_unlock(s);
    assert_true(held_disk_finish(&w.held, UINT64_MAX, true));
    ggs_stream_lock(s);
    assert_true(ggs_arrival_wait(&a) && a.state == GGS_ARRIVAL_READY);
    assert_memory_equal(to, model.image + 5000, 700);
    ggs_arrival_clear(&a);
    assert_int_equal(a.state, GGS_ARRIVAL_EMPTY);
    ggs_stream_unlock(s);
    world_end(&w);
    graph_release(&token);
    graph_release(&prompt);
    model_remove(&model);
}

// ---- weights ----

static void test_weights(void ** state) {
    (void) state;
    struct ggs_weight_table table = {0};
    struct ggs_stream_file  file  = {.alignment = 4096};
    struct ggs_weight *     w     = ggs_weight_table_at(&table, &file, 4096, 100000);
    assert_ptr_equal(ggs_weight_table_at(&table, &file, 4096, 100000), w);
    assert_ptr_not_equal(ggs_weight_table_at(&table, &file, 4096, 200000), w);
    for (uint64_t i = 0; i < 40000; i++) assert_non_null(ggs_weight_table_at(&table, &file, i * 32 + 8192, 96));
    assert_ptr_equal(ggs_weight_table_at(&table, &file, 4096, 100000), w);
    assert_int_equal(ggs_weight_table_total(&table), 300000 + 40000 * 96);
    struct ggs_expert_group *a = ggs_weight_table_add_group(&table, 8, 2, 3, 64),
                            *b = ggs_weight_table_add_group(&table, 8, 2, 4, 64),
                            *c = ggs_weight_table_add_group(&table, 8, 2, 9, 64);
    assert_ptr_equal(ggs_weight_table_group_after(&table, a), b);
    assert_null(ggs_weight_table_group_after(&table, b));
    assert_null(ggs_weight_table_group_after(&table, c));
    for (uint32_t k = 0; k < GGS_GROUP_WEIGHTS; k++) assert_true(ggs_expert_group_add(a, table.weights[k]));
    assert_false(ggs_expert_group_add(a, table.weights[9]));
    assert_int_equal(w->expert_bytes, 12500);
    ggs_weight_table_release(&table);
}

// Files and sizes whose differences cancel out in a key are not taken for each other.
static void test_places(void ** state) {
    (void) state;
    struct ggs_weight_table  table = {0};
    struct ggs_stream_file * files = calloc(1 << 20, sizeof(*files));
    assert_non_null(files);
    for (uint32_t i = 0; i < 20; i++) {
        for (uint64_t bytes = 4096; bytes < 4096 + 512; bytes += 2) {
            const struct ggs_stream_file * file = (const void *) ((char *) files + ((size_t) i << 17));
            const struct ggs_weight *      w    = ggs_weight_table_at(&table, file, 4096, bytes);
            assert_true(w == NULL || (w->file == file && w->bytes == bytes));
        }
    }
    ggs_weight_table_release(&table);
    free(files);
}

// ---- dense weights ----

static void test_dense(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &dense, 0.5);
    run(&w, &token, 20);
    struct ggs_stream_facts facts = ggs_stream_facts(w.stream);
    assert_true(facts.sizes.kept > 0 && facts.sizes.streamed > 0 && facts.sizes.ring > 0);
    assert_int_equal(facts.counts.mapped, 0);
    assert_int_equal(facts.counts.bytes_kept, facts.sizes.kept); // once
    assert_in_range(facts.counts.bytes_streamed, 20 * facts.sizes.streamed, 22 * facts.sizes.streamed);
    end(&w);
}

// A graph that was not expected: what was read ahead for another is dropped, and nothing is wrong.
static void test_other_graphs(void ** state) {
    (void) state;
    struct world w;
    struct graph piece[6];
    begin_world(&w, &dense, 0.5);
    for (uint32_t i = 0; i < 6; i++) graph_make(&piece[i], &model, i, i + 1, 1);
    run(&w, &token, 2);
    for (int i = 0; i < 60; i++) {
        uint64_t k = random_below(&dice, 8);
        graph_run(k < 6 ? &piece[k] : &token, w.stream, 1);
    }
    assert_true(counts(&w).runs > 50);
    for (uint32_t i = 0; i < 6; i++) graph_release(&piece[i]);
    end(&w);
}

// ---- experts ----

static void test_experts(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.6);
    run(&w, &token, 30);
    struct ggs_stream_counts c = counts(&w);
    assert_true(c.hits > 0 && c.misses > 0); // how many of each is a matter of time
    assert_int_equal(c.mapped, 0);
    assert_int_equal(c.hits + c.misses, 30 * moe.layers * moe.used);
    end(&w);
}

// Slots that are empty are filled while nothing else is read; then nothing is read in vain.
static void test_fill(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.6);
    run(&w, &token, 1);
    wait_until_idle(&w);
    ggs_stream_lock(w.stream);
    for (size_t i = 0; i < w.stream->weights.n_groups; i++) {
        const struct ggs_expert_group * g = w.stream->weights.groups[i];
        for (uint32_t k = 0; k < g->n_slots; k++) {
            assert_true(g->slots[k].expert >= 0 && g->slot_of[g->slots[k].expert] == (int32_t) k);
            for (uint32_t n = 0; n < 3; n++) assert_int_equal(g->weights[n]->arrivals[k].state, GGS_ARRIVAL_READY);
        }
    }
    ggs_stream_unlock(w.stream);
    uint64_t filled = counts(&w).bytes_filled;
    assert_true(filled > 0);
    run(&w, &token, 3);
    wait_until_idle(&w);
    assert_int_equal(counts(&w).bytes_filled, filled);
    end(&w);
}

// Bytes of the experts that a graph chooses.
static uint64_t chosen_bytes(const struct graph * g) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < moe.layers; i++) {
        for (uint32_t e = 0; e < moe.experts; e++) {
            bool chosen = false;
            for (uint32_t t = 0; t < g->n_tokens * moe.experts; t++)
                chosen |= t % moe.experts < moe.used && g->chosen[i][t] == (int32_t) e;
            for (int k = 0; k < 3 && chosen; k++) bytes += model.layers[i].experts[k].nb[2];
        }
    }
    return bytes;
}

// A prompt that chooses nearly all experts has more than there are slots: what it chooses is read
// once, none is copied, and what was there is not read again.
static void test_prompt(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    run(&w, &prompt, 1);
    wait_until_idle(&w);
    struct ggs_stream_facts  facts = ggs_stream_facts(w.stream);
    struct ggs_stream_counts c     = facts.counts, d;
    assert_true(facts.sizes.spare > 0 && facts.sizes.slots < facts.sizes.experts);
    assert_int_equal(c.mapped, 0);
    assert_in_range(c.bytes_experts + c.bytes_predicted + c.bytes_filled, chosen_bytes(&prompt), facts.sizes.experts);
    run(&w, &prompt, 1);
    wait_until_idle(&w);
    d = counts(&w);
    assert_int_equal(d.mapped, 0);
    assert_int_equal(d.bytes_filled, c.bytes_filled);
    assert_in_range(d.bytes_experts + d.bytes_predicted - c.bytes_experts - c.bytes_predicted, 1,
                    facts.sizes.experts - facts.sizes.slots * 9 / 10);
    run(&w, &token, 5);
    end(&w);
}

// Spare memory for two weights is enough for both, in whole chunks: one is read while the other is
// in use.
static void test_two_in_spare(void ** state) {
    (void) state;
    struct world           w;
    struct ggs_stream_file file = {.alignment = 4096, .mappings = 1};
    begin(&moe);
    for (uint64_t expert = 1 << 20; expert < 2 << 20; expert += 100 << 10) {
        world_make(&w, &usual, limit_for(&model, 0.5), true);
        struct ggs_stream * s = w.stream;
        ggs_stream_lock(s);
        for (uint64_t i = 0; i < 12; i++) {
            struct ggs_expert_group * g = ggs_weight_table_add_group(&s->weights, 32, 4, (int) i, 64);
            assert_non_null(g);
            for (uint64_t k = 0; k < 3; k++) {
                uint64_t            bytes = 32 * expert;
                struct ggs_weight * one   = ggs_weight_table_at(&s->weights, &file, (i * 3 + k) * bytes, bytes);
                assert_true(one != NULL && ggs_expert_group_add(g, one));
            }
        }
        uint64_t budget = 12 * 3 * 32 * expert / 2;
        assert_true(ggs_divide(s, budget));
        const struct ggs_expert_group * g    = s->weights.groups[0];
        uint64_t                        most = (32 - g->n_slots) * g->weights[0]->stride, chunk = s->spares.chunk;
        assert_true(s->spares.n >= 2 * ((most + chunk - 1) / chunk));
        assert_in_range(s->spares.n * chunk, 2 * most, 2 * most + most / 4);
        assert_in_range(s->sizes.slots + s->sizes.spare, budget - budget / 16, budget);
        ggs_divide_undo(s);
        ggs_stream_unlock(s);
        world_end(&w);
    }
    graph_release(&token);
    graph_release(&prompt);
    model_remove(&model);
}

// A few tokens read what they choose and no more.
static void test_small_prompt(void ** state) {
    (void) state;
    struct world               w;
    struct ggs_stream_settings none = {.predict = 0};
    struct graph               few;
    begin(&moe);
    world_make(&w, &none, limit_for(&model, 0.4), false);
    map_and_choose(&w);
    graph_make(&few, &model, 0, moe.layers, 3);
    run(&w, &few, 1);
    struct ggs_stream_facts facts = ggs_stream_facts(w.stream);
    assert_int_equal(facts.counts.mapped, 0);
    assert_true(facts.counts.misses > 0 && facts.counts.bytes_predicted == 0);
    assert_in_range(facts.counts.bytes_experts, 1, moe.layers * 9 * (facts.sizes.experts / moe.layers / moe.experts));
    graph_release(&few);
    end(&w);
}

// Graphs that come back to a layer: what a choice needs is left alone by what is read for the next
// one.
static void test_repeated_layers(void ** state) {
    (void) state;
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct shape shape = moe;
        shape.doubled      = i == 0;
        shape.looped       = i == 1;
        begin_world(&w, &shape, 0.45);
        run(&w, &token, OFTEN);
        assert_true(counts(&w).predicted > 0 || shape.doubled);
        run(&w, &prompt, 3);
        run(&w, &token, OFTEN / 2);
        assert_true(slots_are_sound(&w));
        end(&w);
    }
}

// Ids that an op changes in place after they were made: the changed ones count.
static void test_mended_ids(void ** state) {
    (void) state;
    struct world w;
    struct shape shape = moe;
    shape.mended       = true;
    begin_world(&w, &shape, 0.5);
    run(&w, &token, 5);
    run(&w, &prompt, 1);
    assert_int_equal(counts(&w).mapped, 0);
    end(&w);
}

// Too little memory for slots: everything goes through spare memory.
static void test_without_slots(void ** state) {
    (void) state;
    struct shape small = moe;
    struct world w;
    small.dense  = 1;
    small.layers = 8;
    begin_world(&w, &small, 0.23);
    run(&w, &token, 10);
    run(&w, &prompt, 3);
    run(&w, &token, 10);
    struct ggs_stream_facts facts = ggs_stream_facts(w.stream);
    assert_true(facts.sizes.slots == 0 && facts.sizes.spare > 0);
    assert_int_equal(facts.counts.mapped, 0);
    end(&w);
}

// The kernel cannot move pages: what does not fit the slots comes from the mapping.
static void test_without_moves(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    w.memory.refuses_moves = true;
    run(&w, &prompt, 2);
    assert_true(counts(&w).mapped > 0);
    run(&w, &token, 5);
    end(&w);
}

// ---- a read that fails while its siblings are late ----

static uint64_t late_begin, late_end, bad_begin, bad_end;
static bool     let_through;

static int fail_gate_delay_up(const struct ggs_disk_read * read, enum ggs_urgency urgency) {
    (void) urgency;
    bool late = read->offset >= late_begin && read->offset < late_end;
    if (late && !__atomic_load_n(&let_through, __ATOMIC_RELAXED)) return -1;
    return !(read->offset >= bad_begin && read->offset < __atomic_load_n(&bad_end, __ATOMIC_RELAXED));
}

static void test_failed_sibling(void ** state) {
    (void) state;
    struct world               w;
    struct pump                pump;
    struct ggs_stream_settings none = {.predict = 0};
    begin(&moe);
    uint64_t gate = (uint64_t) model.layers[1].experts[0].data, up = (uint64_t) model.layers[1].experts[1].data;
    uint64_t down = (uint64_t) model.layers[1].experts[2].data;
    bad_begin     = gate - 4096;
    __atomic_store_n(&bad_end, up - 4096, __ATOMIC_RELAXED);
    late_begin  = up - 4096;
    late_end    = down - 4096;
    let_through = false;
    world_make(&w, &none, limit_for(&model, 0.5), true);
    map_and_choose(&w);
    pump_start(&pump, &w.held, fail_gate_delay_up);
    // The gate's reads fail; up's are on their way to the same slots for all the while.
    for (int i = 0; i < 20; i++) {
        graph_choose(&token, &dice);
        graph_run(&token, w.stream, 1);
    }
    __atomic_store_n(&bad_end, bad_begin, __ATOMIC_RELAXED);
    __atomic_store_n(&let_through, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 10; i++) {
        graph_choose(&token, &dice);
        graph_run(&token, w.stream, 1);
    }
    assert_true(counts(&w).failed > 0 && counts(&w).mapped > 0);
    model_unmap(&model, w.stream);
    pump_end(&pump);
    world_end(&w);
    graph_release(&token);
    graph_release(&prompt);
    model_remove(&model);
}

// ---- two in one process ----

struct other {
    struct model model;
    struct world world;
    struct graph graph;
};

static void * run_other(void * argument) {
    struct other * o = argument;
    struct random  r = {99};
    for (int i = 0; i < 20; i++) {
        graph_choose(&o->graph, &r);
        graph_run(&o->graph, o->world.stream, 2);
    }
    return NULL;
}

static void test_two_streams(void ** state) {
    (void) state;
    static struct other o; // of the same model: the disk has one file
    struct world        w;
    pthread_t           thread;
    begin_world(&w, &moe, 0.5);
    world_make(&o.world, &usual, limit_for(&model, 0.3), false);
    assert_true(ggs_stream_map(o.world.stream, model.fd, model.mapped, model.size, 0));
    graph_make(&o.graph, &model, 0, moe.layers, 2);
    assert_int_equal(pthread_create(&thread, NULL, run_other, &o), 0);
    run(&w, &token, 20);
    pthread_join(thread, NULL);
    assert_int_equal(counts(&w).runs, 20);
    assert_int_equal(counts(&o.world).runs, 20);
    world_end(&o.world);
    graph_release(&o.graph);
    end(&w);
}

// ---- models that come and go ----

static void test_many_models(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    for (int i = 0; i < 600; i++) {
        model_unmap(&model, w.stream);
        model_map(&model, w.stream);
    }
    run(&w, &token, 3);
    assert_int_equal(counts(&w).runs, 3);
    assert_null(ggs_files_at(&w.stream->files, 1));
    end(&w);
}

static void test_parts_of_mappings(void ** state) {
    (void) state;
    struct ggs_files f = {.lock = PTHREAD_MUTEX_INITIALIZER};
    uint64_t         offset;
    begin(&dense);
    char * base = (char *) 0x7f0000000000;
    assert_true(ggs_files_add_mapping(&f, model.fd, base, 1 << 20, 4096));
    ggs_files_unmapped(&f, base + 65536, 65536); // in the middle
    assert_non_null(ggs_files_find(&f, base + 100, 1000, &offset));
    assert_int_equal(offset, 4196);
    assert_null(ggs_files_find(&f, base + 65000, 1000, &offset));
    assert_null(ggs_files_find(&f, base + 70000, 10, &offset));
    assert_non_null(ggs_files_find(&f, base + 131072, 10, &offset));
    assert_int_equal(offset, 131072 + 4096);
    assert_true(ggs_files_touches(&f, base + 65000, 1000) && !ggs_files_touches(&f, base + 66000, 1000));
    assert_true(ggs_files_may_touch(&f, base) && !ggs_files_may_touch(&f, base - 1));
    ggs_files_unmapped(&f, base - 4096, 8192); // the begin
    assert_null(ggs_files_find(&f, base, 1, &offset));
    assert_int_equal(ggs_files_at(&f, 0)->mappings, 2);
    ggs_files_add_copy(&f, base + 8192, 4096);
    assert_int_equal(ggs_files_copied(&f), 4096);
    ggs_files_unmapped(&f, base, 1 << 20);
    assert_null(ggs_files_at(&f, 0));
    assert_false(ggs_files_touches(&f, base, 1 << 20));
    ggs_files_release(&f);
    graph_release(&token);
    graph_release(&prompt);
    model_remove(&model);
}

struct unmapping {
    struct world * world;
    bool           done;
};

static void * unmap(void * argument) {
    struct unmapping * u = argument;
    ggs_stream_unmap(u->world->stream, model.mapped, model.size);
    __atomic_store_n(&u->done, true, __ATOMIC_RELEASE);
    return NULL;
}

// Whoever unmaps a model that is in use waits until the graph has ended.
static void test_unmap_waits(void ** state) {
    (void) state;
    struct world     w;
    struct unmapping u = {&w, false};
    pthread_t        thread;
    begin_world(&w, &moe, 0.5);
    run(&w, &token, 1);
    assert_true(ggs_stream_enter(w.stream, &token.graph));
    assert_int_equal(pthread_create(&thread, NULL, unmap, &u), 0);
    usleep(20000);
    assert_false(__atomic_load_n(&u.done, __ATOMIC_ACQUIRE));
    ggs_stream_leave(w.stream);
    pthread_join(thread, NULL);
    assert_int_equal(w.stream->weights.n, 0);
    ggs_stream_map(w.stream, model.fd, model.mapped, model.size, 0);
    run(&w, &token, 2);
    // The thread that runs the graph itself: weights are forgotten when it has ended.
    assert_true(ggs_stream_enter(w.stream, &token.graph));
    ggs_stream_unmap(w.stream, model.mapped, model.size);
    assert_true(w.stream->weights.n > 0);
    ggs_stream_leave(w.stream);
    assert_int_equal(w.stream->weights.n, 0);
    end(&w);
}

// While weights are forgotten, which waits for reads in flight, no graph is streamed: its weights
// would be freed under it.
static void test_forget_alone(void ** state) {
    (void) state;
    struct world     w;
    struct unmapping u = {&w, false};
    pthread_t        thread;
    begin(&dense);
    world_make(&w, &usual, limit_for(&model, 0.5), true);
    map_and_choose(&w);
    assert_true(ggs_stream_enter(w.stream, &token.graph)); // reads ahead
    w.held.refuses = true;
    ggs_stream_leave(w.stream);
    assert_int_equal(pthread_create(&thread, NULL, unmap, &u), 0);
    ggs_stream_lock(w.stream);
    while (!w.stream->draining) {
        ggs_stream_unlock(w.stream);
        sched_yield();
        ggs_stream_lock(w.stream);
    }
    ggs_stream_unlock(w.stream);
    assert_false(ggs_stream_enter(w.stream, &token.graph));
    held_disk_finish_all(&w.held);
    pthread_join(thread, NULL);
    assert_int_equal(w.stream->weights.n, 0);
    end(&w);
}

// ---- memory ----

static void test_fits(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 1.2);
    ggs_stream_leave_out(w.stream);
    assert_false(graph_run(&token, w.stream, 2));
    assert_int_equal(ggs_stream_now(w.stream), GGS_STREAM_PASSIVE);
    assert_non_null(strstr(w.said, "fits into memory"));
    // Others take so much that it no longer does.
    __atomic_store_n(&w.memory.taken, model.size / 2, __ATOMIC_RELAXED);
    for (int i = 0; i < 1000 && !graph_run(&token, w.stream, 1); i++) usleep(1000);
    assert_int_equal(ggs_stream_now(w.stream), GGS_STREAM_ON);
    run(&w, &token, 3);
    end(&w);
}

static void test_too_little(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.02);
    for (int i = 0; i < 50; i++) {
        assert_false(graph_run(&token, w.stream, 1));
        usleep(1000);
    }
    const char * line = strstr(w.said, "are too little to stream this model");
    assert_non_null(line);
    assert_null(strstr(line + 20, "too little")); // once
    assert_true(ggs_stream_facts(w.stream).sizes.too_little);
    // There is more: it is streamed.
    __atomic_store_n(&w.memory.limit, limit_for(&model, 0.5), __ATOMIC_RELAXED);
    for (int i = 0; i < 1000 && !graph_run(&token, w.stream, 1); i++) usleep(1000);
    assert_int_equal(ggs_stream_now(w.stream), GGS_STREAM_ON);
    end(&w);
}

// Memory is taken away while a graph runs, and between runs: it is given back, and nothing is
// wrong.
static void test_given_back(void ** state) {
    (void) state;
    for (int i = 0; i < 2; i++) {
        struct world w;
        begin_world(&w, i == 0 ? &moe : &dense, 0.7);
        run(&w, &token, 5);
        wait_until_idle(&w);
        __atomic_store_n(&w.memory.taken, model.size / 4, __ATOMIC_RELAXED);
        while (counts(&w).bytes_given == 0) usleep(1000);
        for (int k = 0; k < OFTEN; k++) { // first what is left is divided, then all that came back
            struct graph * g = k % (OFTEN / 4) == 0 ? &prompt : &token;
            graph_choose(g, &dice);
            graph_run(g, w.stream, 1);
            if (k == OFTEN / 2) __atomic_store_n(&w.memory.taken, 0, __ATOMIC_RELAXED);
        }
        end(&w);
    }
}

static void test_no_pages(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    w.memory.refuses_pages = true;
    assert_false(graph_run(&token, w.stream, 2));
    assert_non_null(strstr(w.said, "too little"));
    end(&w);
}

// A file system without O_DIRECT: it is said once, and the model is left alone.
static void test_no_direct_reads(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    close(w.stream->files.files->direct);
    w.stream->files.files->direct = -1;
    for (int i = 0; i < 20; i++) {
        assert_false(graph_run(&token, w.stream, 2));
        usleep(1000);
    }
    const char * line = strstr(w.said, "has no direct reads");
    assert_non_null(line);
    assert_null(strstr(line + 1, "has no direct reads")); // once
    assert_int_equal(ggs_stream_now(w.stream), GGS_STREAM_PASSIVE);
    end(&w);
}

static bool cannot_start(struct ggs_disk * disk) {
    (void) disk;
    return false;
}

static void test_no_threads(void ** state) {
    (void) state;
    struct world w;
    begin(&moe);
    world_make(&w, &usual, limit_for(&model, 0.5), true);
    map_and_choose(&w);
    w.held.disk.start = cannot_start;
    assert_false(graph_run(&token, w.stream, 2));
    assert_int_equal(ggs_stream_now(w.stream), GGS_STREAM_OFF);
    assert_non_null(strstr(w.said, "no thread can be had"));
    end(&w);
}

// Everybody waits for memory: some of it goes back.
static void test_stalled(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.6);
    run(&w, &token, 2);
    uint64_t before  = divided(&w);
    w.memory.stalled = 30;
    while (divided(&w) >= before) {
        graph_run(&token, w.stream, 1);
        usleep(1000);
    }
    end(&w);
}

// ---- files that change ----

static void test_changed(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    run(&w, &token, 2);
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(futimens(model.fd, times), 0);
    assert_false(graph_run(&token, w.stream, 2));
    assert_non_null(strstr(w.said, "the model file was changed while in use"));
    assert_int_equal(ggs_stream_now(w.stream), GGS_STREAM_OFF);
    assert_int_equal(w.memory.committed, 0); // the page cache needs it
    end(&w);
}

static void test_verify(void ** state) {
    (void) state;
    struct world               w;
    struct ggs_stream_settings verify = {.predict = -1, .verify = true};
    begin(&moe);
    world_make(&w, &verify, limit_for(&model, 0.5), false);
    map_and_choose(&w);
    run(&w, &token, 5);
    assert_true(counts(&w).verified > 0);
    // The disk gives other bytes than the file has: they are handed to no op, and it is said.
    wait_until_idle(&w);
    faults.corrupt = 1;
    for (int i = 0; i < 20; i++) {
        graph_choose(&token, &dice);
        graph_run(&token, w.stream, 2);
    }
    assert_non_null(strstr(w.said, "differs from the file"));
    assert_int_equal(ggs_stream_now(w.stream), GGS_STREAM_OFF);
    assert_int_equal(w.memory.committed, 0);
    end(&w);
}

// Also what arrived before an op needed it, and each time that it is used.
static void test_verify_all(void ** state) {
    (void) state;
    struct world               w;
    struct ggs_stream_settings verify = {.verify = true};
    begin(&dense);
    world_make(&w, &verify, limit_for(&model, 0.5), false);
    map_and_choose(&w);
    run(&w, &token, 5);
    struct ggs_stream_facts facts = ggs_stream_facts(w.stream);
    assert_true(facts.counts.mapped == 0 && facts.sizes.kept > 0);
    assert_int_equal(facts.counts.verified, 5 * facts.sizes.dense);
    end(&w);
}

// ---- what a recording is told ----

static struct ggs_journal_streamed_use noted[4096];
static uint64_t                        n_noted;

static void note(const struct ggs_journal_streamed_use * uses, uint64_t n) {
    for (uint64_t i = 0; i < n && n_noted < 4096; i++) noted[n_noted++] = uses[i];
}

static void test_note(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    w.stream->world.record_uses = note;
    n_noted                     = 0;
    run(&w, &token, 10);
    uint64_t hits = 0, misses = 0, early = 0;
    for (uint64_t i = 0; i < n_noted; i++) {
        hits += noted[i].hits;
        misses += noted[i].misses;
        early += noted[i].bytes_early;
        assert_true(noted[i].place != GGS_STREAMED_SLOTS || (noted[i].bytes_read > 0) == (noted[i].misses > 0));
    }
    struct ggs_stream_counts c = counts(&w);
    assert_int_equal(n_noted, c.uses);
    assert_int_equal(hits, 3 * c.hits);
    assert_int_equal(misses, 3 * c.misses);
    assert_true(early <= c.bytes_predicted);
    end(&w);
}

// ---- what is kept from run to run ----

// Experts of the first layer that have a score above 0 before a token has chosen, and what is
// expected to be in memory.
static uint32_t remembered(struct world * w, double * resident) {
    struct ggs_stream_settings history = {.predict = 0, .history = true};
    uint32_t                   n       = 0;
    world_make(w, &history, limit_for(&model, 0.5), false);
    map_and_choose(w);
    assert_true(ggs_stream_enter(w->stream, &token.graph));
    const struct ggs_expert_group * g = w->stream->weights.groups[0];
    for (uint32_t e = 0; e < g->n_experts; e++) n += g->score[e] > 0;
    *resident = ggs_messages_expect(w->stream).resident;
    ggs_stream_leave(w->stream);
    return n;
}

static void write_over(const char * path, const char * text, size_t n) {
    FILE * file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    fclose(file);
}

static void test_history(void ** state) {
    (void) state;
    char         folder[] = "stream-cache-XXXXXX", home[PATH_MAX], path[2 * PATH_MAX] = "", text[16384];
    struct world w;
    double       before, after;
    assert_non_null(mkdtemp(folder));
    assert_non_null(realpath(folder, home));
    setenv("XDG_CACHE_HOME", home, 1);
    begin(&moe);
    assert_int_equal(remembered(&w, &before), 0);
    run(&w, &token, 30);
    ggs_stream_remember(w.stream);
    model_unmap(&model, w.stream); // which keeps it too
    world_end(&w);
    assert_true(remembered(&w, &after) > moe.used);
    assert_true(after > before); // some are chosen more often than others
    run(&w, &token, 3);
    model_unmap(&model, w.stream);
    world_end(&w);
    // Half of the file, none of it, other numbers: what can be understood counts, and nothing
    // fails.
    snprintf(path, sizeof(path), "%s/ggscope", home);
    DIR * files = opendir(path);
    assert_non_null(files);
    for (struct dirent * entry; (entry = readdir(files)) != NULL;) {
        if (strncmp(entry->d_name, "history-", 8) == 0)
            snprintf(path, sizeof(path), "%s/ggscope/%s", home, entry->d_name);
    }
    closedir(files);
    FILE * file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof(text), file);
    fclose(file);
    assert_true(length > 100 && length < sizeof(text));
    for (size_t n = 0; n < length; n += 1 + length / 5) {
        write_over(path, text, n);
        remembered(&w, &after);
        run(&w, &token, 1);
        w.stream->settings.history = false;
        model_unmap(&model, w.stream);
        world_end(&w);
    }
    ggs_cache_remove("history");
    assert_int_equal(access(path, F_OK), -1);
    ggs_cache_remove("history");
    snprintf(path, sizeof(path), "%s/ggscope", home);
    rmdir(path);
    rmdir(home);
    unsetenv("XDG_CACHE_HOME");
    graph_release(&token);
    graph_release(&prompt);
    model_remove(&model);
}

// ---- what the user is told ----

static void test_tell(void ** state) {
    (void) state;
    struct world               w;
    struct ggs_stream_settings verbose = {.predict = -1, .verbose = true};
    char                       text[512];
    begin(&moe);
    world_make(&w, &verbose, limit_for(&model, 0.5), false);
    map_and_choose(&w);
    assert_false(ggs_stream_sum_up(w.stream, text, sizeof(text))); // nothing was streamed
    w.stream->speed = (struct ggs_speed){.random = 1000000000, .sequential = 2000000000, .depth = 8, .piece = 1 << 20};
    run(&w, &prompt, 1);
    for (int i = 0; i < 2000 && strstr(w.said, "last ") == NULL; i++) run(&w, &token, 1);
    // Every dense weight, and of experts those that a token uses.
    struct ggs_stream_facts facts = ggs_stream_facts(w.stream);
    struct ggs_expectation  e     = ggs_messages_expect(w.stream);
    double                  bytes = (double) facts.sizes.dense + (double) facts.sizes.experts * moe.used / moe.experts;
    assert_true(e.bytes > bytes - 1 && e.bytes < bytes + 1 && e.resident > 0 && e.resident < e.bytes);
    assert_true(e.seconds > (e.bytes - e.resident) / 2e9 - 1e-9 && e.seconds < (e.bytes - e.resident) / 1e9 + 1e-9);
    const char * first = strstr(w.said, "streaming ");
    assert_true(first == w.said && strstr(first + 1, "streaming ") == NULL);
    assert_non_null(strstr(w.said, " per token, "));
    assert_non_null(strstr(w.said, "disk 1.0 GB/s; faster with more memory"));
    assert_non_null(strstr(w.said, " or a faster disk\n"));
    assert_non_null(strstr(w.said, " of the time waiting for the disk, which read "));
    assert_true(ggs_stream_sum_up(w.stream, text, sizeof(text)));
    assert_int_equal(counts(&w).batch_tokens, 40);
    // A run that begins with a later weight continues a pass: so may one after memory was divided
    // again.
    assert_in_range(counts(&w).runs - counts(&w).tokens, 1, 4);
    assert_non_null(strstr(text, " tokens one by one at "));
    assert_non_null(strstr(text, ", 40 tokens in batches at "));
    end(&w);
}

// ---- routers and predictions ----

static void * gguf_open(const char * path, struct abi_gguf_params params) {
    (void) path, (void) params;
    return &model;
}

static void gguf_free(void * gguf) {
    (void) gguf;
}

static int64_t gguf_find(const void * gguf, const char * name) {
    (void) gguf;
    for (uint32_t i = 0; i < model.shape.layers; i++) {
        if (strcmp(model.layers[i].router.name, name) == 0) return i;
    }
    return -1;
}

static int gguf_type(const void * gguf, int64_t tensor) {
    (void) gguf, (void) tensor;
    return 0;
}

static size_t gguf_offset(const void * gguf, int64_t tensor) {
    (void) gguf;
    return (size_t) ((char *) model.layers[tensor].router.data - model.mapped) - 4096;
}

static size_t gguf_data(const void * gguf) {
    (void) gguf;
    return 4096;
}

// Waits for the predicting thread. Needs the lock.
static void until_predicted(struct ggs_stream * s) {
    while (s->predictor.wanted.n > 0 || s->predictor.busy) {
        ggs_stream_unlock(s);
        sched_yield();
        ggs_stream_lock(s);
    }
}

// Between layers that a device computes, each layer's experts come in a run of their own, without
// their router: it is found in the file, predictions come true, and what is decided is said once.
static void test_beside_a_device(void ** state) {
    (void) state;
    struct abi_functions engine = fake_engine;
    struct world         w;
    struct graph         pieces[WORLD_LAYERS];
    struct shape         shape = moe;
    shape.dense                = 0;
    engine.gguf_open           = gguf_open;
    engine.gguf_free           = gguf_free;
    engine.gguf_find           = gguf_find;
    engine.gguf_type           = gguf_type;
    engine.gguf_offset         = gguf_offset;
    engine.gguf_data           = gguf_data;
    begin(&shape);
    world_make(&w, &usual, limit_for(&model, 0.5), false);
    ggs_stream_set_engine(w.stream, &engine);
    map_and_choose(&w);
    for (uint32_t i = 0; i < shape.layers; i++) {
        struct graph * g = &pieces[i];
        graph_make(g, &model, i, i + 1, 1);
        // Only what reads experts is the CPU's.
        uint32_t n = 0;
        for (uint32_t k = 0; k < g->n; k++) {
            if (g->nodes[k]->op != token.nodes[1]->op && g->nodes[k]->src[2] == NULL) continue;
            if (g->nodes[k]->src[2] == NULL) continue;
            g->nodes[n++] = g->nodes[k];
        }
        g->graph.n_nodes = (int32_t) n;
    }
    for (int t = 0; t < 12; t++) {
        for (uint32_t i = 0; i < shape.layers; i++) {
            struct graph * g = &pieces[i];
            graph_choose(g, &dice);
            memcpy(g->ids[i], g->chosen[i], shape.experts * sizeof(int32_t));
            if (!ggs_stream_enter(w.stream, &g->graph)) continue;
            for (int32_t k = 0; k < g->graph.n_nodes; k++) {
                ggs_stream_op(w.stream, g->nodes[k]);
                const struct abi_tensor *node = g->nodes[k], *given = node->src[0];
                const char * right = model.image + ((const char *) model.layers[i].experts[k].data - model.mapped);
                for (uint32_t e = 0; e < shape.used; e++) {
                    const int32_t * ids = node->src[2]->data;
                    assert_memory_equal((const char *) given->data + (uint64_t) ids[e] * given->nb[2],
                                        right + (uint64_t) g->chosen[i][e] * model.layers[i].experts[k].nb[2],
                                        model.layers[i].experts[k].nb[2]);
                }
            }
            ggs_stream_leave(w.stream);
            ggs_stream_lock(w.stream); // the device computes
            until_predicted(w.stream);
            ggs_stream_unlock(w.stream);
        }
    }
    assert_true(counts(&w).predicted > 0);
    const char * line = strstr(w.said, "streaming ");
    assert_non_null(line);
    assert_null(strstr(line + 1, "streaming "));
    assert_non_null(strstr(line, " or fewer experts on the CPU\n"));
    char text[512];
    assert_true(ggs_stream_sum_up(w.stream, text, sizeof(text)));
    assert_in_range(counts(&w).tokens, 10, 12); // runs of all layers are one token
    for (uint32_t i = 0; i < shape.layers; i++) graph_release(&pieces[i]);
    end(&w);
}

static void predict(struct ggs_stream * s, const struct ggs_routing * now, struct ggs_expert_group * next) {
    ggs_predict(s, now, next);
    until_predicted(s);
}

// The experts that the router's matrix gives the highest products with the state are the ones that
// are read.
static void test_prediction(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    run(&w, &token, 2);
    wait_until_idle(&w);
    struct ggs_stream * s = w.stream;
    ggs_stream_lock(s);
    struct ggs_expert_group * g          = s->weights.groups[2];
    float *                   matrix     = (float *) (g->router->kept + ggs_weight_span(g->router).delta);
    float                     hidden[32] = {0};
    struct abi_tensor         h          = {.ne = {32, 1, 1, 1}, .nb = {4, 128, 128, 128}, .data = hidden};
    struct ggs_routing        now        = {.group = s->weights.groups[1], .hidden = &h, .n_tokens = 1, .step = 128};
    for (uint32_t e = 0; e < moe.experts; e++) {
        for (uint32_t k = 0; k < 32; k++) matrix[e * 32 + k] = k == e ? 1.0f : 0.0f;
    }
    hidden[3] = 3, hidden[7] = 2, hidden[11] = 1;
    s->load.busy = 0.7;
    predict(s, &now, g);
    const uint32_t best[] = {3, 7, 11};
    for (int i = 0; i < 3; i++) {
        assert_true(g->slot_of[best[i]] >= 0);
        assert_int_equal(g->slots[g->slot_of[best[i]]].used, g->clock);
    }
    uint64_t predicted = s->counts.predicted;
    s->load.busy       = 1; // the disk is the limit: nothing is read in vain
    hidden[3] = hidden[7] = hidden[11] = 0;
    hidden[1] = hidden[2] = hidden[4] = 1;
    predict(s, &now, g);
    assert_int_equal(s->counts.predicted, predicted);
    // The layer after the next is looked at as well.
    struct ggs_expert_group * second = s->weights.groups[3];
    uint64_t                  turns = second->clock, before = g->clock;
    s->load.busy = 0.7;
    predict(s, &now, g);
    assert_int_equal(second->clock, turns + 1);
    assert_int_equal(g->clock, before + 1);
    // A group whose experts are about to be used is left alone.
    now.group = second;
    predict(s, &now, g);
    assert_int_equal(g->clock, before + 2);
    assert_int_equal(second->clock, turns + 1);
    now.group = g;
    predict(s, &now, g);
    assert_int_equal(g->clock, before + 2);
    now.group = s->weights.groups[1];
    // A group that has chosen since is left alone.
    predicted = s->counts.predicted;
    hidden[1] = hidden[2] = hidden[4] = 0;
    hidden[5] = hidden[6] = hidden[8] = 1;
    ggs_predict(s, &now, g);
    assert_int_equal(s->predictor.wanted.n, 2); // the thread needs the lock to begin
    g->choices++;
    second->choices++;
    until_predicted(s);
    assert_int_equal(s->counts.predicted, predicted);
    // Load is what was read against what the disk can, or waiting where that is not known.
    s->speed.random = 1; // byte a second
    s->load.busy    = 0;
    for (uint32_t i = 0; i < 100; i++) {
        s->counts.bytes_experts += 1 << 30;
        ggs_predict_end_run(s, 0, 100);
    }
    assert_true(s->load.busy > 0.99);
    for (uint32_t i = 0; i < 100; i++) ggs_predict_end_run(s, 0, 100);
    assert_true(s->load.busy < 0.01);
    ggs_stream_unlock(s);
    end(&w);
}

static int at_once(const struct ggs_disk_read * read, enum ggs_urgency urgency) {
    (void) read, (void) urgency;
    return 1;
}

static uint32_t n_held(struct world * w) {
    pthread_mutex_lock(&w->held.lock);
    uint32_t n = w->held.n;
    pthread_mutex_unlock(&w->held.lock);
    return n;
}

// A world on a held disk, in which a few tokens have chosen and nothing is being read.
static void begin_held(struct world * w, double share) {
    struct ggs_stream_settings settings = {.predict = 0};
    struct pump                pump;
    begin(&moe);
    world_make(w, &settings, limit_for(&model, share), true);
    map_and_choose(w);
    pump_start(&pump, &w->held, at_once);
    run(w, &token, 3);
    wait_until_idle(w);
    pump_end(&pump);
}

// The first experts that are in memory, or are not; without one of them.
static uint32_t experts_that(const struct ggs_expert_group * g, bool in_memory, int32_t but, int32_t * experts,
                             uint32_t n) {
    uint32_t found = 0;
    for (int32_t e = 0; e < (int32_t) g->n_experts && found < n; e++) {
        if ((g->slot_of[e] >= 0) == in_memory && e != but) experts[found++] = e;
    }
    return found;
}

static void choose_experts(struct ggs_routing * r, struct abi_tensor * ids, struct ggs_expert_group * g,
                           int32_t * experts) {
    *ids = (struct abi_tensor){.ne = {3, 1, 1, 1}, .nb = {4, 12, 12, 12}, .data = experts};
    *r   = (struct ggs_routing){.group            = g,
                                .ids              = ids,
                                .chosen           = r->chosen,
                                .chosen_capacity  = r->chosen_capacity,
                                .renamed          = r->renamed,
                                .renamed_capacity = r->renamed_capacity};
}

// An expert that was read early and is not chosen is dropped if its reads have not begun. If they
// have and end early for that, it is read again when it is chosen, and nothing has failed.
static void test_wrong_prediction(void ** state) {
    (void) state;
    struct world       w;
    struct ggs_routing r = {0};
    struct abi_tensor  ids;
    int32_t            there[3], missing[1];
    begin_held(&w, 0.5);
    struct ggs_stream * s = w.stream;
    ggs_stream_lock(s);
    struct ggs_expert_group * g = s->weights.groups[1];
    assert_int_equal(experts_that(g, false, -1, missing, 1), 1);
    uint64_t before = s->counts.bytes_predicted;
    for (int late = 0; late < 2; late++) {
        g->clock++;
        assert_int_equal(ggs_expert_slots_read_early(s, g, missing, 1, GGS_READ_SOON, false), 1);
        assert_true(s->counts.bytes_predicted > before && g->slot_of[missing[0]] >= 0);
        assert_int_equal(n_held(&w), 3);
        w.held.refuses = late == 1;
        assert_int_equal(experts_that(g, true, missing[0], there, 3), 3);
        choose_experts(&r, &ids, g, there);
        ggs_expert_slots_route(s, &r);
        if (late == 1) break;
        assert_int_equal(g->slot_of[missing[0]], -1);
        assert_int_equal(s->counts.bytes_predicted, before);
        assert_int_equal(r.predicted, 0);
        ggs_stream_unlock(s);
        held_disk_finish_all(&w.held);
        ggs_stream_lock(s);
    }
    uint32_t slot = (uint32_t) g->slot_of[missing[0]];
    assert_true(slot < g->n_slots);
    ggs_stream_unlock(s);
    // The pool ends what it had begun of the read that was dropped; the others are carried out.
    const struct ggs_weight * last = g->weights[2];
    assert_true(held_disk_finish(&w.held, last->offset + (uint64_t) missing[0] * last->expert_bytes + 8192, false));
    held_disk_finish_all(&w.held);
    ggs_stream_lock(s);
    for (uint32_t k = 0; k < 3; k++) assert_int_not_equal(g->weights[k]->arrivals[slot].state, GGS_ARRIVAL_READING);
    assert_int_equal(g->weights[2]->arrivals[slot].state, GGS_ARRIVAL_EMPTY);
    ggs_stream_unlock(s);
    free(r.chosen);
    free(r.renamed);
    struct pump pump;
    pump_start(&pump, &w.held, at_once);
    w.held.refuses = false;
    for (int i = 0; i < 20; i++) run(&w, &token, 1); // chooses it, too; bytes are compared
    pump_end(&pump);
    held_disk_finish_all(&w.held);
    assert_int_equal(counts(&w).mapped, 0);
    end(&w);
}

// Likely experts are read as others arrive, so that one which turns out wrong has cost nothing.
static void test_likely(void ** state) {
    (void) state;
    struct world w;
    begin_held(&w, 0.5);
    struct ggs_stream * s = w.stream;
    ggs_stream_lock(s);
    struct ggs_expert_group * g      = s->weights.groups[2];
    int32_t                   all[8] = {0};
    uint32_t                  n      = experts_that(g, false, -1, all, 8);
    assert_true(n >= 5);
    for (uint32_t i = 0; i < n; i++)
        assert_true(ggs_array_push(s->predictor.likely, s->predictor.n_likely, s->predictor.likely_capacity,
                                   ((struct ggs_likely){g, g->choices, all[i]})));
    g->clock++;
    ggs_predict_read(s);
    assert_int_equal(n_held(&w), 9); // three experts
    ggs_stream_unlock(s);
    assert_true(held_disk_finish(&w.held, UINT64_MAX, true));
    assert_int_equal(n_held(&w), 8);
    assert_true(held_disk_finish(&w.held, UINT64_MAX, true));
    assert_int_equal(n_held(&w), 10); // one more
    ggs_stream_lock(s);
    assert_true(g->slot_of[all[3]] >= 0 && g->slot_of[all[4]] < 0);
    g->choices++; // it has chosen: the others are too late
    ggs_stream_unlock(s);
    held_disk_finish_all(&w.held);
    ggs_stream_lock(s);
    assert_int_equal(g->slot_of[all[4]], -1);
    assert_int_equal(s->counts.predicted, 4);
    ggs_stream_unlock(s);
    end(&w);
}

// ---- forks ----

#if !defined(__SANITIZE_THREAD__)
// A program loads the model and lets its children compute.
static void test_fork_before(void ** state) {
    (void) state;
    struct world w;
    begin(&moe);
    world_make(&w, &usual, limit_for(&model, 0.5), false);
    w.stream->state = GGS_STREAM_ASLEEP; // as if there were no engine
    map_and_choose(&w);
    for (int i = 0; i < 2; i++) {
        ggs_stream_before_fork(w.stream);
        pid_t child = fork();
        if (child == 0) {
            if (!ggs_stream_in_child(w.stream)) _exit(2);
            ggs_stream_set_engine(w.stream, &fake_engine);
            _exit(graph_run(&token, w.stream, 2) && graph_run(&token, w.stream, 1) ? 0 : 3);
        }
        ggs_stream_after_fork(w.stream);
        int status = 1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    ggs_stream_set_engine(w.stream, &fake_engine);
    run(&w, &token, 2);
    end(&w);
}

static void test_fork(void ** state) {
    (void) state;
    struct world w;
    begin_world(&w, &moe, 0.5);
    run(&w, &token, 2);
    // In the middle of a run: the child's graph is as it was.
    assert_true(ggs_stream_enter(w.stream, &token.graph));
    for (uint32_t i = 0; i < token.n && token.tensors[i].src[0] == token.weights[i]; i++)
        ggs_stream_op(w.stream, token.nodes[i]);
    ggs_stream_before_fork(w.stream);
    pid_t child = fork();
    if (child == 0) {
        if (ggs_stream_in_child(w.stream)) _exit(4);
        for (uint32_t i = 0; i < token.n; i++) {
            if (token.weights[i] != NULL && token.tensors[i].src[0] != token.weights[i]) _exit(2);
        }
        _exit(ggs_stream_enter(w.stream, &token.graph) ? 3 : 0);
    }
    ggs_stream_after_fork(w.stream);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ggs_stream_leave(w.stream);
    run(&w, &token, 2);
    end(&w);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrival),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_other_graphs),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_prompt),
        cmocka_unit_test(test_two_in_spare),
        cmocka_unit_test(test_small_prompt),
        cmocka_unit_test(test_repeated_layers),
        cmocka_unit_test(test_mended_ids),
        cmocka_unit_test(test_without_slots),
        cmocka_unit_test(test_without_moves),
        cmocka_unit_test(test_failed_sibling),
        cmocka_unit_test(test_two_streams),
        cmocka_unit_test(test_many_models),
        cmocka_unit_test(test_parts_of_mappings),
        cmocka_unit_test(test_unmap_waits),
        cmocka_unit_test(test_forget_alone),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_given_back),
        cmocka_unit_test(test_no_pages),
        cmocka_unit_test(test_no_direct_reads),
        cmocka_unit_test(test_no_threads),
        cmocka_unit_test(test_stalled),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_verify_all),
        cmocka_unit_test(test_note),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_tell),
        cmocka_unit_test(test_beside_a_device),
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_wrong_prediction),
        cmocka_unit_test(test_likely),
#if !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_fork_before),
        cmocka_unit_test(test_fork),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
