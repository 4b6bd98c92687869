#include "stream-world.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/clock.h"
#include "stream/core.h"
#include "stream/memory/machine-memory.h"

// ---- random numbers ----

uint64_t random_next(struct random * r) {
    r->state   = r->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = r->state ^ (r->state >> 33);
    return x * 0xff51afd7ed558ccdu ^ (x >> 29);
}

uint64_t random_below(struct random * r, uint64_t n) {
    return random_next(r) % n;
}

bool random_chance(struct random * r, double chance) {
    return (double) (random_next(r) >> 11) / (double) (1ull << 53) < chance;
}

// ---- the engine ----

enum { F32, BLOCKS }; // types: 4 bytes, and blocks of 32 in 18 bytes
enum { NONE, VIEW, RESHAPE, PERMUTE, TRANSPOSE, GET_ROWS, MUL_MAT, MUL_MAT_ID, ARGSORT, MEND, OPS };

static const char * op_name(int op) {
    static const char * const names[] = {"NONE",     "VIEW",    "RESHAPE",    "PERMUTE", "TRANSPOSE",
                                         "GET_ROWS", "MUL_MAT", "MUL_MAT_ID", "ARGSORT", "MEND"};
    return op < OPS ? names[op] : "OTHER";
}

static size_t type_size(int type) {
    return type == F32 ? 4 : 18;
}

static int64_t block_size(int type) {
    return type == F32 ? 1 : 32;
}

const struct abi_functions fake_engine = {.op_name = op_name, .type_size = type_size, .block_size = block_size};

// ---- the model ----

static void set_strides(struct abi_tensor * t) {
    t->nb[0] = type_size(t->type);
    t->nb[1] = t->nb[0] * (size_t) (t->ne[0] / block_size(t->type));
    t->nb[2] = t->nb[1] * (size_t) t->ne[1];
    t->nb[3] = t->nb[2] * (size_t) t->ne[2];
}

static uint64_t bytes_of(const struct abi_tensor * t) {
    return t->nb[3] * (uint64_t) t->ne[3];
}

// Its data is where it lies in the file, until that is mapped.
static void add_tensor(struct model * m, struct abi_tensor * t, int type, int64_t a, int64_t b, int64_t c,
                       const char * name) {
    *t = (struct abi_tensor){.type = type, .ne = {a, b, c, 1}};
    snprintf(t->name, sizeof(t->name), "%s", name);
    set_strides(t);
    m->size = (m->size + 31) / 32 * 32;
    t->data = (void *) m->size;
    m->size += bytes_of(t);
}

static void for_all_tensors(struct model * m, void (*call)(struct model *, struct abi_tensor *)) {
    call(m, &m->table);
    call(m, &m->output);
    for (uint32_t i = 0; i < m->shape.layers; i++) {
        for (uint32_t k = 0; k < m->shape.dense; k++) call(m, &m->layers[i].dense[k]);
        for (int k = 0; k < 3 && m->shape.experts > 0; k++) call(m, &m->layers[i].experts[k]);
        if (m->shape.experts > 0) call(m, &m->layers[i].router);
    }
}

static void lay_out(struct model * m, struct random * r) {
    const struct shape * s = &m->shape;
    char                 name[64];
    m->size = 4096 + random_below(r, 100) * 32;
    add_tensor(m, &m->table, F32, s->inputs, 512, 1, "token_embd.weight");
    for (uint32_t i = 0; i < s->layers; i++) {
        for (uint32_t k = 0; k < s->dense; k++) {
            snprintf(name, sizeof(name), "blk.%u.attn_%u.weight", i, k);
            add_tensor(m, &m->layers[i].dense[k], BLOCKS, 1024, (int64_t) (120 + random_below(r, 900)), 1, name);
        }
        if (s->experts == 0) continue;
        snprintf(name, sizeof(name), "blk.%u.ffn_gate_inp.weight", i);
        add_tensor(m, &m->layers[i].router, F32, s->inputs, s->experts, 1, name);
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof(name), "blk.%u.ffn_%s_exps.weight", i, k == 0 ? "gate" : k == 1 ? "up" : "down");
            add_tensor(m, &m->layers[i].experts[k], s->uneven ? BLOCKS : F32, s->uneven ? 96 : 128,
                       s->expert_rows + (k == 2 ? 3 : 0), s->experts, name);
        }
    }
    add_tensor(m, &m->output, BLOCKS, 1024, 600, 1, "output.weight");
}

