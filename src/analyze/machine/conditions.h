// The conditions of a recording, from its experiment.json: memory limit, cold page cache, other
// load.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_trace;

struct ggs_conditions {
    uint64_t memory_limit; // 0: none
    char     mechanism[32];
    uint64_t memory_peak, memory_anonymous, memory_shared;
    uint64_t limit_hits, oom_kills;
    bool     cold; // the model was dropped from the page cache
    uint64_t cold_bytes, resident_before, resident_after;
    bool     resident_known;
    uint64_t read_bytes;         // by the program, from disks
    double   others_cpu_share;   // share of all CPUs used by other programs; negative: unknown
    double   steal_share;        // share of all CPUs taken by the hypervisor; negative: unknown
    uint64_t started_unrecorded; // started programs that ran engines and were not recorded
    uint64_t forked_unrecorded;  // forked children that computed graphs and were not recorded
    char     residency[16];      // method of residency snapshots, "" for none
};

// True if other programs or the hypervisor used so much CPU that times are unreliable.
bool ggs_conditions_are_busy(const struct ggs_conditions * conditions);

void ggs_conditions_read(struct ggs_conditions * conditions, struct ggs_trace * trace);
