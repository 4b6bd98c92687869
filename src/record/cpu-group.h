// The control group of CPU time that this process is in: its quota, and how often it was held.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_cpu_group {
    uint64_t quota_ns, period_ns; // the tightest of the group and those above it; 0: no quota
    // Of the group that has it, since that was made.
    uint64_t periods, throttled_periods, throttled_ns;
};

// False if nothing is known of it. Versions 1 and 2 of control groups.
bool ggs_cpu_group_read(struct ggs_cpu_group * group);
