#include "stream/memory.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { HUGE = 2 << 20, TRIED = 4, SLOW_NS = 5000000, MOST_BUFFERS = 1024 };

static bool read_text(const char * path, char * text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    return true;
}

// The smallest number in `file` of a group and its parents. "max" and numbers near 2^63 mean none.
static uint64_t smallest(const char * mount, const char * group, const char * file) {
    uint64_t least = UINT64_MAX;
    char     path[PATH_MAX], place[PATH_MAX], text[64];
    snprintf(place, sizeof(place), "%s", group);
    for (;;) {
        if (snprintf(path, sizeof(path), "%s%s/%s", mount, place, file) < (int) sizeof(path) &&
            read_text(path, text, sizeof(text)) && text[0] >= '0' && text[0] <= '9') {
            uint64_t value = strtoull(text, NULL, 10);
            if (value < (1ull << 60) && value < least) least = value;
        }
        char * slash = strrchr(place, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

static bool has_word(const char * words, const char * word) {
    size_t length = strlen(word);
    for (const char * at = words; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == words || at[-1] == ',') && (at[length] == '\0' || at[length] == ',')) return true;
    }
    return false;
}

static uint64_t group_limit(const char * proc, const char * groups) {
    char     path[PATH_MAX], mount[PATH_MAX], text[8192];
    uint64_t least = UINT64_MAX;
    snprintf(path, sizeof(path), "%s/self/cgroup", proc);
    if (!read_text(path, text, sizeof(text))) return least;
    char * rest = NULL;
    for (char * line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char * controllers = strchr(line, ':');
        char * group       = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) continue;
        *group++ = '\0';
        controllers++;
        if (strcmp(group, "/") == 0) group = (char *) "";
        uint64_t found = UINT64_MAX;
        if (controllers[0] == '\0') { // version 2, alone or beside version 1
            found = smallest(groups, group, "memory.max");
            snprintf(mount, sizeof(mount), "%s/unified", groups);
            uint64_t beside = smallest(mount, group, "memory.max");
            if (beside < found) found = beside;
        } else if (has_word(controllers, "memory")) {
            snprintf(mount, sizeof(mount), "%s/memory", groups);
            found = smallest(mount, group, "memory.limit_in_bytes");
        }
        if (found < least) least = found;
    }
    return least;
}

uint64_t ggs_memory_available(const char * proc) {
    char path[PATH_MAX], text[4096];
    snprintf(path, sizeof(path), "%s/meminfo", proc);
    if (!read_text(path, text, sizeof(text))) return UINT64_MAX;
    const char * line = strstr(text, "MemAvailable:");
    return line == NULL ? UINT64_MAX : strtoull(line + 13, NULL, 10) * 1024;
}

uint64_t ggs_memory_limit(const char * proc, const char * groups) {
    uint64_t limit = group_limit(proc, groups);
    uint64_t left  = ggs_memory_available(proc);
    if (left == UINT64_MAX) return limit;
    left = left - left / 16 + ggs_memory_anonymous(); // other programs live here too
    return left < limit ? left : limit;
}

uint64_t ggs_memory_anonymous(void) {
    char text[128];
    if (!read_text("/proc/self/statm", text, sizeof(text))) return 0;
    unsigned long size, resident, shared;
    if (sscanf(text, "%lu %lu %lu", &size, &resident, &shared) != 3 || resident < shared) return 0;
    return (uint64_t) (resident - shared) * (uint64_t) sysconf(_SC_PAGESIZE);
}

static uint64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

void * ggs_memory_take(size_t bytes) {
    size_t size   = (bytes + HUGE - 1) / HUGE * HUGE + HUGE;
    char * memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    char * begin = (char *) (((uintptr_t) memory + HUGE - 1) / HUGE * HUGE);
    char * end   = begin + (bytes + HUGE - 1) / HUGE * HUGE;
    if (begin > memory) munmap(memory, (size_t) (begin - memory));
    if (end < memory + size) munmap(end, (size_t) (memory + size - end));
    madvise(begin, (size_t) (end - begin), MADV_HUGEPAGE);
    madvise(begin, (size_t) (end - begin), MADV_DONTFORK);
    // Where memory is in pieces the kernel may take long to find room for a huge page: then small ones it is.
    uint64_t before = thread_ns();
    size_t   touch  = (size_t) (end - begin) < (size_t) TRIED * HUGE ? 0 : TRIED;
    for (size_t i = 0; i < touch; i++) *(volatile char *) (begin + i * HUGE) = 0;
    if (thread_ns() - before > TRIED * (uint64_t) SLOW_NS) madvise(begin, (size_t) (end - begin), MADV_NOHUGEPAGE);
    return begin;
}

void ggs_memory_give_back(void * memory, size_t bytes) {
    if (memory != NULL) munmap(memory, (bytes + HUGE - 1) / HUGE * HUGE);
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

uint64_t ggs_memory_untouched(void) {
    uint64_t pages = 0;
    pthread_mutex_lock(&buffers.lock);
    for (unsigned i = 0; i < buffers.n; i++)
        pages += untouched(buffers.buffer[i].address, buffers.buffer[i].bytes, buffers.buffer[i].pages);
    pthread_mutex_unlock(&buffers.lock);
    return pages * ggs_memory_page();
}
