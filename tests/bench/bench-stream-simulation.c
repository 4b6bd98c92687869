// ggscope stream in simulated time: the real core, a model of the shape of Qwen3-30B-A3B without
// data, a disk with a bandwidth, a latency and a queue depth, and an engine whose ops take a given
// time. Prints the same on every machine and in every run.
//     bench-stream-simulation [NAME=VALUE...] [SHARE...]
// SHARE: memory in % of the model's size (25 50 75). NAME: see `options`; times are in ns, or in ms
// for `ms` (a token) and `prompt`.
//
// What the routers see is random: `same` is the part that all tokens share, which makes some
// experts more frequent, and `state` is what a layer leaves of a token's own part, which makes them
// predictable. "lfu" is the bound that stream.mjs prints.
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/core.h"
#include "stream/memory/pages.h"

enum { LAYERS = 48, EXPERTS = 128, USED = 8, INPUTS = 64, MOST_TOKENS = 512, NODES = LAYERS * 12 + 2 };
enum { NONE, VIEW, GET_ROWS, MUL_MAT, MUL_MAT_ID, SORT, OPS };

static double bandwidth = 4.3e9, latency = 200e3, depth = 8, prompt_tokens = 12, generated = 48,
              touch = 0, // of a huge page that has no memory yet
    keep_state = 0.99, persistent = 0.2, ms_token = 42, ms_prompt = 350;

// ---- the model ----

struct tensor {
    struct abi_tensor t;
    char              room[16];
};
struct layer {
    struct tensor dense[4], router, experts[3];
};
static struct layer  layers[LAYERS];
static struct tensor table, output;
static uint64_t      size = 4096;
static char *        mapped;
static float         routers[LAYERS][EXPERTS][INPUTS];
static uint64_t      router_at[LAYERS];

static const char * op_name(int op) {
    static const char * const names[] = {"NONE", "VIEW", "GET_ROWS", "MUL_MAT", "MUL_MAT_ID", "ARGSORT"};
    return op < OPS ? names[op] : "OTHER";
}
static size_t type_size(int type) {
    return type == 0 ? 4 : type == 1 ? 18 : 210;
}
static int64_t block_size(int type) {
    return type == 0 ? 1 : type == 1 ? 32 : 256;
}
static const struct abi_functions engine = {.op_name = op_name, .type_size = type_size, .block_size = block_size};

static void strides(struct abi_tensor * t) {
    t->nb[0] = type_size(t->type);
    t->nb[1] = t->nb[0] * (size_t) (t->ne[0] / block_size(t->type));
    t->nb[2] = t->nb[1] * (size_t) t->ne[1];
    t->nb[3] = t->nb[2] * (size_t) t->ne[2];
}

static void add(struct abi_tensor * t, int type, int64_t a, int64_t b, int64_t c, const char * name) {
    *t = (struct abi_tensor){.type = type, .ne = {a, b, c, 1}};
    snprintf(t->name, sizeof(t->name), "%s", name);
    strides(t);
    size    = (size + 31) / 32 * 32;
    t->data = (void *) size;
    size += t->nb[3];
}

// ---- time ----

static uint64_t now;
static uint64_t clock_now(void) {
    return __atomic_load_n(&now, __ATOMIC_RELAXED);
}

static uint64_t seed_state = 7;
static double   uniform(void) {
      seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
      uint64_t x = seed_state ^ (seed_state >> 33);
      x          = x * 0xff51afd7ed558ccdu;
      return (double) ((x ^ (x >> 29)) >> 11) / (double) (1ull << 53);
}
static double normal(void) {
    return sqrt(-2 * log(uniform() + 1e-12)) * cos(6.283185307 * uniform());
}

// ---- the disk ----

enum { MOST_PARTS = 16, PIECE = 1 << 20, DEPTH = 64 };
struct request {
    struct ggs_disk_read * reads[MOST_PARTS];
    int                    n, fd, urgency;
    uint64_t               offset, bytes, done_at;
    bool                   busy;
};
static struct disk {
    struct ggs_disk disk;
    pthread_mutex_t lock;
    struct {
        struct ggs_disk_read *first, *last;
    } queues[GGS_URGENCIES];
    struct request flying[DEPTH];
    uint64_t       bus_free;
    // accounts
    uint64_t bytes[GGS_URGENCIES], busy_ns;
} disk;