bool model_make(struct model * m, const struct shape * shape, uint64_t seed) {
    static int    n;
    struct random r = {seed};
    memset(m, 0, sizeof(*m));
    m->shape = *shape;
    lay_out(m, &r);
    snprintf(m->path, sizeof(m->path), "stream-world-%d-%d.gguf", (int) getpid(),
             __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED));
    m->image = malloc(m->size);
    m->fd    = open(m->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(m->image != NULL && m->fd >= 0);
    for (uint64_t i = 0; i + 8 <= m->size; i += 8) {
        uint64_t word = (i + seed) * 0x9e3779b97f4a7c15u;
        memcpy(m->image + i, &word, 8);
    }
    memcpy(m->image, "GGUF", 4);
    for (uint64_t at = 0; at < m->size;) {
        ssize_t wrote = write(m->fd, m->image + at, m->size - at);
        assert_true(wrote > 0);
        at += (uint64_t) wrote;
    }
    int  direct = open(m->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    bool ok     = direct >= 0;
    if (ok) close(direct);
    unlink(m->path); // a test that is ended leaves nothing
    return ok;
}

static void move_into(struct model * m, struct abi_tensor * t) {
    t->data = m->mapped + (uint64_t) t->data;
}

static void move_out(struct model * m, struct abi_tensor * t) {
    t->data = (void *) ((char *) t->data - m->mapped);
}

void model_map(struct model * m, struct ggs_stream * stream) {
    m->mapped = mmap(NULL, m->size, PROT_READ, MAP_SHARED, m->fd, 0);
    assert_true(m->mapped != MAP_FAILED);
    for_all_tensors(m, move_into);
    assert_true(ggs_stream_is_model(m->fd));
    assert_true(ggs_stream_map(stream, m->fd, m->mapped, m->size, 0));
}

void model_unmap(struct model * m, struct ggs_stream * stream) {
    if (stream != NULL) ggs_stream_unmap(stream, m->mapped, m->size);
    for_all_tensors(m, move_out);
    munmap(m->mapped, m->size);
    m->mapped = NULL;
}

void model_remove(struct model * m) {
    close(m->fd);
    free(m->image);
}

// ---- graphs ----

static struct abi_tensor * add_node(struct graph * g, uint32_t choice, int op, const struct abi_tensor * weight,
                                    struct abi_tensor * b, struct abi_tensor * c) {
    struct abi_tensor * t = &g->tensors[g->n];
    *t                    = (struct abi_tensor){
                           .op = op, .ne = {16, g->n_tokens, 1, 1}, .src = {(struct abi_tensor *) weight, b, c}, .flags = 16};
    set_strides(t);
    g->weights[g->n] = op == MUL_MAT || op == MUL_MAT_ID ? weight : NULL;
    g->choices[g->n] = choice;
    g->nodes[g->n++] = t;
    return t;
}

static void add_experts(struct graph * g, const struct layer * layer, uint32_t i) {
    const struct shape * s      = &g->model->shape;
    struct abi_tensor *  hidden = &g->inputs[i];
    g->hidden[i]                = calloc((size_t) s->inputs * g->n_tokens, sizeof(float));
    g->ids[i]                   = calloc((size_t) s->experts * g->n_tokens, sizeof(int32_t));
    g->chosen[i]                = calloc((size_t) s->experts * g->n_tokens, sizeof(int32_t));
    *hidden                     = (struct abi_tensor){.ne = {s->inputs, g->n_tokens, 1, 1}, .data = g->hidden[i]};
    set_strides(hidden);
    struct abi_tensor * router = add_node(g, i, MUL_MAT, &layer->router, hidden, NULL);
    struct abi_tensor * sorted = add_node(g, i, ARGSORT, router, NULL, NULL); // all experts of a token, the best first
    sorted->ne[0]              = s->experts;
    sorted->data               = g->ids[i];
    set_strides(sorted);
    struct abi_tensor * last = sorted;
    if (s->mended) {
        last           = add_node(g, i, MEND, sorted, NULL, NULL);
        last->view_src = sorted;
        last->ne[0]    = s->experts;
        last->data     = g->ids[i];
        set_strides(last);
    }
    struct abi_tensor * best = add_node(g, i, VIEW, last, NULL, NULL);
    best->view_src           = sorted;
    best->data               = g->ids[i];
    best->ne[0]              = s->used;
    best->nb[0]              = sizeof(int32_t);
    best->nb[1] = best->nb[2] = best->nb[3] = s->experts * sizeof(int32_t);
    for (int k = 0; k < 3; k++) {
        add_node(g, i, MUL_MAT_ID, &layer->experts[k], hidden, best);
        if (k == 1) add_node(g, i, MUL_MAT, NULL, hidden, NULL); // something that reads no weight
    }
}

static void add_layer(struct graph * g, uint32_t i, uint32_t choice) {
    const struct model * m = g->model;
    for (uint32_t k = 0; k < m->shape.dense; k++) add_node(g, choice, MUL_MAT, &m->layers[i].dense[k], NULL, NULL);
    if (m->shape.experts > 0) add_experts(g, &m->layers[i], choice);
    if (m->shape.experts > 0 && m->shape.doubled) add_experts(g, &m->layers[i], i + m->shape.layers);
}

void graph_make(struct graph * g, const struct model * model, uint32_t first, uint32_t end, uint32_t n_tokens) {
    memset(g, 0, sizeof(*g));
    g->model    = model;
    g->n_tokens = n_tokens;
    if (first == 0) add_node(g, 0, GET_ROWS, &model->table, NULL, NULL);
    for (uint32_t i = first; i < end; i++) add_layer(g, i, i);
    for (uint32_t i = first; i < end && model->shape.looped; i++) add_layer(g, i, i + model->shape.layers);
    if (end == model->shape.layers) add_node(g, end, MUL_MAT, &model->output, NULL, NULL);
    g->graph = (struct abi_graph){.size = (int32_t) g->n, .n_nodes = (int32_t) g->n, .nodes = g->nodes};
}

void graph_release(struct graph * g) {
    for (uint32_t i = 0; i < WORLD_CHOICES; i++) {
        free(g->hidden[i]);
        free(g->ids[i]);
        free(g->chosen[i]);
    }
}

static void choose_for_token(int32_t * row, const struct shape * s, struct random * r) {
    for (uint32_t e = 0; e < s->experts; e++) row[e] = (int32_t) e;
    for (uint32_t e = 0; e < s->used; e++) { // those with low numbers more often
        uint64_t left = s->experts - e, a = random_below(r, left), b = random_below(r, left);
        uint32_t k = e + (uint32_t) (a < b ? a : b);
        int32_t  x = row[e];
        row[e]     = row[k];
        row[k]     = x;
    }
}

void graph_choose(struct graph * g, struct random * r) {
    const struct shape * s = &g->model->shape;
    for (uint32_t i = 0; i < WORLD_CHOICES; i++) {
        for (uint32_t t = 0; t < g->n_tokens && g->chosen[i] != NULL; t++) {
            choose_for_token(g->chosen[i] + t * s->experts, s, r);
            for (uint32_t k = 0; k < s->inputs; k++)
                g->hidden[i][t * s->inputs + k] = (float) random_below(r, 2000) / 1000.0f - 1.0f;
        }
    }
}

// ---- running ----

struct running {
    struct graph *      graph;
    struct ggs_stream * stream;
    uint32_t            n_threads;
    pthread_barrier_t   barrier;
    uint32_t            wrong; // ops
};

struct worker {
    struct running * running;
    uint32_t         number;
    pthread_t        thread;
};

// Are the experts that the op is given those that were chosen? Each thread looks at some.
static bool has_experts(const struct running * run, uint32_t node, uint32_t number) {
    const struct graph *     g      = run->graph;
    const struct abi_tensor *weight = g->weights[node], *given = g->tensors[node].src[0],
                            *ids = g->tensors[node].src[2];
    const char * right           = g->model->image + ((const char *) weight->data - g->model->mapped);
    for (int64_t t = 0; t < ids->ne[1]; t++) {
        for (int64_t i = number; i < ids->ne[0]; i += run->n_threads) {
            const char * at = (const char *) ids->data + (size_t) t * ids->nb[1] + (size_t) i * ids->nb[0];
            int32_t id = *(const int32_t *) at, expert = g->chosen[g->choices[node]][t * g->model->shape.experts + i];
            if (id < 0 || id >= weight->ne[2]) return false;
            if (memcmp((const char *) given->data + (uint64_t) id * given->nb[2],
                       right + (uint64_t) expert * weight->nb[2], weight->nb[2]) != 0)
                return false;
        }
    }
    return true;
}

// Are the bytes that the op is given those of the model? Each thread looks at its part.
static bool has_weight(const struct running * run, uint32_t node, uint32_t number) {
    const struct graph *      g      = run->graph;
    const struct abi_tensor * weight = g->weights[node];
    const char *              right  = g->model->image + ((const char *) weight->data - g->model->mapped);
    uint64_t                  bytes = bytes_of(weight), part = bytes / run->n_threads, from = part * number;
    uint64_t                  to = number + 1 == run->n_threads ? bytes : from + part;
    return memcmp((const char *) g->tensors[node].src[0]->data + from, right + from, to - from) == 0;
}

// What is sorted is chosen, or the reverse of it where that is mended later.
static void compute_ids(struct graph * g, uint32_t node) {
    const struct shape * s   = &g->model->shape;
    const int32_t *      all = g->chosen[g->choices[node]];
    int32_t *            ids = g->nodes[node]->data;
    uint32_t             n   = s->experts;
    if (g->nodes[node]->op == MEND || (g->nodes[node]->op == ARGSORT && !s->mended)) {
        memcpy(ids, all, g->n_tokens * n * sizeof(*ids));
    } else if (g->nodes[node]->op == ARGSORT) {
        for (uint32_t i = 0; i < g->n_tokens * n; i++) ids[i] = all[i / n * n + n - 1 - i % n];
    }
}

static void * work(void * argument) {
    struct worker *  worker = argument;
    struct running * run    = worker->running;
    struct graph *   g      = run->graph;
    for (uint32_t i = 0; i < g->n; i++) {
        struct abi_tensor * node = g->nodes[i];
        if (node->op == VIEW) continue;
        ggs_stream_op(run->stream, node);
        bool right =
            g->weights[i] == NULL || (node->op == MUL_MAT_ID ? has_experts : has_weight)(run, i, worker->number);
        if (!right) __atomic_add_fetch(&run->wrong, 1, __ATOMIC_RELAXED);
        if (worker->number == 0) compute_ids(g, i);
        pthread_barrier_wait(&run->barrier);
    }
    return NULL;
}

bool graph_run(struct graph * g, struct ggs_stream * stream, uint32_t n_threads) {
    struct running run = {.graph = g, .stream = stream, .n_threads = n_threads};
    struct worker  workers[WORLD_THREADS];
    for (uint32_t i = 0; i < WORLD_CHOICES && g->ids[0] != NULL; i++) {
        if (g->ids[i] != NULL) memset(g->ids[i], 0x7f, g->n_tokens * g->model->shape.experts * sizeof(int32_t));
    }
    assert_int_equal(pthread_barrier_init(&run.barrier, NULL, n_threads), 0);
    bool streamed = ggs_stream_enter(stream, &g->graph);
    for (uint32_t i = 0; i < n_threads; i++) {
        workers[i] = (struct worker){.running = &run, .number = i};
        if (i > 0) assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    work(&workers[0]);
    for (uint32_t i = 1; i < n_threads; i++) pthread_join(workers[i].thread, NULL);
    if (streamed) ggs_stream_leave(stream);
    pthread_barrier_destroy(&run.barrier);
    assert_int_equal(run.wrong, 0);
    for (uint32_t i = 0; i < g->n; i++) {
        if (g->weights[i] != NULL) assert_ptr_equal(g->tensors[i].src[0], g->weights[i]);
    }
    return streamed;
}

// ---- the disk ----

struct faults               faults;
static const struct model * file;
static uint64_t             n_reads;

void faulty_file(const struct model * model) {
    file = model;
}

static void pause_us(uint64_t us) {
    struct timespec pause = {(time_t) (us / 1000000), (long) (us % 1000000) * 1000};
    nanosleep(&pause, NULL);
}

_Noreturn static void refuse(const struct iovec * parts, int n, uint64_t at) {
    fprintf(stderr, "not a direct read: %d parts at %llu\n", n, (unsigned long long) at);
    for (int i = 0; i < n; i++) fprintf(stderr, "  %p, %zu bytes\n", parts[i].iov_base, parts[i].iov_len);
    abort();
}

ssize_t faulty_read(int fd, const struct iovec * parts, int n, off_t offset) {
    struct random r     = {faults.seed + __atomic_add_fetch(&n_reads, 1, __ATOMIC_RELAXED) * 7919};
    uint64_t      bytes = 0, at = (uint64_t) offset, done = 0;
    (void) fd;
    random_next(&r);
    for (int i = 0; i < n; i++) { // what the kernel wants of a direct read
        if ((uintptr_t) parts[i].iov_base % 512 != 0 || parts[i].iov_len % 512 != 0 || parts[i].iov_len == 0)
            refuse(parts, n, at);
        bytes += parts[i].iov_len;
    }
    if (at % 512 != 0 || n < 1) refuse(parts, n, at);
    if (random_chance(&r, faults.delay)) pause_us(random_below(&r, faults.delay_us + 1));
    if (random_chance(&r, faults.hang)) pause_us(faults.hang_ms * 1000);
    bool bad = at < faults.fail_end && at + bytes > faults.fail_begin;
    if (bad || random_chance(&r, faults.fail)) return errno = EIO, -1;
    if (random_chance(&r, faults.interrupt)) return errno = random_chance(&r, 0.5) ? EINTR : EAGAIN, -1;
    if (at >= file->size) return 0;
    if (bytes > file->size - at) bytes = file->size - at;
    if (random_chance(&r, faults.shorten) && bytes > 512) bytes = (1 + random_below(&r, bytes / 512)) * 512;
    for (int i = 0; i < n && done < bytes; i++) {
        size_t some = parts[i].iov_len < bytes - done ? parts[i].iov_len : (size_t) (bytes - done);
        memcpy(parts[i].iov_base, file->image + at + done, some);
        done += some;
    }
    if (random_chance(&r, faults.corrupt)) {
        for (int i = 0; i < n; i++) memset(parts[i].iov_base, 0x55, parts[i].iov_len);
    }
    return (ssize_t) done;
}

static bool held_start(struct ggs_disk * disk) {
    (void) disk;
    return true;
}

static void finish(struct ggs_disk_read * read, bool ok) {
    if (ok) memcpy(read->to, file->image + read->offset, read->needed);
    read->done(read, ok);
}

static void held_submit(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency) {
    struct held_disk * d = (struct held_disk *) disk;
    pthread_mutex_lock(&d->lock);
    assert_true(d->n < 4096);
    d->reads[d->n]       = read;
    d->urgencies[d->n++] = urgency;
    pthread_mutex_unlock(&d->lock);
}

static void held_hurry(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency) {
    struct held_disk * d = (struct held_disk *) disk;
    pthread_mutex_lock(&d->lock);
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->reads[i] == read && d->urgencies[i] < urgency) d->urgencies[i] = urgency;
    }
    pthread_mutex_unlock(&d->lock);
}

