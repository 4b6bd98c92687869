// The engine's buffers: those that are allocated may still be untouched, and will be touched.
//
// Where graphs compute is reserved for the largest batch that could come; what counts of it is how
// far graphs have reached. Every function may be called by any thread.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_engine_buffer {
    const void *key, *address;
    uint64_t    bytes;
    uint64_t *  pages; // a bit for each page that graphs write to; NULL: all of it will be touched
};

// A zeroed struct, with its lock made, has none.
struct ggs_engine_buffers {
    pthread_mutex_t            lock;
    struct ggs_engine_buffer * buffers;
    size_t                     n, capacity, last; // `last`: where the last node was found
};

void ggs_engine_buffers_release(struct ggs_engine_buffers * buffers);

void ggs_engine_buffers_add(struct ggs_engine_buffers * buffers, const void * key, const void * address,
                            uint64_t bytes);
void ggs_engine_buffers_remove(struct ggs_engine_buffers * buffers, const void * key);

// A graph writes to these bytes. Returns whether it reaches further into a buffer than any before.
bool ggs_engine_buffers_reach(struct ggs_engine_buffers * buffers, const void * address, uint64_t bytes);

// Bytes of buffers that will be touched and have not been.
uint64_t ggs_engine_buffers_untouched(struct ggs_engine_buffers * buffers);