static void enqueue(struct ggs_disk_read * r, enum ggs_urgency u) {
    r->urgency = u, r->next = NULL, r->before = disk.queues[u].last;
    if (r->before)
        r->before->next = r;
    else
        disk.queues[u].first = r;
    disk.queues[u].last = r;
}
static void dequeue(struct ggs_disk_read * r) {
    if (r->before)
        r->before->next = r->next;
    else
        disk.queues[r->urgency].first = r->next;
    if (r->next)
        r->next->before = r->before;
    else
        disk.queues[r->urgency].last = r->before;
}
static bool is_queued(const struct ggs_disk_read * r) {
    return r->begun < r->bytes;
}

static unsigned char * touched; // by 2 MiB of address, hashed
static double          touch_cost(const char * to, uint64_t bytes) {
             if (touch == 0) return 0;
    double cost = 0;
             for (uint64_t p = (uint64_t) to >> 21; p <= ((uint64_t) to + bytes - 1) >> 21; p++) {
                 if (touched[p & 0xffffff]) continue;
        touched[p & 0xffffff] = 1;
                 cost += touch;
    }
             return cost;
}

static uint64_t add_piece(struct request * q, struct ggs_disk_read * r, uint64_t most) {
    uint64_t n = r->bytes - r->begun < most ? r->bytes - r->begun : most;
    if (r->begun + n == r->bytes) dequeue(r);
    r->begun += n, r->under_way++;
    q->reads[q->n++] = r;
    return n;
}

// Begins requests as long as there is room. With the disk's lock.
static void begin_requests(void) {
    for (int i = 0; i < (int) depth; i++) {
        struct request * q = &disk.flying[i];
        if (q->busy) continue;
        int u = GGS_URGENCIES - 1;
        while (u >= 0 && disk.queues[u].first == NULL) u--;
        if (u < 0) return;
        struct ggs_disk_read * r = disk.queues[u].first;
        *q        = (struct request){.fd = r->fd, .urgency = u, .offset = r->offset + r->begun, .busy = true};
        char * to = r->to + r->begun;
        q->bytes  = add_piece(q, r, PIECE);
        while (q->n < MOST_PARTS && q->bytes < PIECE && !is_queued(q->reads[q->n - 1])) {
            struct ggs_disk_read * next = disk.queues[u].first;
            uint64_t               end  = q->offset + q->bytes;
            if (!next || next->fd != q->fd || next->begun > 0 || next->bytes > PIECE - q->bytes || next->offset > end ||
                end - next->offset > 4096)
                break;
            q->bytes += add_piece(q, next, next->bytes) - (end - next->offset);
        }
        uint64_t start    = now + (uint64_t) (latency + touch_cost(to, q->bytes)),
                 transfer = (uint64_t) ((double) q->bytes / bandwidth * 1e9);
        uint64_t from     = start > disk.bus_free ? start : disk.bus_free;
        disk.bus_free = q->done_at = from + transfer;
        disk.busy_ns += transfer, disk.bytes[u] += q->bytes;
    }
}

// Ends the request that ends first, if until `until`. False: there is none.
static bool end_request(uint64_t until) {
    struct request * first = NULL;
    pthread_mutex_lock(&disk.lock);
    for (int i = 0; i < (int) depth; i++) {
        struct request * q = &disk.flying[i];
        if (q->busy && (first == NULL || q->done_at < first->done_at)) first = q;
    }
    if (first == NULL || first->done_at > until) {
        pthread_mutex_unlock(&disk.lock);
        return false;
    }
    __atomic_store_n(&now, first->done_at, __ATOMIC_RELAXED);
    struct request q = *first;
    first->busy      = false;
    struct ggs_disk_read * done[MOST_PARTS];
    int                    n = 0;
    for (int i = 0; i < q.n; i++) {
        if (--q.reads[i]->under_way == 0 && !is_queued(q.reads[i])) done[n++] = q.reads[i];
    }
    begin_requests();
    pthread_mutex_unlock(&disk.lock);
    for (int i = 0; i < n; i++) {
        struct ggs_disk_read * r = done[i];
        for (int k = 0; k < LAYERS; k++) {
            if (router_at[k] < r->offset || router_at[k] >= r->offset + r->bytes || r->bytes > 1 << 20) continue;
            memcpy(r->to + (router_at[k] - r->offset), routers[k], sizeof(routers[k]));
        }
        r->done(r, !r->failed);
    }
    return true;
}

