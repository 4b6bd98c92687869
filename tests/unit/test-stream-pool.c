// The disk of ggscope stream (src/stream/disk/pool.c): reads in order of urgency, neighbours in one
// request, short and interrupted answers of the kernel.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/disk/pool.h"

enum { FILE_BYTES = (3 << 20) + 1000, ROOM = 4 << 20, BLOCK = 4096 };

static char * image; // what the file holds

// What the kernel answers: at most so many bytes, so many interruptions before each, and nothing
// while `held`.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            held;
    uint32_t        waiting; // requests that are held
    size_t          most;
    uint32_t        interruptions, left;
    uint64_t        fails_at; // the request of this byte fails; UINT64_MAX: none does
    uint64_t        begins[64];
    int             parts[64];
    uint32_t        n;
} kernel = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static ssize_t answer(int fd, const struct iovec * parts, int n, off_t offset) {
    uint64_t at = (uint64_t) offset, done = 0, bytes = 0;
    (void) fd;
    pthread_mutex_lock(&kernel.lock);
    kernel.waiting++;
    pthread_cond_broadcast(&kernel.changed);
    while (kernel.held) pthread_cond_wait(&kernel.changed, &kernel.lock);
    kernel.waiting--;
    bool interrupted = kernel.left > 0;
    kernel.left      = interrupted ? kernel.left - 1 : kernel.interruptions;
    bool failed      = at == kernel.fails_at;
    if (!interrupted && kernel.n < 64) {
        kernel.begins[kernel.n]  = at;
        kernel.parts[kernel.n++] = n;
    }
    pthread_mutex_unlock(&kernel.lock);
    if (interrupted) return errno = kernel.left % 2 == 0 ? EAGAIN : EINTR, -1;
    if (failed) return errno = EIO, -1;
    assert_true(at % 512 == 0);
    for (int i = 0; i < n; i++) bytes += parts[i].iov_len;
    if (bytes > kernel.most) bytes = kernel.most;
    if (bytes > FILE_BYTES - at) bytes = FILE_BYTES - at;
    for (int i = 0; i < n && done < bytes; i++) {
        size_t some = parts[i].iov_len < bytes - done ? parts[i].iov_len : (size_t) (bytes - done);
        memcpy(parts[i].iov_base, image + at + done, some);
        done += some;
    }
    return (ssize_t) done;
}

struct wanted {
    struct ggs_disk_read read;
    int                  state; // 0: not done, 1: ok, 2: failed
};

static void note(struct ggs_disk_read * read, bool ok) {
    struct wanted * w = (struct wanted *) read;
    pthread_mutex_lock(&kernel.lock);
    assert_int_equal(w->state, 0);
    w->state = ok ? 1 : 2;
    pthread_cond_broadcast(&kernel.changed);
    pthread_mutex_unlock(&kernel.lock);
}

static char * memory;
static bool   buffered; // all reads

static struct ggs_pool * begin(uint32_t threads) {
    image = malloc(FILE_BYTES);
    assert_int_equal(posix_memalign((void **) &memory, BLOCK, ROOM), 0);
    for (uint32_t i = 0; i < FILE_BYTES; i++) image[i] = (char) (i * 2654435761u >> 24);
    memset(memory, 0, ROOM);
    kernel.held     = false;
    kernel.most     = SIZE_MAX;
    kernel.fails_at = UINT64_MAX;
    kernel.n = kernel.waiting = kernel.interruptions = kernel.left = 0;
    struct ggs_pool * pool = ggs_pool_create(&(struct ggs_pool_options){.read = answer, .threads = threads});
    assert_true(ggs_pool_disk(pool)->start(ggs_pool_disk(pool)));
    return pool;
}

static void end(struct ggs_pool * pool) {
    ggs_pool_destroy(pool);
    free(image);
    free(memory);
}

static void submit(struct ggs_pool * pool, struct wanted * w, uint64_t offset, uint64_t bytes, uint64_t at,
                   enum ggs_urgency urgency) {
    uint64_t needed  = bytes < FILE_BYTES - offset ? bytes : FILE_BYTES - offset;
    *w               = (struct wanted){.read = {.offset = offset, .bytes = bytes, .needed = needed, .done = note}};
    w->read.to       = memory + at;
    w->read.buffered = buffered;
    ggs_pool_disk(pool)->submit(ggs_pool_disk(pool), &w->read, urgency);
}

