// Simulates Linux's page cache: the bytes that a sequence of reads through a mapping reads from the
// disk, with a given amount of memory.
//
// It models the classic two lists (not the multi-generational LRU) of kernels from version 6.16 on,
// for a file on a file system with large folios:
//
//     fault      a missing page is read with its surroundings: half of the readahead window
//                before it, half after it, in single pages; a page at three quarters of the window is marked
//     marked     touching it reads the next window ahead, in folios that grow by four each time
//                (up to 2 MiB)
//     inactive   the list for new folios; at its end a folio that was touched since is kept
//                once, and activated when that happens again
//     active     the list for activated folios; its end is moved to the inactive list if that
//                is the shorter one, or if refaults show that the working set changes
//     refault    a folio that was evicted at most as long ago as the active list is long
//                is activated
//
// Reclaim scans portions of the lists like the kernel, because the aging of both lists decides what
// survives a cyclic scan. One thread is assumed: ranges ascend, ops follow each other. Folios are
// kept in runs (folios.h), so time depends on runs, not on folios. Memory: 21 bytes per page, of
// which a model that is read in long ranges touches a part.
#pragma once

#include <stdint.h>

#include "analyze/paging/sequence.h"

struct ggs_paging_cost {
    uint64_t bytes[GGS_READ_CLASSES]; // read from the disk for reads of this class
};

struct ggs_paging_linux_host {
    uint64_t memory;    // for the cache, bytes
    uint64_t readahead; // the device's setting in bytes; the engine requests sequential reading, which doubles it
    uint64_t stale;     // bytes read between updates of the kernel's statistics, every two seconds
};

int ggs_paging_linux(struct ggs_paging_cost * cost, const struct ggs_paging_sequence * sequence,
                     const struct ggs_paging_linux_host * host, struct ggs_error * error);
