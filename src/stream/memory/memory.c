#include "stream/memory/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { HUGE = 2 << 20, TRIED = 4, SLOW_NS = 30000000, MOST_BUFFERS = 1024, MOST_TAKEN = 16 };

uint64_t ggs_memory_anonymous(void) {
    char    text[128];
    int     fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    unsigned long size, resident, shared;
    if (sscanf(text, "%lu %lu %lu", &size, &resident, &shared) != 3 || resident < shared) return 0;
    return (uint64_t) (resident - shared) * (uint64_t) sysconf(_SC_PAGESIZE);
}

static uint64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static struct {
    pthread_mutex_t lock;
    struct {
        char * memory;
        size_t bytes;
    } part[MOST_TAKEN]; // NULL: not in use
} taken = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_taken(char * memory, size_t bytes, const char * instead_of) {
    pthread_mutex_lock(&taken.lock);
    for (unsigned i = 0; i < MOST_TAKEN; i++) {
        if (taken.part[i].memory != instead_of) continue;
        taken.part[i].memory = memory;
        taken.part[i].bytes  = bytes;
        break;
    }
    pthread_mutex_unlock(&taken.lock);
}

void * ggs_memory_take(size_t bytes, size_t part) {
    size_t size   = (bytes + HUGE - 1) / HUGE * HUGE + HUGE;
    char * memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    char * begin = (char *) (((uintptr_t) memory + HUGE - 1) / HUGE * HUGE);
    char * end   = begin + (bytes + HUGE - 1) / HUGE * HUGE;
    if (begin > memory) munmap(memory, (size_t) (begin - memory));
    if (end < memory + size) munmap(end, (size_t) (memory + size - end));
    madvise(begin, (size_t) (end - begin), part < HUGE ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    madvise(begin, (size_t) (end - begin), MADV_DONTFORK);
    // Where memory is in pieces the kernel may take long to find room for a huge page: then small ones it is. Not sooner: a host that has yet to give the
    // memory takes 5 ms for a huge page, once, but reads into small pages are half as fast for good.
    uint64_t before = thread_ns();
    size_t   touch  = (size_t) (end - begin) < (size_t) TRIED * HUGE || part < HUGE ? 0 : TRIED;
    for (size_t i = 0; i < touch; i++) *(volatile char *) (begin + i * HUGE) = 0;
    uint64_t took = thread_ns() - before;
    if (took > TRIED * (uint64_t) SLOW_NS) madvise(begin, (size_t) (end - begin), MADV_NOHUGEPAGE);
    note_taken(begin, bytes, NULL);
    return begin;
}

void ggs_memory_give_back(void * memory, size_t bytes) {
    if (memory == NULL) return;
    note_taken(NULL, 0, memory);
    munmap(memory, (bytes + HUGE - 1) / HUGE * HUGE);
}

uint64_t ggs_memory_let_go(char * memory, uint64_t bytes) {
    uintptr_t page = ggs_memory_page(), from = ((uintptr_t) memory + page - 1) / page * page,
              to = ((uintptr_t) memory + bytes) / page * page;
    return from < to && madvise((void *) from, to - from, MADV_DONTNEED) == 0 ? to - from : 0;
}

static struct {
    pthread_mutex_t lock;
    unsigned        n;
    struct {
        const void *key, *address;
        uint64_t    bytes;
        uint64_t *  pages; // a bit for each page that graphs write to; NULL if none computes
    } buffer[MOST_BUFFERS];
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ggs_memory_buffer(const void * buffer, const void * address, uint64_t bytes) {
    pthread_mutex_lock(&buffers.lock);
    if (buffers.n < MOST_BUFFERS && address != NULL && bytes > 0) {
        buffers.buffer[buffers.n].key     = buffer;
        buffers.buffer[buffers.n].address = address;
        buffers.buffer[buffers.n].pages   = NULL;
        buffers.buffer[buffers.n++].bytes = bytes;
    }
    pthread_mutex_unlock(&buffers.lock);
}

void ggs_memory_buffer_gone(const void * buffer) {
    pthread_mutex_lock(&buffers.lock);
    for (unsigned i = 0; i < buffers.n; i++) {
        if (buffers.buffer[i].key != buffer) continue;
        free(buffers.buffer[i].pages);
        buffers.buffer[i] = buffers.buffer[--buffers.n];
        break;
    }
    pthread_mutex_unlock(&buffers.lock);
}

uint64_t ggs_memory_page(void) {
    static _Atomic uint64_t size; // the same whoever asks first
    if (size == 0) size = (uint64_t) sysconf(_SC_PAGESIZE);
    return size;
}

static uint64_t n_pages(const void * address, uint64_t bytes) {
    uint64_t page = ggs_memory_page();
    return ((uint64_t) address % page + bytes + page - 1) / page;
}

// Sets the bits of pages [from, to]. Returns whether one was not set.
static bool mark(uint64_t * bits, uint64_t from, uint64_t to) {
    bool any = false;
    for (uint64_t word = from / 64; word <= to / 64; word++) {
        uint64_t mask = UINT64_MAX;
        if (word == from / 64) mask &= UINT64_MAX << from % 64;
        if (word == to / 64) mask &= UINT64_MAX >> (63 - to % 64);
        any |= (bits[word] & mask) != mask;
        bits[word] |= mask;
    }
    return any;
}

bool ggs_memory_reach(const void * address, uint64_t bytes) {
    static unsigned last; // most nodes lie in one buffer
    for (unsigned i = 0; i < buffers.n; i++) {
        unsigned k  = (last + i) % buffers.n;
        uint64_t at = (uint64_t) address - (uint64_t) buffers.buffer[k].address, size = buffers.buffer[k].bytes;
        if (at >= size || bytes == 0) continue;
        last              = k;
        const void * base = buffers.buffer[k].address;
        uint64_t     n = n_pages(base, size), page = ggs_memory_page(), low = (uint64_t) base / page;
        uint64_t     through = at + bytes < size ? at + bytes - 1 : size - 1;
        if (buffers.buffer[k].pages == NULL) buffers.buffer[k].pages = calloc(n / 64 + 1, sizeof(uint64_t));
        if (buffers.buffer[k].pages == NULL) return false;
        return mark(buffers.buffer[k].pages, (uint64_t) address / page - low, ((uint64_t) base + through) / page - low);
    }
    return false;
}

// Pages of a buffer that will be touched and have not been.
static uint64_t untouched(const void * address, uint64_t bytes, const uint64_t * wanted) {
    unsigned char resident[4096];
    uint64_t      size = ggs_memory_page(), base = (uint64_t) address / size * size, n = n_pages(address, bytes),
             missing = 0;
    for (uint64_t at = 0; at < n;) {
        uint64_t some = n - at < sizeof(resident) ? n - at : sizeof(resident);
        if (mincore((void *) (base + at * size), some * size, resident) != 0) return missing; // a device's
        for (uint64_t i = 0; i < some; i++) {
            uint64_t page = at + i;
            missing += (resident[i] & 1) == 0 && (wanted == NULL || (wanted[page / 64] >> page % 64 & 1) != 0);
        }
        at += some;
    }
    return missing;
}

static uint64_t touching; // bytes of huge pages that the kernel is about to give

void ggs_memory_touch(char * memory, size_t bytes) {
    for (char * at = memory; at < memory + bytes; at = (char *) (((uintptr_t) at / HUGE + 1) * HUGE)) {
        __atomic_add_fetch(&touching, HUGE, __ATOMIC_RELAXED);
        *(volatile char *) at = 0;
        __atomic_sub_fetch(&touching, HUGE, __ATOMIC_RELAXED);
    }
}

uint64_t ggs_memory_empty(void) {
    uint64_t pages = 0, charged = __atomic_load_n(&touching, __ATOMIC_RELAXED);
    pthread_mutex_lock(&taken.lock);
    for (unsigned i = 0; i < MOST_TAKEN; i++) {
        if (taken.part[i].memory != NULL) pages += untouched(taken.part[i].memory, taken.part[i].bytes, NULL);
    }
    pthread_mutex_unlock(&taken.lock);
    uint64_t bytes = pages * ggs_memory_page();
    return bytes < charged ? 0 : bytes - charged;
}

uint64_t ggs_memory_untouched(void) {
    uint64_t pages = 0;
    pthread_mutex_lock(&buffers.lock);
    for (unsigned i = 0; i < buffers.n; i++)
        pages += untouched(buffers.buffer[i].address, buffers.buffer[i].bytes, buffers.buffer[i].pages);
    pthread_mutex_unlock(&buffers.lock);
    return pages * ggs_memory_page();
}
