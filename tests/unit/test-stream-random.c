// struct ggs_stream at random: models, graphs, routers, budgets, batches, contexts, forks, memory
// that is taken away and a disk that fails, for GGSCOPE_STREAM_SECONDS (20). Each step compares
// every byte that an op is given with the model.
//     test-stream-random [SEED]    that one alone
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/clock.h"
#include "stream-world.h"
#include "stream/core.h"

#if defined(__SANITIZE_THREAD__)
static const bool with_forks = false; // a child of a fork cannot make threads then
#else
static const bool with_forks = true;
#endif

enum { GRAPHS = 4 };

static uint64_t only_seed, steps, streamed, seeds;

static void choose_shape(struct shape * s, struct random * r) {
    *s         = (struct shape){.layers      = 2 + (uint32_t) random_below(r, 6),
                                .dense       = 1 + (uint32_t) random_below(r, 3),
                                .inputs      = 16 * (1 + (uint32_t) random_below(r, 4)),
                                .uneven      = random_chance(r, 0.3),
                                .mended      = random_chance(r, 0.2),
                                .expert_rows = 8 + (uint32_t) random_below(r, 120)};
    s->doubled = random_chance(r, 0.1);
    s->looped  = !s->doubled && random_chance(r, 0.1);
    if (!random_chance(r, 0.8)) return;
    s->experts = 2 + (uint32_t) random_below(r, 30);
    s->used    = 1 + (uint32_t) random_below(r, s->experts < 8 ? s->experts : 8);
}

static void choose_faults(struct random * r) {
    memset(&faults, 0, sizeof(faults));
    faults.seed = random_next(r);
    if (random_chance(r, 0.3)) faults.fail = 0.02;
    if (random_chance(r, 0.1)) faults.fail = 0.4;
    if (random_chance(r, 0.3)) faults.shorten = 0.3;
    if (random_chance(r, 0.3)) faults.interrupt = 0.1;
    if (random_chance(r, 0.5)) faults.delay = 0.3, faults.delay_us = (uint32_t) random_below(r, 2000);
    if (random_chance(r, 0.1)) faults.hang = 0.002, faults.hang_ms = 100;
}

// Another process goes on with the same graph, on the mapping.
static void fork_once(struct graph * g, struct ggs_stream * s) {
    ggs_stream_before_fork(s);
    pid_t child = fork();
    if (child != 0) {
        int status = 1;
        ggs_stream_after_fork(s);
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        return;
    }
    ggs_stream_in_child(s);
    for (uint32_t i = 0; i < g->n; i++) {
        if (g->weights[i] != NULL && g->tensors[i].src[0] != g->weights[i]) _exit(2);
    }
    _exit(graph_run(g, s, 1) ? 3 : 0);
}

// A graph of another context, which runs beside and is not streamed, or is while the first is not.
struct beside {
    struct graph *      graph;
    struct ggs_stream * stream;
    uint32_t            runs;
};

static void * run_beside(void * argument) {
    struct beside * b = argument;
    for (uint32_t i = 0; i < b->runs; i++) graph_run(b->graph, b->stream, 1);
    return NULL;
}

// A program that loads the same model once more, computes with it and unloads it, while the first
// may be computing: weights are forgotten with the mapping where they were first used.
struct twin {
    struct model        model; // not mapped
    struct ggs_stream * stream;
    uint64_t            seed;
};

static void * load_and_unload(void * argument) {
    struct twin *  t = argument;
    struct random  r = {t->seed};
    struct graph * g = malloc(sizeof(*g));
    assert_non_null(g);
    model_map(&t->model, t->stream);
    graph_make(g, &t->model, 0, t->model.shape.layers, 1 + (uint32_t) random_below(&r, 3));
    graph_choose(g, &r);
    graph_run(g, t->stream, 1);
    model_unmap(&t->model, t->stream);
    graph_release(g);
    free(g);
    return NULL;
}

static void disturb(struct world * w, const struct model * m, struct random * r) {
    struct fake_memory * memory = &w->memory;
    switch (random_below(r, 12)) {
        case 0: // the limit changes
            __atomic_store_n(&memory->limit, limit_for(m, (double) (20 + random_below(r, 90)) / 100), __ATOMIC_RELAXED);
            break;
        case 1: // others take some, and give it back
            __atomic_store_n(&memory->taken, random_below(r, m->size / 3), __ATOMIC_RELAXED);
            break;
        case 2:
            __atomic_store_n(&memory->taken, 0, __ATOMIC_RELAXED);
            break;
        case 3: {
            static char buffer[1 << 16];
            ggs_stream_buffer(w->stream, buffer, buffer, sizeof(buffer));
            ggs_stream_buffer_gone(w->stream, buffer);
            break;
        }
        default:
            break;
    }
}

