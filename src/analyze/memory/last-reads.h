// The time of the last read of each byte of a file.
//
// Time is counted in bytes read: reading [begin, end) at `time` reads the byte at `begin` at
// `time`, the next one at `time` + 1, and so on. Bytes last read together form one segment, so
// memory grows with the number of distinct ranges, not of reads. A read of a known range costs a
// binary search.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A zeroed struct is a file without reads.
struct ggs_last_reads {
    struct ggs_last_chunk ** chunks; // ascending; none is empty
    uint64_t                 n, capacity;
};

// Called for each part of a read: its bytes, and the bytes read since its last read, including
// itself; 0 for the first read. False aborts the read.
typedef bool ggs_last_reads_part(void * context, uint64_t bytes, uint64_t distance);

bool ggs_last_reads_put(struct ggs_last_reads * reads, uint64_t begin, uint64_t end, uint64_t time,
                        ggs_last_reads_part * part, void * context); // false: out of memory, or aborted by `part`
void ggs_last_reads_release(struct ggs_last_reads * reads);