static struct ggs_disk_read * remove_at(struct held_disk * d, uint32_t i) {
    struct ggs_disk_read * read = d->reads[i];
    d->n--;
    memmove(&d->reads[i], &d->reads[i + 1], (d->n - i) * sizeof(d->reads[0]));
    memmove(&d->urgencies[i], &d->urgencies[i + 1], (d->n - i) * sizeof(d->urgencies[0]));
    return read;
}

static bool held_cancel(struct ggs_disk * disk, struct ggs_disk_read * read) {
    struct held_disk * d    = (struct held_disk *) disk;
    bool               gone = false;
    pthread_mutex_lock(&d->lock);
    for (uint32_t i = 0; i < d->n && !d->refuses && !gone; i++) {
        if (d->reads[i] != read) continue;
        remove_at(d, i);
        gone = true;
    }
    pthread_mutex_unlock(&d->lock);
    return gone;
}

void held_disk_init(struct held_disk * d) {
    memset(d, 0, sizeof(*d));
    d->disk = (struct ggs_disk){held_start, held_submit, held_hurry, held_cancel};
    pthread_mutex_init(&d->lock, NULL);
}

bool held_disk_finish(struct held_disk * d, uint64_t offset, bool ok) {
    struct ggs_disk_read * read = NULL;
    pthread_mutex_lock(&d->lock);
    for (uint32_t i = 0; i < d->n && read == NULL; i++) {
        const struct ggs_disk_read * r = d->reads[i];
        if (offset == UINT64_MAX || (offset >= r->offset && offset < r->offset + r->needed)) read = remove_at(d, i);
    }
    pthread_mutex_unlock(&d->lock);
    if (read != NULL) finish(read, ok);
    return read != NULL;
}

