// Linux's page cache, simulated: what a sequence of reads through a mapping would read from the
// disk, with so much memory.
//
// The classic two lists (not the multi-generational LRU), as kernels of version 6.16 and later have
// them, for a file on a file system with large folios:
//
//     fault        a page that is not there is read with its surroundings: half of the readahead window before it, half behind it, in
//                  single pages; a page at three quarters of the window is marked
//     marked       touching it reads the next window ahead, in folios four times as large each time (up to 2 MiB)
//     inactive     where folios come in; at its end a folio that was touched since is kept once, and made active when that happens again
//     active       folios that proved themselves; its end is moved back to the inactive list when that is the shorter one, or when refaults
//                  show that the working set changes
//     refault      a folio that was evicted not longer ago than the active list is long is made active at once
//
// Reclaim goes by portions of the lists as the kernel's does, since how far both lists are aged
// decides what survives a cyclic scan. One thread is assumed: ranges ascend, ops follow each other.
// Folios are kept in runs (folios.h), so time follows what happens to them together, not their
// number. Memory: 21 bytes per page, of which a model that is read in long ranges touches a part.
#pragma once

#include <stdint.h>

#include "analyze/paging/sequence.h"

struct ggs_paging_cost {
    uint64_t bytes[GGS_READ_CLASSES]; // read from the disk while reads of this class were served
};

struct ggs_paging_linux_host {
    uint64_t memory; // for the cache, bytes
    uint64_t
        readahead; // the window in bytes, as the device is set; the engine asks for sequential reading, which doubles it
    uint64_t stale; // bytes that are read until the kernel's statistics are brought up to date, every two seconds
};

int ggs_paging_linux(struct ggs_paging_cost * cost, const struct ggs_paging_sequence * sequence,
                     const struct ggs_paging_linux_host * host, struct ggs_error * error);