static bool start(struct ggs_disk * d) {
    (void) d;
    return true;
}
static void submit(struct ggs_disk * d, struct ggs_disk_read * r, enum ggs_urgency u) {
    (void) d;
    pthread_mutex_lock(&disk.lock);
    r->begun = 0, r->under_way = 0, r->failed = false;
    enqueue(r, u);
    pthread_mutex_unlock(&disk.lock);
}
static void hurry(struct ggs_disk * d, struct ggs_disk_read * r, enum ggs_urgency u) {
    (void) d;
    pthread_mutex_lock(&disk.lock);
    if (is_queued(r) && r->urgency < u) {
        dequeue(r);
        enqueue(r, u);
    }
    pthread_mutex_unlock(&disk.lock);
}
static bool cancel(struct ggs_disk * d, struct ggs_disk_read * r) {
    (void) d;
    bool gone = false;
    pthread_mutex_lock(&disk.lock);
    if (is_queued(r)) {
        dequeue(r);
        r->begun  = r->bytes;
        r->failed = true;
        gone      = r->under_way == 0;
    }
    pthread_mutex_unlock(&disk.lock);
    return gone;
}

// ---- memory ----

static uint64_t limit, engine_bytes = 300 << 20;
static uint64_t m_limit(struct ggs_memory * m) {
    (void) m;
    return limit;
}
static uint64_t m_left(struct ggs_memory * m) {
    (void) m;
    return limit - engine_bytes;
}
static uint64_t m_held(struct ggs_memory * m) {
    (void) m;
    return engine_bytes;
}
static double m_stalled(struct ggs_memory * m) {
    (void) m;
    return 0;
}
static void m_watch(struct ggs_memory * m, uint64_t margin) {
    (void) m, (void) margin;
}
static bool m_wait(struct ggs_memory * m, int ms) {
    (void) m, (void) ms;
    return false;
}
static uint64_t m_left_now(struct ggs_memory * m, bool * told) {
    *told = true;
    return m_left(m);
}
static char * m_reserve(struct ggs_memory * m, size_t n) {
    (void) m;
    return ggs_page_memory_reserve(n);
}
static void m_release(struct ggs_memory * m, char * at, size_t n) {
    (void) m;
    munmap(at, n);
}
static bool m_commit(struct ggs_memory * m, char * at, size_t n, bool huge) {
    (void) m, (void) huge;
    uintptr_t from = (uintptr_t) at & ~4095ul, to = ((uintptr_t) at + n + 4095) & ~4095ul;
    return mprotect((void *) from, to - from, PROT_READ | PROT_WRITE) == 0;
}
static uint64_t m_let_go(struct ggs_memory * m, char * at, size_t n) {
    (void) m, (void) at;
    return n;
}
static bool m_move(struct ggs_memory * m, char * from, char * to, size_t n) {
    (void) m;
    return ggs_page_memory_move(from, to, n);
}
static uint64_t m_empty(struct ggs_memory * m) {
    (void) m;
    return 0;
}
static uint64_t m_missing(struct ggs_memory * m, const char * at, size_t n) {
    (void) m, (void) at;
    return n;
}
static struct ggs_memory memory = {m_limit,   m_left,    m_held,   m_stalled, m_watch, m_wait,  m_left_now,
                                   m_reserve, m_release, m_commit, m_let_go,  m_move,  m_empty, m_missing};