static void one_step(struct world * w, struct model * m, struct twin * twin, struct graph * graphs, struct random * r) {
    struct graph * g = &graphs[random_below(r, GRAPHS)];
    disturb(w, m, r);
    for (uint32_t i = 0; i < GRAPHS; i++) graph_choose(&graphs[i], r);
    struct graph * other  = &graphs[random_below(r, GRAPHS)];
    struct beside  beside = {other, w->stream, 1 + (uint32_t) random_below(r, 3)};
    bool           two    = other != g && random_chance(r, 0.1);
    bool           loads  = random_chance(r, 0.1);
    pthread_t      thread, loader;
    twin->seed = random_next(r);
    if (loads) assert_int_equal(pthread_create(&loader, NULL, load_and_unload, twin), 0);
    if (two) assert_int_equal(pthread_create(&thread, NULL, run_beside, &beside), 0);
    for (uint64_t n = 1 + random_below(r, 4); n > 0; n--) {
        streamed += graph_run(g, w->stream, 1 + (uint32_t) random_below(r, WORLD_THREADS));
        steps++;
        if (!two) graph_choose(g, r);
    }
    if (two) pthread_join(thread, NULL);
    if (loads) pthread_join(loader, NULL);
    assert_true(slots_are_sound(w));
    if (with_forks && !two && random_chance(r, 0.02)) fork_once(g, w->stream);
    if (random_chance(r, 0.03)) {
        model_unmap(m, w->stream);
        model_map(m, w->stream);
    }
}

static void one_seed(uint64_t seed) {
    struct random              r = {seed};
    struct shape               shape;
    struct model               m;
    struct world               w;
    struct twin                twin = {.seed = seed};
    static struct graph        graphs[GRAPHS];
    struct ggs_stream_settings settings = {.predict = (int) random_below(&r, 4) - 1, .quiet = random_chance(&r, 0.5)};
    settings.keep                       = (enum ggs_keep) random_below(&r, 3);
    settings.verify                     = random_chance(&r, 0.2);
    choose_shape(&shape, &r);
    choose_faults(&r);
    if (!model_make(&m, &shape, seed)) {
        model_remove(&m);
        fprintf(stderr, "the file system here has no direct reads\n");
        exit(1);
    }
    faulty_file(&m);
    world_make(&w, &settings, limit_for(&m, (double) (15 + random_below(&r, 80)) / 100), false);
    w.memory.refuses_moves = random_chance(&r, 0.1);
    w.stream->buffered     = random_chance(&r, 0.3);
    twin.model             = m;
    twin.stream            = w.stream;
    model_map(&m, w.stream);
    for (int i = 0; i < GRAPHS; i++) {
        uint32_t first = i < 3 ? 0 : (uint32_t) random_below(&r, shape.layers);
        uint32_t end   = i < 3 ? shape.layers : first + 1;
        uint32_t n     = i == 0 ? 1 : 1 + (uint32_t) random_below(&r, random_chance(&r, 0.5) ? 6 : WORLD_TOKENS);
        graph_make(&graphs[i], &m, first, end, n);
    }
    for (uint64_t n = 5 + random_below(&r, 40); n > 0; n--) one_step(&w, &m, &twin, graphs, &r);
    for (int i = 0; i < GRAPHS; i++) graph_release(&graphs[i]);
    if (random_chance(&r, 0.5)) model_unmap(&m, w.stream);
    if (getenv("GGSCOPE_STREAM_LOUD") != NULL)
        fprintf(stderr, "# %u layers, %u dense, %u experts, %u used, %.1f MiB: %llu runs\n%s", shape.layers,
                shape.dense, shape.experts, shape.used, (double) m.size / (1 << 20),
                (unsigned long long) ggs_stream_facts(w.stream).counts.runs, w.said);
    world_end(&w);
    if (m.mapped != NULL) model_unmap(&m, NULL);
    model_remove(&m);
}

static void test_random(void ** state) {
    (void) state;
    const char * text    = getenv("GGSCOPE_STREAM_SECONDS");
    uint64_t     seconds = text == NULL ? 20 : strtoull(text, NULL, 10), begin = ggs_clock_now();
    uint64_t     seed = only_seed != 0 ? only_seed : (uint64_t) getpid() << 32 ^ begin;
    do {
        fprintf(stderr, "# seed %llu\n", (unsigned long long) seed);
        one_seed(seed);
        seeds++;
        seed = seed * 2862933555777941757u + 3037000493u;
    } while (only_seed == 0 && ggs_clock_now() - begin < seconds * 1000000000u);
    fprintf(stderr, "# %llu models, %llu graph runs, %llu of them streamed\n", (unsigned long long) seeds,
            (unsigned long long) steps, (unsigned long long) streamed);
    assert_true(only_seed != 0 || streamed > 0);
}

int main(int argc, char ** argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    if (argc > 1) only_seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
