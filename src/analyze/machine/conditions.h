// The conditions that a recording was made under, from its experiment.json: limit on memory, cold
// page cache, a busy machine.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_trace;

struct ggs_conditions {
    uint64_t memory_limit; // 0: none was set
    char     mechanism[32];
    uint64_t memory_peak, memory_anonymous, memory_shared;
    uint64_t limit_hits, oom_kills;
    bool     cold; // the model was dropped from the page cache
    uint64_t cold_bytes, resident_before, resident_after;
    bool     resident_known;
    uint64_t read_bytes;         // by the program, from disks
    double   others_cpu_share;   // of all CPUs, used by other programs meanwhile; negative: not known
    double   steal_share;        // of all CPUs, taken by the hypervisor meanwhile; negative: not known
    uint64_t started_unrecorded; // programs that it started, that ran engines and were not recorded
    uint64_t forked_unrecorded;  // children that the program forked, that computed graphs and were not recorded
    char     residency[16];      // how snapshots of what is in memory were made, "" for none
};

// Did other programs, or the hypervisor, use so much of the CPUs that times say little?
bool ggs_conditions_are_busy(const struct ggs_conditions * conditions);

void ggs_conditions_read(struct ggs_conditions * conditions, struct ggs_trace * trace);
