#include "stream/memory/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "stream/memory/memory.h"
#include "stream/memory/pressure.h"
#include "stream/stream.h"
#include "stream/weights.h"

enum { ALERT_MS = 2, LOOK_MS = 10, TOLD_MS = 100, ASLEEP_MS = 1000, DEAREST = 50, ONCE_MORE_US = 1000 };

static struct {
    uint64_t            reserve;  // to be kept free
    uint64_t            division; // counts them: with each, limits are looked at anew
    uint64_t            gave;
    bool                started;
    struct ggs_pressure pressure;
} watch;

uint64_t ggs_watch_gave(void) {
    return __atomic_load_n(&watch.gave, __ATOMIC_RELAXED);
}

// What is left once all that was promised has been touched; UINT64_MAX where nothing is limited.
static uint64_t free_now(uint64_t * promised, bool * told) {
    uint64_t left = ggs_pressure_left(&watch.pressure, told);
    *promised     = ggs_weights_promised() + ggs_memory_untouched();
    if (left == UINT64_MAX) return left;
    return left < *promised ? 0 : left - *promised;
}

// Gives back what is missing, and what will be if memory goes on being taken as it was since the last look. Returns how long to wait until the next one.
static int look(uint64_t * before) {
    uint64_t reserve = __atomic_load_n(&watch.reserve, __ATOMIC_RELAXED), began = ggs_stream_clock(), promised;
    bool     told;
    uint64_t free = free_now(&promised, &told);
    if (free == UINT64_MAX) return ASLEEP_MS;
    if (free < reserve / 8 * 5) { // once more: two threads that touch the same page are charged twice for a moment
        usleep(ONCE_MORE_US);
        uint64_t again = free_now(&promised, &told);
        if (again > free) free = again;
    }
    uint64_t less = *before > free ? *before - free : 0;
    *before       = free;
    if (free < reserve / 8 * 5) {
        uint64_t most = reserve - reserve / 8 - free + (less < reserve ? less : reserve);
        uint64_t gave = ggs_weights_give(most);
        *before += gave;
        if (gave > 0) __atomic_store_n(&watch.gave, ggs_stream_clock(), __ATOMIC_RELAXED);
        return gave > 0 ? ALERT_MS : LOOK_MS;
    }
    int dear = (int) ((ggs_stream_clock() - began) * DEAREST / 1000000); // a look may cost 2 % of one processor
    int ms   = told && promised < reserve / 4 ? TOLD_MS : LOOK_MS;
    return dear > ms ? dear : ms;
}

static void * work(void * unused) {
    uint64_t division = 0, before = 0;
    int      ms = 0;
    (void) unused;
    for (;;) {
        uint64_t now = __atomic_load_n(&watch.division, __ATOMIC_ACQUIRE);
        if (now != division) {
            if (division != 0) ggs_pressure_close(&watch.pressure);
            uint64_t reserve = __atomic_load_n(&watch.reserve, __ATOMIC_RELAXED);
            ggs_pressure_open(&watch.pressure, "/proc", "/sys/fs/cgroup", reserve / 8 * 5);
            division = now;
            before   = 0;
            ms       = 0;
        }
        ggs_pressure_wait(&watch.pressure, ms);
        ms = ggs_stream_now() == GGS_STREAM_ON ? look(&before) : ASLEEP_MS;
    }
    return NULL;
}

void ggs_watch_start(uint64_t reserve) {
    __atomic_store_n(&watch.reserve, reserve, __ATOMIC_RELAXED);
    __atomic_add_fetch(&watch.division, 1, __ATOMIC_RELEASE);
    if (watch.started) return;
    sigset_t  all, before; // the host's signals are none of its
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watch.started = pthread_create(&thread, NULL, work, NULL) == 0;
    if (watch.started) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