// ---- the stream ----

static struct ggs_stream * s;
static void                print_line(const char * line) {
                   (void) line;
}
static int  threads_started;
static bool start_thread(pthread_t * t, void * (*work)(void *), void * a) {
    threads_started++;
    if (threads_started == 1) return false; // no watch: memory is constant
    return pthread_create(t, NULL, work, a) == 0;
}
static bool measure(struct ggs_stream_world * w, int fd, uint64_t n, uint64_t room, struct ggs_speed * speed) {
    (void) w, (void) fd, (void) n, (void) room;
    *speed = (struct ggs_speed){.sequential = (uint64_t) bandwidth,
                                .random     = (uint64_t) bandwidth,
                                .depth      = 8,
                                .piece      = PIECE,
                                .in_place   = (uint64_t) bandwidth};
    return true;
}

// Waits, in real time, until the predicting thread has nothing to do.
static void settle(void) {
    for (;;) {
        ggs_stream_lock(s);
        bool idle = !s->predictor.started || (s->predictor.wanted.n == 0 && !s->predictor.busy);
        ggs_stream_unlock(s);
        if (idle) break;
        sched_yield();
    }
    pthread_mutex_lock(&disk.lock);
    begin_requests();
    pthread_mutex_unlock(&disk.lock);
}

static void advance(double ns) {
    uint64_t until = now + (uint64_t) ns;
    settle();
    while (end_request(until)) settle();
    __atomic_store_n(&now, until, __ATOMIC_RELAXED);
}

// Moves time on while the engine's thread waits for a read.
static bool   ending;
static void * turn(void * unused) {
    (void) unused;
    while (!__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
        ggs_stream_lock(s);
        bool waits =
            (s->awaited != NULL && s->awaited->state == GGS_ARRIVAL_READING) || (s->awaits_any > 0 && s->reading > 0);
        bool busy = s->predictor.started && (s->predictor.wanted.n > 0 || s->predictor.busy);
        ggs_stream_unlock(s);
        if (!waits || busy) {
            sched_yield();
            continue;
        }
        pthread_mutex_lock(&disk.lock);
        begin_requests();
        pthread_mutex_unlock(&disk.lock);
        end_request(UINT64_MAX);
    }
    return NULL;
}

// ---- the engine ----

struct graph {
    struct abi_graph    graph;
    struct tensor       tensors[NODES];
    struct abi_tensor * nodes[NODES];
    double              ns[NODES];
    int                 layer[NODES]; // whose choice is made by it; -1
    struct tensor       hidden[LAYERS];
    int32_t             n;
};
static int32_t ids[LAYERS][MOST_TOKENS * EXPERTS];
static float   states[LAYERS][MOST_TOKENS * INPUTS];

static struct abi_tensor * node(struct graph * g, int op, struct abi_tensor * a, struct abi_tensor * b,
                                struct abi_tensor * c, double ns) {
    struct abi_tensor * t = &g->tensors[g->n].t;
    *t                    = (struct abi_tensor){.op = op, .ne = {16, 1, 1, 1}, .src = {a, b, c}, .flags = 16};
    strides(t);
    g->ns[g->n]      = ns;
    g->layer[g->n]   = -1;
    g->nodes[g->n++] = t;
    return t;
}

