// What a machine can do at most: bytes of memory read a second, floating point operations a second.
// Ops are compared with it.
//
// It is measured by base/system/probe.h, kept for a machine by record/limits-cache.h, copied into
// experiment.json ("host": {"limits": [...]}), and beside an experiment that came without it by
// `ggscope stats --probe`. Everywhere it is the same list, one entry for each number of threads.
#pragma once

#include <stdint.h>

#include "base/json-read.h"
#include "base/object.h"

struct ggs_json;

struct ggs_rates {
    uint64_t threads; // 0: not known
    uint64_t memory_bytes_per_second;
    uint64_t flops_per_second; // multiply-adds of 32-bit numbers, each two of them; 0: not measured
    uint64_t measured_at;      // seconds since 1970 UTC; 0: not known
    uint64_t others_percent;   // of all CPUs, used by others meanwhile, steal included
};

enum { GGS_LIMITS_MOST = 16 };
struct ggs_limits {
    struct ggs_rates rate[GGS_LIMITS_MOST]; // threads ascend
    unsigned         n;
};

// Reads an array of them, or one by itself; whatever else it is has none.
void ggs_limits_read(struct ggs_limits * limits, struct ggs_json_value value);
void ggs_limits_write(struct ggs_json * json, const char * key, const struct ggs_limits * limits);
extern const struct ggs_object ggs_rates_object; // of a struct ggs_rates
// What so many threads can do: the entry with as many, else the next larger, else the largest. All
// 0 if there is none.
struct ggs_rates ggs_limits_of(const struct ggs_limits * limits, uint64_t threads);
