// A disk that reads with a few threads.
//
// Threads go on by themselves, while one that computes would have to hand on what comes next
// between two ops. A read is cut into pieces, so that several threads work on it; what an op waits
// for comes before all else. Neighbours in the file become one request. Offsets, sizes and
// addresses are multiples of GGS_READ_ALIGNMENT, or of what the file says: files are open with
// O_DIRECT.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "stream/disk/disk.h"

enum { GGS_READ_ALIGNMENT = 4096, GGS_READ_PIECE = 1 << 20, GGS_READ_THREADS = 8 };

struct ggs_pool;

struct ggs_pool_options {
    ssize_t (*read)(int fd, const struct iovec * parts, int n, off_t offset); // NULL: preadv
    void (*touch)(void * context, char * memory, size_t bytes); // called before memory is read into; NULL: nothing
    void *   touch_context;
    uint32_t threads; // 0: GGS_READ_THREADS
};

// Its threads are made when it is started. NULL if there is no memory.
struct ggs_pool * ggs_pool_create(const struct ggs_pool_options * options);

// Waits for reads that are under way; those that have not begun are done with false.
void ggs_pool_destroy(struct ggs_pool * pool);

struct ggs_disk * ggs_pool_disk(struct ggs_pool * pool);

// The most bytes of one request, GGS_READ_PIECE at first.
void ggs_pool_set_piece(struct ggs_pool * pool, uint32_t bytes);
