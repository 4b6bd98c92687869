// The limits of a machine: bytes of memory read per second, floating point operations per second.
//
// base/system/probe.h measures them, record/limits-cache.h caches them per machine, and
// experiment.json has a copy ("host": {"limits": [...]}). `ggscope stats --probe` writes one beside
// an experiment that has none. All of them have one entry per number of threads.
#pragma once

#include <stdint.h>

#include "base/json-read.h"
#include "base/object.h"

struct ggs_json;

struct ggs_rates {
    uint64_t threads; // 0: not known
    uint64_t memory_bytes_per_second;
    uint64_t flops_per_second; // 32-bit multiply-adds, two operations each; 0: not measured
    uint64_t measured_at;      // seconds since 1970 UTC; 0: not known
    uint64_t others_percent;   // CPU time used by others meanwhile, steal included, in percent of all CPUs
};

enum { GGS_LIMITS_MOST = 16 };
struct ggs_limits {
    struct ggs_rates rate[GGS_LIMITS_MOST]; // by ascending number of threads
    unsigned         n;
};

// Reads an array of entries, or a single entry. Any other value yields none.
void ggs_limits_read(struct ggs_limits * limits, struct ggs_json_value value);
void ggs_limits_write(struct ggs_json * json, const char * key, const struct ggs_limits * limits);
extern const struct ggs_object ggs_rates_object; // of a struct ggs_rates
// Returns the entry for `threads`, else the next larger one, else the largest; all 0 if there is
// none.
struct ggs_rates ggs_limits_of(const struct ggs_limits * limits, uint64_t threads);
