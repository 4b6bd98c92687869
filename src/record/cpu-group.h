// The control group for CPU time of this process: its quota, and how often it was throttled.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_cpu_group {
    uint64_t quota_ns, period_ns; // the tightest of the group and its parents; 0 for no quota
    // Of the group with that quota, since it was made.
    uint64_t periods, throttled_periods, throttled_ns;
};

// Returns false if nothing is known. Supports versions 1 and 2 of control groups.
bool ggs_cpu_group_read(struct ggs_cpu_group * group);
