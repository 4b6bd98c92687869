// Pages to read into: that part of struct ggs_memory.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_page_part {
    char * at;
    size_t bytes;
};

// A zeroed struct with an initialised lock is empty.
struct ggs_page_memory {
    pthread_mutex_t        lock;
    struct ggs_page_part * parts; // committed, unordered
    size_t                 n_parts, parts_capacity;
    bool                   tried, slow; // huge pages were tried, and were slow
    uint64_t               touching;    // bytes of huge pages that the kernel is about to provide
};

char *   ggs_page_memory_reserve(size_t bytes);
void     ggs_page_memory_release(struct ggs_page_memory * pages, char * at, size_t bytes);
bool     ggs_page_memory_commit(struct ggs_page_memory * pages, char * at, size_t bytes, bool huge);
uint64_t ggs_page_memory_let_go(char * at, size_t bytes);
bool     ggs_page_memory_move(char * from, char * to, size_t bytes);
uint64_t ggs_page_memory_empty(struct ggs_page_memory * pages);

// Touches memory that is about to be read into, so that its huge pages do not count as empty while
// the kernel clears them: they are already charged to the limit, and several threads can do this at
// once.
void ggs_page_memory_touch(struct ggs_page_memory * pages, char * at, size_t bytes);

// Page size of this machine.
uint64_t ggs_page_size(void);

// Number of pages of [address, address + bytes) without memory, of those with a bit in `wanted`
// (NULL: of all).
uint64_t ggs_page_memory_missing(const void * address, uint64_t bytes, const uint64_t * wanted);
