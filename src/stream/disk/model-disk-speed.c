#include "stream/disk/model-disk-speed.h"

#include <pthread.h>
#include <string.h>

#include "stream/disk/pool.h"

enum { MOST_DEPTH = GGS_SPEED_MOST_DEPTH, LEAST_DEPTH = 2, LEAST_FILE = 16 << 20 };
_Static_assert((int) MOST_DEPTH == (int) GGS_READ_THREADS && (int) GGS_SPEED_MOST_PIECE == (int) GGS_READ_PIECE,
               "what is measured is what is read");

// ns: of one measurement, of one in place, and until the last one begins
static const uint64_t LONG = 6000000, LONG_IN_PLACE = 20000000, LONGEST = 150000000;

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
    const struct ggs_speed_bench * bench;
    uint64_t                       n, piece, most; // most: maximum pieces to read
    uint64_t                       first, places;  // pieces of memory to read into, one after the other
    uint32_t                       depth;
    bool                           in_order;
    uint64_t                       long_ns; // duration
};

// Bytes per second; 0 if a read fails.
static uint64_t rate(const struct trial * t) {
    const struct ggs_speed_bench * b     = t->bench;
    struct meter                   meter = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
    uint64_t                       read = 0, begin = b->clock(), seed = begin | 1;
    for (uint32_t i = 0; read < t->most * t->piece; i = (i + 1) % t->depth) {
        struct metered * m = &meter.reads[i];
        if (!await_done(&meter, m) || b->clock() - begin >= t->long_ns) break;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t at = (t->in_order ? read / t->piece : seed) % t->n;
        *m          = (struct metered){.meter = &meter, .busy = true};
        m->read     = (struct ggs_disk_read){.fd     = b->fd,
                                             .offset = at * t->piece,
                                             .bytes  = t->piece,
                                             .needed = t->piece,
                                             .to     = b->memory + (t->first + read / t->piece % t->places) * t->piece,
                                             .done   = note_done};
        b->disk->submit(b->disk, &m->read, GGS_READ_SOON);
        read += t->piece;
    }
    bool ok = true;
    for (uint32_t i = 0; i < t->depth; i++) ok &= await_done(&meter, &meter.reads[i]);
    uint64_t ns = b->clock() - begin;
    return !ok || ns == 0 ? 0 : (uint64_t) ((double) read * 1e9 / (double) ns);
}

// The better of two measurements, because others may use the disk or the processor.
static uint64_t better_rate(const struct trial * t) {
    uint64_t a = rate(t), b = a == 0 ? 0 : rate(t);
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

uint64_t ggs_speed_in_order(const struct ggs_speed_bench * bench, uint64_t n, uint64_t piece, uint32_t depth) {
    if (depth > MOST_DEPTH) depth = MOST_DEPTH;
    struct trial t = {bench, n, piece, n, 0, depth, depth, true, UINT64_MAX};
    return rate(&t);
}

bool ggs_speed_measure(struct ggs_speed * speed, const struct ggs_speed_bench * bench) {
    struct ggs_speed found[16];
    uint32_t         n = 0, best = 0, enough = 0;
    uint64_t         size = bench->size, begin = bench->clock();
    size_t           bytes = bench->bytes < GGS_SPEED_MEMORY ? bench->bytes : GGS_SPEED_MEMORY;
    if (size < LEAST_FILE) return false;
    struct trial t = {.bench = bench, .most = UINT64_MAX / size, .long_ns = LONG};
    memset(bench->memory, 0, bench->bytes); // page faults must not count as disk time
    for (t.piece = GGS_READ_PIECE; t.piece >= GGS_SPEED_LEAST_PIECE; t.piece /= 4) {
        t.n = size / t.piece;
        for (t.depth = LEAST_DEPTH; t.depth <= MOST_DEPTH && t.depth * t.piece <= bytes && n < 16; t.depth *= 2) {
            if (n > 0 && bench->clock() - begin > LONGEST) break;
            t.places        = t.depth;
            uint64_t random = better_rate(&t);
            if (random == 0) return false;
            if (n == 0 || random > found[best].random) best = n;
            found[n++] = (struct ggs_speed){.random = random, .depth = t.depth, .piece = (uint32_t) t.piece};
        }
    }
    if (n == 0) return false;
    while ((double) found[enough].random < 0.9 * (double) found[best].random) enough++;
    *speed  = found[enough];
    t.piece = speed->piece;
    t.n     = size / t.piece;
    t.depth = t.places = speed->depth;
    t.in_order         = true;
    speed->sequential  = better_rate(&t);
    if (bench->bytes >= GGS_SPEED_PLACES) {
        t.in_order      = false;
        t.first         = GGS_SPEED_MEMORY / t.piece; // the memory ahead of it was used above and is in the caches
        t.places        = bench->bytes / t.piece - t.first;
        t.long_ns       = LONG_IN_PLACE;
        speed->in_place = rate(&t); // once: the same places would be in the caches then
    }
    return speed->sequential > 0;
}

// ---- cached between runs ----

bool ggs_speed_know(struct ggs_speed * speed, const struct ggs_speed_bench * bench) {
    char identity[2048], path[PATH_MAX] = "";
    ggs_speed_identity(bench->fd, "/proc", "/sys", identity, sizeof(identity));
    bool kept = ggs_speed_path(identity, path);
    if (kept && ggs_speed_read(path, identity, speed) && (speed->in_place > 0 || bench->bytes < GGS_SPEED_PLACES))
        return true;
    bool ok = ggs_speed_measure(speed, bench);
    if (!ok) *speed = (struct ggs_speed){0};
    if (ok && kept) ggs_speed_write(path, identity, speed);
    return ok;
}
