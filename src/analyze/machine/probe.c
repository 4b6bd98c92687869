#include "analyze/machine/probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 64, BLOCK = 1 << 20 };

struct reader {
    pthread_t        thread;
    const uint64_t * data;
    size_t           words;
    uint64_t         until_ns;
    uint64_t         bytes, sum; // the sum keeps the reads
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static void * read_on(void * data) {
    struct reader * r  = data;
    size_t          at = 0;
    while (now_ns() < r->until_ns) {
        size_t   n = BLOCK / sizeof(uint64_t);
        uint64_t a = 0, b = 0, c = 0, d = 0;
        for (size_t i = 0; i < n; i += 4)
            a += r->data[at + i], b += r->data[at + i + 1], c += r->data[at + i + 2], d += r->data[at + i + 3];
        r->sum += a + b + c + d;
        r->bytes += BLOCK;
        at += n;
        if (at + n > r->words) at = 0;
    }
    return NULL;
}

uint64_t ggs_probe_bandwidth(unsigned threads) {
    static struct reader readers[MOST_THREADS];
    if (threads == 0) threads = 1;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    size_t size = (size_t) 256 << 20;
    char * data = malloc(size);
    if (data == NULL) return 0;
    memset(data, 1, size); // every page is there before the clock starts
    uint64_t begin = now_ns(), bytes = 0;
    unsigned started = 0;
    for (; started < threads; started++) {
        size_t part      = size / threads / BLOCK * BLOCK;
        readers[started] = (struct reader){.data     = (const uint64_t *) (data + started * part),
                                           .words    = part / sizeof(uint64_t),
                                           .until_ns = begin + 1000000000u};
        if (pthread_create(&readers[started].thread, NULL, read_on, &readers[started]) != 0) break;
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(readers[i].thread, NULL);
        bytes += readers[i].bytes;
    }
    uint64_t spent = now_ns() - begin;
    free(data);
    return spent == 0 ? 0 : (uint64_t) ((double) bytes * 1e9 / (double) spent);
}
