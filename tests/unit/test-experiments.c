// The experiments of a server while they change: traces are replaced, removed and added while
// threads take, read and list them. Built with the preset tsan it finds what is not under its lock;
// by itself, what is freed under a reader.
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recording-fixture.h"
#include "serve/experiments.h"
#include "trace-fixture.h"

enum { READERS = 3, ROUNDS = 60, KINDS = 2 };

// A trace of so many tensors: what tells one from the other.
static void write_trace(struct recording * r, int tensors) {
    recording_open(r);
    uint64_t file = recording_file(r, "model.gguf", 1 << 20);
    for (int i = 0; i < tensors; i++) {
        char name[32];
        snprintf(name, sizeof(name), "blk.%d.attn_q.weight", i);
        recording_tensor(r, name, F32, 8, 8, 1, in_file(file, 4096u * (unsigned) i));
    }
    recording_write(r);
}

// Puts a trace where one may be already, as sealing does.
static void put(const char * trace, const char * folder) {
    char *path = scratch_path(folder, "trace.ggs"), *next = scratch_path(folder, "next");
    assert_int_equal(link(trace, next), 0);
    unlink(path); // to rename a file onto another link of it does nothing
    assert_int_equal(rename(next, path), 0);
    free(path);
    free(next);
}

static enum ggs_found look(void * context, const char * directory) {
    (void) context;
    char * path  = scratch_path(directory, "trace.ggs");
    bool   there = access(path, F_OK) == 0;
    free(path);
    return there ? GGS_FOUND_EXPERIMENT : GGS_FOUND_FOLDER;
}

static bool going_on(void * context, const char * directory, uint64_t * units) {
    (void) context, (void) directory;
    *units = 0;
    return false;
}

struct reading {
    struct ggs_experiments * experiments;
    _Atomic bool             stop;
    _Atomic unsigned         taken, refused, wrong, most;
};

static void read_one(struct reading * reading, unsigned index) {
    struct ggs_error             error;
    struct ggs_snapshot *        snapshot;
    struct ggs_experiments_state state;
    const struct ggs_overview *  overview;
    ggs_experiments_state(reading->experiments, index, &state);
    bool fine = strstr(state.directory, state.name) != NULL && (state.error[0] == '\0') == (state.generation != 0);
    if (ggs_experiments_acquire(reading->experiments, index, &snapshot, &error) < 0) {
        fine = fine && error.status != 0 && error.text[0] != '\0';
        atomic_fetch_add(&reading->refused, 1);
    } else {
        struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
        fine                   = fine && snapshot->index == index && (trace.n_tensors == 1 || trace.n_tensors == 3) &&
               ggs_snapshot_overview(snapshot, &overview, &error) == 0 &&
               snapshot->generation <= ggs_experiments_changes(reading->experiments);
        ggs_trace_return(&trace);
        ggs_snapshot_release(snapshot);
        atomic_fetch_add(&reading->taken, 1);
    }
    if (!fine) atomic_fetch_add(&reading->wrong, 1);
}

static void * read_on(void * context) {
    struct reading * reading = context;
    while (!atomic_load(&reading->stop)) {
        unsigned n = ggs_experiments_count(reading->experiments);
        for (unsigned i = 0; i < n; i++) read_one(reading, i);
        if (n > atomic_load(&reading->most)) atomic_store(&reading->most, n);
    }
    return NULL;
}

static void test_reading_while_experiments_change(void ** unused) {
    (void) unused;
    struct recording kinds[KINDS];
    struct ggs_error error;
    struct ggs_live  live    = {.going_on = going_on, .classify = look};
    struct reading   reading = {0};
    pthread_t        threads[READERS];
    char *           folder = scratch_make();
    char *           first  = scratch_path(folder, "first");
    write_trace(&kinds[0], 1);
    write_trace(&kinds[1], 3);
    assert_int_equal(mkdir(first, 0700), 0);
    put(kinds[0].path, first);
    assert_int_equal(ggs_experiments_new(&reading.experiments, (const char *[]){first}, 1, &live, &error), 0);
    for (int i = 0; i < READERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, read_on, &reading), 0);
    for (int round = 1; round < ROUNDS; round++) {
        put(kinds[round % KINDS].path, first);
        if (round % 10 == 9) {
            char * path = scratch_path(first, "trace.ggs");
            unlink(path);
            free(path);
        }
        if (round % 3 == 0) { // one more
            char name[32];
            snprintf(name, sizeof(name), "folder-%d", round);
            char *parent = scratch_path(folder, name), *inside = scratch_path(parent, "one");
            assert_int_equal(mkdir(parent, 0700) | mkdir(inside, 0700), 0);
            put(kinds[round % KINDS].path, inside);
            assert_int_equal(ggs_experiments_add_folder(reading.experiments, parent, &error), 0);
            free(parent);
            free(inside);
        }
        ggs_experiments_refresh(reading.experiments, NULL, NULL);
    }
    for (unsigned before = reading.taken; reading.taken < before + 50 || reading.most < 1 + (ROUNDS - 1) / 3;)
        usleep(100);
    atomic_store(&reading.stop, true);
    for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(reading.wrong, 0);
    assert_true(reading.taken > 0);
    ggs_experiments_free(reading.experiments);
    for (int i = 0; i < KINDS; i++) recording_close(&kinds[i], NULL);
    free(first);
    scratch_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading_while_experiments_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
