#include "stream/disk/speed.h"

#include <pthread.h>
#include <string.h>

#include "base/system/clock.h"
#include "stream/disk/pool.h"

enum { MOST_DEPTH = GGS_SPEED_MOST_DEPTH, LEAST_DEPTH = 2, LEAST_FILE = 16 << 20 };
_Static_assert((int) MOST_DEPTH == (int) GGS_READ_THREADS && (int) GGS_SPEED_MOST_PIECE == (int) GGS_READ_PIECE,
               "what is measured is what is read");

static const uint64_t LONG = 6000000, LONGEST = 150000000; // ns: of one measurement, and until the last one begins

// ---- measuring ----

struct meter;

struct metered {
    struct ggs_disk_read read;
    struct meter *       meter;
    bool                 busy;
};

struct meter {
    pthread_mutex_t lock;
    pthread_cond_t  done;
    bool            failed;
    struct metered  reads[MOST_DEPTH];
};

static void note_done(struct ggs_disk_read * read, bool ok) {
    struct metered * m = (struct metered *) read;
    pthread_mutex_lock(&m->meter->lock);
    m->busy = false;
    m->meter->failed |= !ok;
    pthread_cond_signal(&m->meter->done);
    pthread_mutex_unlock(&m->meter->lock);
}

static bool await_done(struct meter * meter, const struct metered * m) {
    pthread_mutex_lock(&meter->lock);
    while (m->busy) pthread_cond_wait(&meter->done, &meter->lock);
    bool ok = !meter->failed;
    pthread_mutex_unlock(&meter->lock);
    return ok;
}

// A measurement: reads of `piece` bytes, `depth` at a time, of the first `n` pieces of a file.
struct trial {
    struct ggs_disk * disk;
    int               fd;
    char *            memory;
    uint64_t          n, piece, most; // most: maximum pieces to read
    uint32_t          depth;
    bool              in_order;
    uint64_t          long_ns; // duration
};

// Bytes per second; 0 if a read fails.
static uint64_t rate(const struct trial * t) {
    struct meter meter = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
    uint64_t     read = 0, begin = ggs_clock_now(), seed = begin | 1;
    for (uint32_t i = 0; read < t->most * t->piece; i = (i + 1) % t->depth) {
        struct metered * m = &meter.reads[i];
        if (!await_done(&meter, m) || ggs_clock_now() - begin >= t->long_ns) break;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t at = (t->in_order ? read / t->piece : seed) % t->n;
        *m          = (struct metered){.meter = &meter, .busy = true};
        m->read     = (struct ggs_disk_read){.fd     = t->fd,
                                             .offset = at * t->piece,
                                             .bytes  = t->piece,
                                             .needed = t->piece,
                                             .to     = t->memory + i * t->piece,
                                             .done   = note_done};
        t->disk->submit(t->disk, &m->read, GGS_READ_SOON);
        read += t->piece;
    }
    bool ok = true;
    for (uint32_t i = 0; i < t->depth; i++) ok &= await_done(&meter, &meter.reads[i]);
    uint64_t ns = ggs_clock_now() - begin;
    return !ok || ns == 0 ? 0 : (uint64_t) ((double) read * 1e9 / (double) ns);
}

// The better of two measurements, because others may use the disk or the processor.
static uint64_t better_rate(const struct trial * t) {
    uint64_t a = rate(t), b = a == 0 ? 0 : rate(t);
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

uint64_t ggs_speed_in_order(struct ggs_disk * disk, int fd, uint64_t n, char * memory, uint64_t piece, uint32_t depth) {
    struct trial t = {disk, fd, memory, n, piece, n, depth < MOST_DEPTH ? depth : MOST_DEPTH, true, UINT64_MAX};
    return rate(&t);
}

bool ggs_speed_measure(struct ggs_speed * speed, struct ggs_disk * disk, int fd, uint64_t size, char * memory,
                       size_t bytes) {
    struct ggs_speed found[16];
    uint32_t         n = 0, best = 0, enough = 0;
    uint64_t         begin = ggs_clock_now();
    struct trial     t     = {.disk = disk, .fd = fd, .memory = memory, .most = UINT64_MAX / size, .long_ns = LONG};
    if (size < LEAST_FILE) return false;
    memset(memory, 0, bytes); // page faults must not count as disk time
    for (t.piece = GGS_READ_PIECE; t.piece >= GGS_SPEED_LEAST_PIECE; t.piece /= 4) {
        t.n = size / t.piece;
        for (t.depth = LEAST_DEPTH; t.depth <= MOST_DEPTH && t.depth * t.piece <= bytes && n < 16; t.depth *= 2) {
            if (n > 0 && ggs_clock_now() - begin > LONGEST) break;
            uint64_t random = better_rate(&t);
            if (random == 0) return false;
            if (n == 0 || random > found[best].random) best = n;
            found[n++] = (struct ggs_speed){.random = random, .depth = t.depth, .piece = (uint32_t) t.piece};
        }
    }
    if (n == 0) return false;
    while ((double) found[enough].random < 0.9 * (double) found[best].random) enough++;
    *speed            = found[enough];
    t.piece           = speed->piece;
    t.n               = size / t.piece;
    t.depth           = speed->depth;
    t.in_order        = true;
    speed->sequential = better_rate(&t);
    return speed->sequential > 0;
}

// ---- cached between runs ----

bool ggs_speed_know(struct ggs_speed * speed, struct ggs_disk * disk, int fd, uint64_t size, char * memory) {
    char identity[2048], path[PATH_MAX] = "";
    ggs_speed_identity(fd, "/proc", "/sys", identity, sizeof(identity));
    bool kept = ggs_speed_path(identity, path);
    if (kept && ggs_speed_read(path, identity, speed)) return true;
    bool ok = ggs_speed_measure(speed, disk, fd, size, memory, GGS_SPEED_MEMORY);
    if (!ok) *speed = (struct ggs_speed){0};
    if (ok && kept) ggs_speed_write(path, identity, speed);
    return ok;
}