static void await(const struct wanted * w, int state) {
    pthread_mutex_lock(&kernel.lock);
    while (w->state == 0) pthread_cond_wait(&kernel.changed, &kernel.lock);
    pthread_mutex_unlock(&kernel.lock);
    assert_int_equal(w->state, state);
    if (state == 1) assert_memory_equal(w->read.to, image + w->read.offset, w->read.needed);
}

// Holds all requests, and waits until one has come.
static void hold(struct ggs_pool * pool, struct wanted * first) {
    pthread_mutex_lock(&kernel.lock);
    kernel.held = true;
    pthread_mutex_unlock(&kernel.lock);
    submit(pool, first, 0, BLOCK, ROOM - BLOCK, GGS_READ_NOW);
    pthread_mutex_lock(&kernel.lock);
    while (kernel.waiting == 0) pthread_cond_wait(&kernel.changed, &kernel.lock);
    pthread_mutex_unlock(&kernel.lock);
}

static void let_go(void) {
    pthread_mutex_lock(&kernel.lock);
    kernel.held = false;
    pthread_cond_broadcast(&kernel.changed);
    pthread_mutex_unlock(&kernel.lock);
}

// However few bytes come at a time, all of them come; the file may end before the last block does.
static void test_short(void ** state) {
    buffered = *state != NULL;
    for (size_t most = 512; most <= 1 << 20; most *= 2) {
        struct ggs_pool * pool = begin(3);
        struct wanted     a, b;
        kernel.most = most;
        submit(pool, &a, BLOCK, 1 << 20, 0, GGS_READ_NOW);
        submit(pool, &b, 3 << 20, BLOCK, 2 << 20, GGS_READ_NOW);
        await(&a, 1);
        await(&b, 1);
        end(pool);
    }
}

static void test_interrupted(void ** state) {
    buffered               = *state != NULL;
    struct ggs_pool * pool = begin(1);
    struct wanted     a;
    kernel.interruptions = kernel.left = 20;
    submit(pool, &a, 0, 1 << 20, 0, GGS_READ_NOW);
    await(&a, 1);
    kernel.interruptions = kernel.left = UINT32_MAX; // for ever: it is given up
    submit(pool, &a, 0, BLOCK, 0, GGS_READ_NOW);
    await(&a, 2);
    end(pool);
}

