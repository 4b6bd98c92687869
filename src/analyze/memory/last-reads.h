// When each byte of a file was read last.
//
// Time is counted in bytes read: reading [begin, end) at `time` reads the byte at `begin` at
// `time`, the next one at `time` + 1, and so on. Bytes that were read together last lie in one
// segment, so memory follows the number of different ranges that are read, not the number of reads.
// A read of a known range costs a search by halving.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A zeroed struct is a file of which nothing was read.
struct ggs_last_reads {
    struct ggs_last_chunk ** chunks; // ascending; none is empty
    uint64_t                 n, capacity;
};

// Told for each part of a read: how many bytes, and how many bytes were read since they were read
// last, themselves included; 0 if they are read for the first time. False ends the read.
typedef bool ggs_last_reads_part(void * context, uint64_t bytes, uint64_t distance);

bool ggs_last_reads_put(struct ggs_last_reads * reads, uint64_t begin, uint64_t end, uint64_t time,
                        ggs_last_reads_part * part, void * context); // false: out of memory, or `part` said so
void ggs_last_reads_release(struct ggs_last_reads * reads);