static void make_graph(struct graph * g, int n_tokens) {
    double total = (n_tokens == 1 ? ms_token : ms_prompt) * 1e6, each = total * 0.95 / LAYERS;
    memset(g, 0, sizeof(*g));
    node(g, GET_ROWS, &table.t, NULL, NULL, 1000);
    for (int i = 0; i < LAYERS; i++) {
        struct layer * l = &layers[i];
        for (int k = 0; k < 4; k++) node(g, MUL_MAT, &l->dense[k].t, NULL, NULL, each * 0.08);
        struct abi_tensor * h = &g->hidden[i].t;
        *h                    = (struct abi_tensor){.ne = {INPUTS, n_tokens, 1, 1}, .data = states[i]};
        strides(h);
        struct abi_tensor * router = node(g, MUL_MAT, &l->router.t, h, NULL, each * 0.02);
        struct abi_tensor * sorted = node(g, SORT, router, NULL, NULL, each * 0.02);
        g->layer[g->n - 1]         = i;
        sorted->ne[0] = EXPERTS, sorted->ne[1] = n_tokens, sorted->data = ids[i];
        strides(sorted);
        struct abi_tensor * best = node(g, VIEW, sorted, NULL, NULL, 0);
        best->view_src = sorted, best->data = ids[i], best->ne[0] = USED, best->ne[1] = n_tokens;
        best->nb[0] = 4, best->nb[1] = best->nb[2] = best->nb[3] = EXPERTS * 4;
        node(g, OPS, router, NULL, NULL, each * 0.02); // weights of the experts
        for (int k = 0; k < 3; k++) node(g, MUL_MAT_ID, &l->experts[k].t, h, best, each * 0.2);
    }
    node(g, MUL_MAT, &output.t, NULL, NULL, total * 0.05);
    g->graph = (struct abi_graph){.size = g->n, .n_nodes = g->n, .nodes = g->nodes};
}

static float mean_state[INPUTS];
// What the routers see: a part that is the same for all tokens, and one of the token, changed a
// little by each layer.
static void choose(int n_tokens) {
    double grow = sqrt(1 - keep_state * keep_state);
    for (int t = 0; t < n_tokens; t++) {
        float x[INPUTS];
        for (int k = 0; k < INPUTS; k++) x[k] = (float) normal();
        for (int i = 0; i < LAYERS; i++) {
            float score[EXPERTS];
            for (int k = 0; k < INPUTS; k++) {
                if (i > 0) x[k] = (float) (keep_state * x[k] + grow * normal());
                states[i][t * INPUTS + k] = x[k] + (float) persistent * mean_state[k];
            }
            for (int e = 0; e < EXPERTS; e++) {
                score[e] = 0;
                for (int k = 0; k < INPUTS; k++) score[e] += routers[i][e][k] * states[i][t * INPUTS + k];
            }
            for (int r = 0; r < USED; r++) {
                int best = 0;
                for (int e = 1; e < EXPERTS; e++) best = score[e] > score[best] ? e : best;
                score[best]             = -1e30f;
                ids[i][t * EXPERTS + r] = best;
            }
        }
    }
}

static void run(struct graph * g) {
    bool streamed = ggs_stream_enter(s, &g->graph);
    settle();
    for (int i = 0; i < g->n; i++) {
        if (g->nodes[i]->op == VIEW) continue;
        ggs_stream_op(s, g->nodes[i]);
        advance(g->ns[i]);
    }
    if (streamed) ggs_stream_leave(s);
    settle();
}

// The misses of a cache that drops the expert chosen least often so far, as stream.mjs counts them.
static struct {
    uint32_t uses[EXPERTS], n;
    bool     kept[EXPERTS];
} lfu[LAYERS];
static uint32_t lfu_room;
static double   lfu_ns;

static bool lfu_misses(int layer, int expert) {
    lfu[layer].uses[expert]++;
    if (lfu[layer].kept[expert]) return false;
    lfu[layer].kept[expert] = true;
    if (++lfu[layer].n <= lfu_room) return true;
    int worst = -1;
    for (int e = 0; e < EXPERTS; e++) {
        if (lfu[layer].kept[e] && e != expert && (worst < 0 || lfu[layer].uses[e] < lfu[layer].uses[worst])) worst = e;
    }
    lfu[layer].kept[worst] = false;
    lfu[layer].n--;
    return true;
}

static void count_lfu(int n_tokens) {
    uint64_t missed = 0;
    for (int i = 0; i < LAYERS; i++) {
        for (int k = 0; k < n_tokens * USED; k++) missed += lfu_misses(i, ids[i][k / USED * EXPERTS + k % USED]);
    }
    double ns = (double) missed * (double) (layers[0].experts[0].t.nb[2] * 3) / bandwidth * 1e9;
    lfu_ns += ns > ms_token * 1e6 ? ns : ms_token * 1e6;
}

