// Converts bytes to time for the recorded machine: the speed of its disk, and the rest of a token's
// time.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_paging_speed {
    double   disk_bytes_per_second; // while a request for the model's files was in flight; NaN: not recorded
    uint64_t token_ns;              // mean of generating steps; 0: none
    int64_t  compute_ns;            // of that, without waits for the disk; -1: unknown without page faults
    uint64_t memory_limit;          // of the recording; 0: none
};

int ggs_paging_speed_find(struct ggs_paging_speed * speed, struct ggs_trace * trace, int64_t first_step,
                          int64_t last_step, struct ggs_error * error);
