// Pages to read into: the part of struct ggs_memory that is about them.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_page_part {
    char * at;
    size_t bytes;
};

// A zeroed struct, with its lock made, has none.
struct ggs_page_memory {
    pthread_mutex_t        lock;
    struct ggs_page_part * parts; // committed, in no order
    size_t                 n_parts, parts_capacity;
    bool                   tried, slow; // huge pages: whether they are, was found out
    uint64_t               touching;    // bytes of huge pages that the kernel is about to give
};

char *   ggs_page_memory_reserve(size_t bytes);
void     ggs_page_memory_release(struct ggs_page_memory * pages, char * at, size_t bytes);
bool     ggs_page_memory_commit(struct ggs_page_memory * pages, char * at, size_t bytes, bool huge);
uint64_t ggs_page_memory_let_go(char * at, size_t bytes);
bool     ggs_page_memory_move(char * from, char * to, size_t bytes);
uint64_t ggs_page_memory_empty(struct ggs_page_memory * pages);

// Touches memory that is about to be read into, so that its huge pages are not counted as empty
// while the kernel clears them: the limit has been charged with them already, and several threads
// can be at it.
void ggs_page_memory_touch(struct ggs_page_memory * pages, char * at, size_t bytes);

// Bytes of a page of this machine.
uint64_t ggs_page_size(void);

// Pages of [address, address + bytes) that have no memory, of those whose bit is set in `wanted`
// (NULL: of all).
uint64_t ggs_page_memory_missing(const void * address, uint64_t bytes, const uint64_t * wanted);