struct account {
    uint64_t                 now, busy, bytes[GGS_URGENCIES];
    double                   lfu;
    struct ggs_stream_counts counts;
};

static struct account account(void) {
    struct account a = {.now = now, .busy = disk.busy_ns, .lfu = lfu_ns, .counts = s->counts};
    memcpy(a.bytes, disk.bytes, sizeof(a.bytes));
    return a;
}

// Prints what happened from a to b, for each of n runs.
static void report(const char * what, int n, struct account a, struct account b) {
    double gb[GGS_URGENCIES], all = 0, ms = (double) (b.now - a.now) / 1e6 / n, lfu_ms = (b.lfu - a.lfu) / 1e6 / n;
    if (n == 0) return;
    for (int u = 0; u < GGS_URGENCIES; u++) all += gb[u] = (double) (b.bytes[u] - a.bytes[u]) / 1e9 / n;
    printf("  %-8s %8.1f ms, bytes / disk %7.1f, lfu %7.1f (%.2f times), disk busy %.2f, waits %7.1f ms\n", what, ms,
           all / bandwidth * 1e12, lfu_ms, ms / lfu_ms, (double) (b.busy - a.busy) / (double) (b.now - a.now),
           (double) (b.counts.wait_ns - a.counts.wait_ns) / 1e6 / n);
    printf("           GB: now %.2f, soon %.2f, idle %.2f; experts: %.0f misses, %.0f hits, %.0f predicted, %.0f of "
           "them used\n",
           gb[GGS_READ_NOW], gb[GGS_READ_SOON], gb[GGS_READ_IDLE], (double) (b.counts.misses - a.counts.misses) / n,
           (double) (b.counts.hits - a.counts.hits) / n, (double) (b.counts.predicted - a.counts.predicted) / n,
           (double) (b.counts.predicted_used - a.counts.predicted_used) / n);
}

static void move_tensors(intptr_t by) {
    table.t.data  = (char *) table.t.data + by;
    output.t.data = (char *) output.t.data + by;
    for (int i = 0; i < LAYERS; i++) {
        struct layer * l = &layers[i];
        for (int k = 0; k < 4; k++) l->dense[k].t.data = (char *) l->dense[k].t.data + by;
        for (int k = 0; k < 3; k++) l->experts[k].t.data = (char *) l->experts[k].t.data + by;
        l->router.t.data = (char *) l->router.t.data + by;
    }
}

static void generate(int n) {
    static struct graph token;
    make_graph(&token, 1);
    for (int i = 0; i < n; i++) {
        choose(1);
        count_lfu(1);
        run(&token);
        advance(1e6); // sampling
    }
}

static void simulate(int share) {
    static struct graph prompt;
    memset(&disk, 0, sizeof(disk));
    disk.disk = (struct ggs_disk){start, submit, hurry, cancel};
    pthread_mutex_init(&disk.lock, NULL);
    memset(touched, 0, 1 << 24);
    seed_state = 7, now = 1000, ending = false, threads_started = 0;
    limit                               = size / 100 * (uint64_t) share;
    struct ggs_stream_settings settings = {.predict = -1};
    struct ggs_stream_world    world    = {.disk         = &disk.disk,
                                           .memory       = &memory,
                                           .clock        = clock_now,
                                           .start_thread = start_thread,
                                           .print        = print_line,
                                           .measure      = measure};
    s                                   = ggs_stream_create(&settings, &world);
    ggs_stream_set_engine(s, &engine);
    char path[] = "stream-simulation-XXXXXX"; // sparse, and gone with the descriptor
    int  fd     = mkstemp(path);
    if (fd >= 0) unlink(path);
    if (fd < 0 || ftruncate(fd, (off_t) size) != 0 || pwrite(fd, "GGUF", 4, 0) != 4) abort();
    mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) abort();
    move_tensors((intptr_t) mapped);
    if (!ggs_stream_map(s, fd, mapped, size, 0)) abort();
    make_graph(&prompt, (int) prompt_tokens);
    pthread_t turner;
    pthread_create(&turner, NULL, turn, NULL);
    struct account a = account();
    choose((int) prompt_tokens);
    run(&prompt);
    lfu_room = (uint32_t) ((s->sizes.slots + s->sizes.spare) * EXPERTS / s->sizes.experts);
    memset(lfu, 0, sizeof(lfu));
    count_lfu((int) prompt_tokens);
    struct account b = account();
    printf("%d %%\n", share);
    report("prompt", 1, a, b);
    generate((int) generated / 3);
    struct account c = account();
    report("first", (int) generated / 3, b, c);
    generate((int) generated / 3 * 2);
    report("tokens", (int) generated / 3 * 2, c, account());
    ending = true;
    pthread_join(turner, NULL);
    while (s->reading > 0) end_request(UINT64_MAX); // nothing else ends them
    ggs_stream_unmap(s, mapped, size);
    ggs_stream_destroy(s);
    move_tensors(-(intptr_t) mapped);
    munmap(mapped, size);
    close(fd);
}

