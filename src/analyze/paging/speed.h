// What bytes from the disk mean in time, on the machine that was recorded: how fast the disk
// delivered, and what a token takes besides.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_paging_speed {
    double   disk_bytes_per_second; // while some request for the model's files was under way; NaN: not recorded
    uint64_t token_ns;              // of a step that generates, on average; 0: there is none
    int64_t  compute_ns;            // of that, without waiting for the disk; -1: not known without page faults
    uint64_t memory_limit;          // of the recording; 0: none
};

int ggs_paging_speed_find(struct ggs_paging_speed * speed, struct ggs_trace * trace, int64_t first_step,
                          int64_t last_step, struct ggs_error * error);