void held_disk_finish_all(struct held_disk * d) {
    while (held_disk_finish(d, UINT64_MAX, true)) continue;
}

static void * pump_work(void * argument) {
    struct pump *      pump = argument;
    struct held_disk * d    = pump->disk;
    while (!__atomic_load_n(&pump->ending, __ATOMIC_RELAXED)) {
        struct ggs_disk_read * read    = NULL;
        int                    verdict = -1;
        pthread_mutex_lock(&d->lock);
        for (uint32_t i = 0; i < d->n && read == NULL; i++) {
            verdict = pump->verdict(d->reads[i], d->urgencies[i]);
            if (verdict >= 0) read = remove_at(d, i);
        }
        pthread_mutex_unlock(&d->lock);
        if (read != NULL) {
            finish(read, verdict == 1);
        } else {
            pause_us(100);
        }
    }
    return NULL;
}

void pump_start(struct pump * pump, struct held_disk * disk,
                int (*verdict)(const struct ggs_disk_read * read, enum ggs_urgency urgency)) {
    *pump = (struct pump){.disk = disk, .verdict = verdict};
    assert_int_equal(pthread_create(&pump->thread, NULL, pump_work, pump), 0);
}

void pump_end(struct pump * pump) {
    __atomic_store_n(&pump->ending, true, __ATOMIC_RELAXED);
    pthread_join(pump->thread, NULL);
}