static const struct {
    const char * name;
    double *     value;
} options[] = {{"bandwidth", &bandwidth}, {"latency", &latency}, {"depth", &depth},      {"tokens", &prompt_tokens},
               {"generated", &generated}, {"touch", &touch},     {"state", &keep_state}, {"same", &persistent},
               {"ms", &ms_token},         {"prompt", &ms_prompt}};

static bool set_option(const char * word) {
    const char * equals = strchr(word, '=');
    for (size_t i = 0; equals != NULL && i < sizeof(options) / sizeof(options[0]); i++) {
        size_t n = (size_t) (equals - word);
        if (strlen(options[i].name) != n || strncmp(word, options[i].name, n) != 0) continue;
        *options[i].value = atof(equals + 1);
        return true;
    }
    return false;
}

static void make_model(void) {
    char name[64];
    add(&table.t, 2, 2048, 8192, 1, "token_embd.weight");
    for (int i = 0; i < LAYERS; i++) {
        static const int64_t rows[] = {4096, 512, 512, 2048}, columns[] = {2048, 2048, 2048, 4096};
        for (int k = 0; k < 4; k++) {
            snprintf(name, 64, "blk.%d.attn_%d.weight", i, k);
            add(&layers[i].dense[k].t, 2, columns[k], rows[k], 1, name);
        }
        snprintf(name, 64, "blk.%d.ffn_gate_inp.weight", i);
        add(&layers[i].router.t, 0, INPUTS, EXPERTS, 1, name);
        router_at[i] = (uint64_t) layers[i].router.t.data;
        for (int e = 0; e < EXPERTS; e++)
            for (int k = 0; k < INPUTS; k++) routers[i][e][k] = (float) normal();
        for (int k = 0; k < 3; k++) {
            snprintf(name, 64, "blk.%d.ffn_%s_exps.weight", i, k == 0 ? "gate" : k == 1 ? "up" : "down");
            add(&layers[i].experts[k].t, 1, k == 2 ? 768 : 2048, k == 2 ? 2048 : 768, EXPERTS, name);
        }
    }
    add(&output.t, 2, 2048, 8192, 1, "output.weight");
}

int main(int argc, char ** argv) {
    int shares[16] = {25, 50, 75}, n_shares = 0;
    for (int i = 1; i < argc; i++) {
        if (!set_option(argv[i]) && n_shares < 16) shares[n_shares++] = atoi(argv[i]);
    }
    touched = calloc(1, 1 << 24);
    make_model();
    for (int k = 0; k < INPUTS; k++) mean_state[k] = (float) normal();
    printf("%.1f GB, disk %.1f GB/s, %.0f us, %g at a time; prompt of %g tokens computes %g ms, a token %g ms\n",
           (double) size / 1e9, bandwidth / 1e9, latency / 1e3, depth, prompt_tokens, ms_prompt, ms_token);
    for (int i = 0; i < (n_shares == 0 ? 3 : n_shares); i++) simulate(shares[i]);
    return 0;
}
