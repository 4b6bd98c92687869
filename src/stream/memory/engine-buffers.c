#include "stream/memory/engine-buffers.h"

#include <stdlib.h>

#include "base/array.h"
#include "stream/memory/pages.h"

void ggs_engine_buffers_release(struct ggs_engine_buffers * b) {
    for (size_t i = 0; i < b->n; i++) free(b->buffers[i].pages);
    free(b->buffers);
}

void ggs_engine_buffers_add(struct ggs_engine_buffers * b, const void * key, const void * address, uint64_t bytes) {
    if (address == NULL || bytes == 0) return;
    pthread_mutex_lock(&b->lock);
    (void) ggs_array_push(b->buffers, b->n, b->capacity, (struct ggs_engine_buffer){key, address, bytes, NULL});
    pthread_mutex_unlock(&b->lock);
}

void ggs_engine_buffers_remove(struct ggs_engine_buffers * b, const void * key) {
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->n; i++) {
        if (b->buffers[i].key != key) continue;
        free(b->buffers[i].pages);
        b->buffers[i] = b->buffers[--b->n];
        break;
    }
    pthread_mutex_unlock(&b->lock);
}

// Sets the bits of pages [from, to]. Returns true if one was not set.
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

static bool reach(struct ggs_engine_buffer * b, uint64_t at, uint64_t bytes) {
    uint64_t page = ggs_page_size(), base = (uint64_t) b->address, low = base / page;
    uint64_t n    = (base % page + b->bytes + page - 1) / page;
    uint64_t last = at + bytes < b->bytes ? at + bytes - 1 : b->bytes - 1;
    if (b->pages == NULL) b->pages = calloc(n / 64 + 1, sizeof(uint64_t));
    return b->pages != NULL && mark(b->pages, (base + at) / page - low, (base + last) / page - low);
}

bool ggs_engine_buffers_reach(struct ggs_engine_buffers * b, const void * address, uint64_t bytes) {
    bool further = false;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->n && bytes > 0; i++) {
        size_t   k  = (b->last + i) % b->n;
        uint64_t at = (uint64_t) address - (uint64_t) b->buffers[k].address;
        if (at >= b->buffers[k].bytes) continue;
        b->last = k;
        further = reach(&b->buffers[k], at, bytes);
        break;
    }
    pthread_mutex_unlock(&b->lock);
    return further;
}

uint64_t ggs_engine_buffers_untouched(struct ggs_engine_buffers * b) {
    uint64_t pages = 0;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->n; i++)
        pages += ggs_page_memory_missing(b->buffers[i].address, b->buffers[i].bytes, b->buffers[i].pages);
    pthread_mutex_unlock(&b->lock);
    return pages * ggs_page_size();
}