// ---- memory ----

#define FAKE(m) ((struct fake_memory *) (m))

static uint64_t get(const uint64_t * value) {
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static uint64_t fake_limit(struct ggs_memory * m) {
    return get(&FAKE(m)->limit);
}

static struct ggs_memory * pages_of(struct ggs_memory * m) {
    return ggs_kernel_memory_face(FAKE(m)->kernel);
}

static uint64_t fake_empty(struct ggs_memory * m) {
    return pages_of(m)->empty(pages_of(m));
}

// A MiB, and what has been touched of what was committed.
static uint64_t held_now(struct ggs_memory * m) {
    uint64_t committed = get(&FAKE(m)->committed), empty = fake_empty(m);
    return (1 << 20) + (committed < empty ? 0 : committed - empty);
}

static uint64_t fake_left(struct ggs_memory * m) {
    uint64_t used = get(&FAKE(m)->taken) + held_now(m), limit = get(&FAKE(m)->limit);
    return used < limit ? limit - used : 0;
}

static double fake_stalled(struct ggs_memory * m) {
    return FAKE(m)->stalled;
}

static void fake_watch(struct ggs_memory * m, uint64_t margin) {
    (void) m, (void) margin;
}

static bool fake_wait(struct ggs_memory * m, int ms) {
    (void) m, (void) ms;
    pause_us(500);
    return false;
}

static uint64_t fake_left_now(struct ggs_memory * m, bool * told) {
    *told = false;
    return fake_left(m);
}

static char * fake_reserve(struct ggs_memory * m, size_t bytes) {
    return FAKE(m)->refuses_pages ? NULL : pages_of(m)->reserve(pages_of(m), bytes);
}

static void fake_release(struct ggs_memory * m, char * at, size_t bytes) {
    struct fake_memory * f = FAKE(m);
    pthread_mutex_lock(&f->lock);
    for (uint32_t i = 0; i < f->n_parts;) {
        if (f->parts[i].iov_base >= (void *) at && f->parts[i].iov_base < (void *) (at + bytes)) {
            __atomic_sub_fetch(&f->committed, f->parts[i].iov_len, __ATOMIC_RELAXED);
            f->parts[i] = f->parts[--f->n_parts];
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&f->lock);
    pages_of(m)->release(pages_of(m), at, bytes);
}

static bool fake_commit(struct ggs_memory * m, char * at, size_t bytes, bool huge) {
    struct fake_memory * f = FAKE(m);
    (void) huge; // what is given back is seen page by page
    if (f->refuses_pages || !pages_of(m)->commit(pages_of(m), at, bytes, false)) return false;
    pthread_mutex_lock(&f->lock);
    assert_true(f->n_parts < 1024);
    f->parts[f->n_parts++] = (struct iovec){at, bytes};
    __atomic_add_fetch(&f->committed, bytes, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&f->lock);
    return true;
}

static uint64_t fake_let_go(struct ggs_memory * m, char * at, size_t bytes) {
    return pages_of(m)->let_go(pages_of(m), at, bytes);
}

static bool fake_move(struct ggs_memory * m, char * from, char * to, size_t bytes) {
    return !FAKE(m)->refuses_moves && pages_of(m)->move(pages_of(m), from, to, bytes);
}

static uint64_t fake_missing(struct ggs_memory * m, const char * at, size_t bytes) {
    return pages_of(m)->missing(pages_of(m), at, bytes);
}

void fake_memory_init(struct fake_memory * m, uint64_t limit) {
    memset(m, 0, sizeof(*m));
    m->kernel = ggs_kernel_memory_create();
    m->limit  = limit;
    pthread_mutex_init(&m->lock, NULL);
    m->memory = (struct ggs_memory){fake_limit,  fake_left,     held_now,     fake_stalled, fake_watch,
                                    fake_wait,   fake_left_now, fake_reserve, fake_release, fake_commit,
                                    fake_let_go, fake_move,     fake_empty,   fake_missing};
}

void fake_memory_release(struct fake_memory * m) {
    ggs_kernel_memory_destroy(m->kernel);
}

// ---- all of it ----

static struct world *  talking;
static pthread_mutex_t talk = PTHREAD_MUTEX_INITIALIZER;

static void say(const char * line) {
    pthread_mutex_lock(&talk);
    size_t at = strlen(talking->said);
    snprintf(talking->said + at, sizeof(talking->said) - at, "%s\n", line);
    pthread_mutex_unlock(&talk);
}

static bool start_thread(pthread_t * thread, void * (*function)(void *), void * argument) {
    return pthread_create(thread, NULL, function, argument) == 0;
}

uint64_t world_clock(void) {
    return ggs_clock_now() * 500;
}

uint64_t limit_for(const struct model * m, double share) {
    return (1 << 20) + WORLD_RESERVE + (uint64_t) (share * (double) m->size);
}

void world_make(struct world * w, const struct ggs_stream_settings * settings, uint64_t limit, bool held) {
    memset(w, 0, sizeof(*w));
    fake_memory_init(&w->memory, limit);
    held_disk_init(&w->held);
    w->pool                          = ggs_pool_create(&(struct ggs_pool_options){.read = faulty_read, .threads = 3});
    struct ggs_stream_world    parts = {.disk         = held ? &w->held.disk : ggs_pool_disk(w->pool),
                                        .memory       = &w->memory.memory,
                                        .clock        = world_clock,
                                        .start_thread = start_thread,
                                        .print        = say};
    struct ggs_stream_settings own   = *settings;
    own.reserve                      = WORLD_RESERVE;
    w->stream                        = ggs_stream_create(&own, &parts);
    assert_non_null(w->stream);
    ggs_stream_set_engine(w->stream, &fake_engine);
    talking = w;
}

void world_end(struct world * w) {
    ggs_stream_destroy(w->stream);
    ggs_pool_destroy(w->pool);
    fake_memory_release(&w->memory);
}

bool slots_are_sound(struct world * w) {
    bool sound = true;
    ggs_stream_lock(w->stream);
    for (size_t i = 0; i < w->stream->weights.n_groups; i++) {
        const struct ggs_expert_group * g = w->stream->weights.groups[i];
        for (uint32_t k = 0; k < g->n_experts && g->slots != NULL; k++) {
            int32_t slot = g->slot_of[k], expert = g->slots[k].expert;
            sound &=
                (slot < 0 || g->slots[slot].expert == (int32_t) k) && (expert < 0 || g->slot_of[expert] == (int32_t) k);
        }
    }
    ggs_stream_unlock(w->stream);
    return sound;
}
