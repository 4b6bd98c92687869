// A disk that reads with a few threads.
//
// Threads continue on their own, while a computing thread would have to submit reads between ops. A
// read is split into pieces for several threads; what an op waits for has priority. Adjacent reads
// become one request. Offsets, sizes and addresses are multiples of GGS_READ_ALIGNMENT or of the
// file's alignment, because files are opened with O_DIRECT.
//
// A buffered read goes into a buffer of the thread, which stays in the processor's caches, and is
// copied. A virtual disk whose host copies what it reads can be twice as fast this way.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "stream/disk/disk.h"

enum { GGS_READ_ALIGNMENT = 4096, GGS_READ_PIECE = 1 << 20, GGS_READ_THREADS = 8 };

struct ggs_pool;

struct ggs_pool_options {
    ssize_t (*read)(int fd, const struct iovec * parts, int n, off_t offset); // NULL: preadv
    void (*touch)(void * context, char * memory, size_t bytes); // called before memory is read into; NULL: none
    void *   touch_context;
    uint32_t threads; // 0: GGS_READ_THREADS
};

// Threads start with `start`. Returns NULL if memory is out.
struct ggs_pool * ggs_pool_create(const struct ggs_pool_options * options);

// Waits for reads in flight; reads that have not begun end with `ok` false.
void ggs_pool_destroy(struct ggs_pool * pool);

struct ggs_disk * ggs_pool_disk(struct ggs_pool * pool);

// Sets the maximum bytes of one request, GGS_READ_PIECE at first and at most.
void ggs_pool_set_piece(struct ggs_pool * pool, uint32_t bytes);
