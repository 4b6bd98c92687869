// The engine's buffers, which may be allocated but untouched.
//
// Compute buffers are reserved for the largest possible batch; only the part that graphs have
// reached counts. Any thread may call any function.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_engine_buffer {
    const void *key, *address;
    uint64_t    bytes;
    uint64_t *  pages; // a bit per page that graphs write to; NULL: all pages will be touched
};

// A zeroed struct with an initialised lock is empty.
struct ggs_engine_buffers {
    pthread_mutex_t            lock;
    struct ggs_engine_buffer * buffers;
    size_t                     n, capacity, last; // `last`: where the last node was found
};

void ggs_engine_buffers_release(struct ggs_engine_buffers * buffers);

void ggs_engine_buffers_add(struct ggs_engine_buffers * buffers, const void * key, const void * address,
                            uint64_t bytes);
void ggs_engine_buffers_remove(struct ggs_engine_buffers * buffers, const void * key);

// Notes that a graph writes these bytes. True if it reaches further into a buffer than any earlier
// graph.
bool ggs_engine_buffers_reach(struct ggs_engine_buffers * buffers, const void * address, uint64_t bytes);

// Bytes of buffers that will be touched and have not been.
uint64_t ggs_engine_buffers_untouched(struct ggs_engine_buffers * buffers);
