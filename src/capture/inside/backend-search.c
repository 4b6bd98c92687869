// Searches the memory of a program that runs for a CPU backend of its engine.
//
// Memory is read through /proc/self/mem: other threads unmap theirs at any time. A backend that was
// freed, or a copy on a stack, serves as well: it names the same function, and nothing is written.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/clock.h"
#include "base/system/maps.h"
#include "capture/inside/backend-proof.h"
#include "capture/inside/backend.h"
#include "capture/sandbox.h"

enum { CHUNK = 1 << 20, MOST_THREADS = 4096 };
static const uint64_t patience_ns = 8000000000;

struct search {
    const struct ggs_view *    object;
    uint64_t                   guid;
    int                        memory;
    struct ggs_readable        all;
    uint64_t *                 words; // of one chunk and the beginning of the next
    struct ggs_backend_found * found;
    uint64_t                   end_ns;
};

static bool peek(const struct search * search, uint64_t at, void * to, size_t size) {
    return pread(search->memory, to, size, (off_t) at) == (ssize_t) size;
}

static bool is_context(const struct search * search, uint64_t at) {
    struct ggs_backend_context context;
    return at % sizeof(void *) == 0 && peek(search, at, &context, sizeof(context)) && context.n_threads > 0 &&
           context.n_threads <= MOST_THREADS &&
           (context.pool == NULL || ggs_readable_has(&search->all, context.pool, 1)) &&
           (context.work == NULL) == (context.work_size == 0);
}

static bool is_backend(const struct search * search, const uint64_t * words) {
    unsigned context, compute = ggs_backend_find_compute(search->object, words, &context);
    if (compute == 0 || !ggs_backend_has_device(&search->all, words, context) || !is_context(search, words[context]))
        return false;
    *search->found = (struct ggs_backend_found){words[compute], context};
    return true;
}

static bool search_range(const struct search * search, struct ggs_code_range range) {
    const uint64_t overlap = GGS_BACKEND_WORDS * sizeof(uint64_t);
    for (uint64_t at = range.begin; at < range.end && ggs_clock_now() < search->end_ns; at += CHUNK) {
        uint64_t left = range.end - at;
        ssize_t got = pread(search->memory, search->words, left < CHUNK + overlap ? left : CHUNK + overlap, (off_t) at);
        size_t  n   = got <= 0 ? 0 : (size_t) got / sizeof(uint64_t);
        for (size_t i = 0; i + GGS_BACKEND_WORDS <= n; i++)
            if (search->words[i] == search->guid && is_backend(search, search->words + i)) return true;
    }
    return false;
}

// ---- memory of allocators ----

struct ranges {
    struct ggs_code_range * items;
    size_t                  n, capacity;
};

// Small mappings first: large ones are weights and caches.
static int by_size(const void * a, const void * b) {
    const struct ggs_code_range *x = a, *y = b;
    uint64_t                     m = x->end - x->begin, n = y->end - y->begin;
    return m < n ? -1 : m > n;
}

// Lists anonymous memory: the heap, and behind it the rest.
static bool list_memory(struct ranges * ranges) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    size_t                heaps = 0;
    if (!ggs_maps_open(&maps, "self")) return false;
    while (ggs_maps_next(&maps, &entry)) {
        struct ggs_code_range range = {entry.start, entry.end};
        if (!entry.readable || !entry.writable || entry.inode != 0) continue;
        if (!ggs_array_push(ranges->items, ranges->n, ranges->capacity, range)) break;
        if (strcmp(entry.path, "[heap]") != 0) continue;
        ranges->items[ranges->n - 1] = ranges->items[heaps];
        ranges->items[heaps++]       = range;
    }
    ggs_maps_close(&maps);
    if (ranges->n > heaps) qsort(ranges->items + heaps, ranges->n - heaps, sizeof(*ranges->items), by_size);
    return true;
}

bool ggs_backend_search(struct ggs_backend_found * found, const struct ggs_view * object, uint64_t guid) {
    struct search search = {.object = object, .guid = guid, .found = found, .end_ns = ggs_clock_now() + patience_ns};
    struct ranges ranges = {0};
    bool          good   = false;
    if (ggs_sandboxed()) return false;
    search.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    search.words  = malloc(CHUNK + GGS_BACKEND_WORDS * sizeof(uint64_t));
    ggs_readable_read(&search.all);
    if (search.memory >= 0 && search.words != NULL && list_memory(&ranges))
        for (size_t i = 0; i < ranges.n && !good; i++) good = search_range(&search, ranges.items[i]);
    if (search.memory >= 0) close(search.memory);
    ggs_readable_free(&search.all);
    free(search.words);
    free(ranges.items);
    return good;
}
