#include "stream/watch.h"

#include <unistd.h>

#include "stream/core.h"
#include "stream/turns.h"

enum { ALERT_MS = 2, CHECK_MS = 10, NOTIFIED_MS = 100, ASLEEP_MS = 1000, DEAREST = 50, ONCE_MORE_US = 1000 };

// Returns the memory that remains after everything promised is touched; UINT64_MAX without a limit.
// Needs the lock and releases it meanwhile, because the check is slow.
static uint64_t free_now(struct ggs_stream * s, uint64_t * promised, bool * notified) {
    struct ggs_memory * m = s->world.memory;
    ggs_stream_unlock(s);
    uint64_t left = m->left_now(m, notified), empty = m->empty(m),
             untouched = ggs_engine_buffers_untouched(&s->buffers);
    ggs_stream_lock(s);
    *promised = ggs_stream_promised(s, empty) + untouched;
    if (left == UINT64_MAX) return left;
    return left < *promised ? 0 : left - *promised;
}

static void nap(struct ggs_stream * s, useconds_t microseconds) {
    ggs_stream_unlock(s);
    usleep(microseconds);
    ggs_stream_lock(s);
}

// Gives back what is missing, and what will be missing if memory is taken at the rate since the
// last check. Returns the time to the next check.
static int check_memory(struct ggs_stream * s, uint64_t * before) {
    uint64_t reserve = s->watch.reserve, began = s->world.clock(), promised;
    bool     notified;
    uint64_t free = free_now(s, &promised, &notified);
    if (free == UINT64_MAX) return ASLEEP_MS;
    if (free < reserve / 8 * 5) { // check twice: threads that touch the same page are briefly charged twice
        nap(s, ONCE_MORE_US);
        uint64_t again = free_now(s, &promised, &notified);
        if (again > free) free = again;
    }
    uint64_t less = *before > free ? *before - free : 0;
    *before       = free;
    if (free < reserve / 8 * 5) {
        uint64_t gave = ggs_stream_shrink(s, reserve - reserve / 8 - free + (less < reserve ? less : reserve));
        *before += gave;
        if (gave > 0) s->watch.gave_at = s->world.clock();
        return gave > 0 ? ALERT_MS : CHECK_MS;
    }
    int dear = (int) ((s->world.clock() - began) * DEAREST / 1000000); // checks may take 2 % of one processor
    int ms   = notified && promised < reserve / 4 ? NOTIFIED_MS : CHECK_MS;
    return dear > ms ? dear : ms;
}

static void * work(void * argument) {
    struct ggs_stream * s        = argument;
    struct ggs_memory * m        = s->world.memory;
    uint64_t            division = 0, before = 0;
    int                 ms = 0;
    ggs_turns_short();
    ggs_stream_lock(s);
    while (!s->watch.ending) {
        bool     is_new = s->watch.division != division;
        uint64_t margin = s->watch.reserve / 8 * 5;
        division        = s->watch.division;
        if (is_new) before = 0, ms = 0;
        ggs_stream_unlock(s);
        if (is_new) m->watch(m, margin);
        m->wait(m, ms);
        ggs_stream_lock(s);
        ms = s->state == GGS_STREAM_ON ? check_memory(s, &before) : ASLEEP_MS;
    }
    ggs_stream_unlock(s);
    return NULL;
}

void ggs_memory_watch_start(struct ggs_stream * s, uint64_t reserve) {
    s->watch.reserve = reserve;
    s->watch.division++;
    if (!s->watch.started) s->watch.started = s->world.start_thread(&s->watch.thread, work, s);
}

void ggs_memory_watch_end(struct ggs_stream * s) {
    ggs_stream_lock(s);
    bool started    = s->watch.started;
    s->watch.ending = true;
    ggs_stream_unlock(s);
    if (started) pthread_join(s->watch.thread, NULL);
}