static void test_order(void ** state) {
    (void) state;
    struct ggs_pool * pool = begin(1);
    struct wanted     first, w[4];
    hold(pool, &first);
    submit(pool, &w[0], 10 * BLOCK, BLOCK, 0, GGS_READ_IDLE);
    submit(pool, &w[1], 20 * BLOCK, BLOCK, BLOCK, GGS_READ_SOON);
    submit(pool, &w[2], 30 * BLOCK, BLOCK, 2 * BLOCK, GGS_READ_NOW);
    submit(pool, &w[3], 40 * BLOCK, BLOCK, 3 * BLOCK, GGS_READ_IDLE);
    ggs_pool_disk(pool)->hurry(ggs_pool_disk(pool), &w[3].read, GGS_READ_NOW); // somebody waits for it
    let_go();
    for (int i = 0; i < 4; i++) await(&w[i], 1);
    const uint64_t order[] = {0, 30, 40, 20, 10};
    assert_int_equal(kernel.n, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(kernel.begins[i], order[i] * BLOCK);
    end(pool);
}

// Neighbours in the file become one request, also where they share a block; others do not.
static void test_neighbours(void ** state) {
    buffered               = *state != NULL;
    struct ggs_pool * pool = begin(1);
    struct wanted     first, w[5];
    hold(pool, &first);
    submit(pool, &w[0], 10 * BLOCK, 4 * BLOCK, 0, GGS_READ_SOON);
    submit(pool, &w[1], 14 * BLOCK, 4 * BLOCK, 8 * BLOCK, GGS_READ_SOON);
    submit(pool, &w[2], 17 * BLOCK, 4 * BLOCK, 16 * BLOCK,
           GGS_READ_SOON); // its first block is the last of the one before
    submit(pool, &w[3], 22 * BLOCK, 4 * BLOCK, 24 * BLOCK, GGS_READ_SOON); // behind a gap
    submit(pool, &w[4], 26 * BLOCK, 1 << 20, 32 * BLOCK, GGS_READ_SOON);   // too large to come along
    let_go();
    for (int i = 0; i < 5; i++) await(&w[i], 1);
    assert_true(kernel.n >= 4 && kernel.parts[1] == (buffered ? 1 : 3) && kernel.begins[1] == 10 * BLOCK &&
                kernel.begins[2] == 22 * BLOCK);
    // A failure is that of all who came along.
    kernel.fails_at = 10 * BLOCK;
    hold(pool, &first);
    submit(pool, &w[0], 10 * BLOCK, 4 * BLOCK, 0, GGS_READ_SOON);
    submit(pool, &w[1], 14 * BLOCK, 4 * BLOCK, 8 * BLOCK, GGS_READ_SOON);
    let_go();
    await(&w[0], 2);
    await(&w[1], 2);
    end(pool);
}

static void test_cancel(void ** state) {
    (void) state;
    struct ggs_pool * pool = begin(1);
    struct ggs_disk * disk = ggs_pool_disk(pool);
    struct wanted     first, w, large;
    hold(pool, &first);
    submit(pool, &w, 10 * BLOCK, BLOCK, 0, GGS_READ_SOON);
    assert_true(disk->cancel(disk, &w.read)); // it had not begun, and is never done
    assert_false(disk->cancel(disk, &first.read));
    let_go();
    await(&first, 1);
    // Of a read in pieces one is under way: the rest is dropped, and it is done with false.
    kernel.held = true;
    submit(pool, &large, 0, 3 << 20, 0, GGS_READ_SOON);
    pthread_mutex_lock(&kernel.lock);
    while (kernel.waiting == 0) pthread_cond_wait(&kernel.changed, &kernel.lock);
    pthread_mutex_unlock(&kernel.lock);
    uint32_t before = kernel.n;
    assert_false(disk->cancel(disk, &large.read));
    let_go();
    await(&large, 2);
    assert_int_equal(kernel.n, before + 1);
    assert_int_equal(w.state, 0);
    end(pool);
}

static void test_failed_piece(void ** state) {
    buffered               = *state != NULL;
    struct ggs_pool * pool = begin(4);
    struct wanted     w;
    kernel.fails_at = 1 << 20;
    submit(pool, &w, 0, 3 << 20, 0, GGS_READ_NOW);
    await(&w, 2);
    kernel.fails_at = UINT64_MAX;
    submit(pool, &w, 0, 3 << 20, 0, GGS_READ_NOW); // the same place again
    await(&w, 1);
    end(pool);
}

// What has not begun when the pool goes is done with false.
static void * let_go_later(void * argument) {
    (void) argument;
    let_go();
    return NULL;
}

static void test_destroy(void ** state) {
    (void) state;
    struct ggs_pool * pool = begin(1);
    struct wanted     first, w;
    pthread_t         thread;
    ggs_pool_set_piece(pool, 256 << 10);
    hold(pool, &first);
    submit(pool, &w, 10 * BLOCK, BLOCK, 0, GGS_READ_IDLE);
    assert_int_equal(pthread_create(&thread, NULL, let_go_later, NULL), 0);
    end(pool);
    pthread_join(thread, NULL);
    assert_true(first.state == 1 && w.state != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_failed_piece),
        cmocka_unit_test(test_destroy),
        // The same through buffers.
        {"test_short, buffered", test_short, NULL, NULL, &buffered},
        {"test_interrupted, buffered", test_interrupted, NULL, NULL, &buffered},
        {"test_neighbours, buffered", test_neighbours, NULL, NULL, &buffered},
        {"test_failed_piece, buffered", test_failed_piece, NULL, NULL, &buffered},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
