#include "analyze/machine/conditions.h"

#include <string.h>

#include "analyze/walk/trace.h"
#include "base/json-read.h"

static uint64_t number(struct ggs_json_value object, const char * key) {
    uint64_t value = 0;
    ggs_json_to_u64(ggs_json_member(object, key), &value);
    return value;
}

static const double BUSY_SHARE = 0.15; // above this, the load alone makes equal runs differ

bool ggs_conditions_are_busy(const struct ggs_conditions * conditions) {
    double steal = conditions->steal_share < 0 ? 0 : conditions->steal_share;
    return conditions->others_cpu_share + steal >= BUSY_SHARE;
}

void ggs_conditions_read(struct ggs_conditions * conditions, struct ggs_trace * trace) {
    const char *          text    = ggs_reader_experiment(trace->reader);
    struct ggs_json_value machine = ggs_json_member(ggs_json_read(text, strlen(text)), "machine");
    struct ggs_json_value cold    = ggs_json_member(machine, "cold");
    *conditions                   = (struct ggs_conditions){.memory_limit       = number(machine, "memory_limit"),
                                                            .memory_peak        = number(machine, "memory_peak"),
                                                            .memory_anonymous   = number(machine, "memory_anonymous"),
                                                            .memory_shared      = number(machine, "memory_shared"),
                                                            .limit_hits         = number(machine, "limit_hits"),
                                                            .oom_kills          = number(machine, "oom_kills"),
                                                            .cold               = ggs_json_is_there(cold),
                                                            .cold_bytes         = number(cold, "bytes"),
                                                            .resident_before    = number(cold, "resident_before"),
                                                            .resident_after     = number(cold, "resident_after"),
                                                            .read_bytes         = number(machine, "read_bytes"),
                                                            .forked_unrecorded  = number(machine, "forked_unrecorded"),
                                                            .started_unrecorded = number(machine, "started_unrecorded")};
    uint64_t after, steal;
    uint64_t cpu_ns              = number(machine, "cpu_ns");
    conditions->others_cpu_share = cpu_ns == 0 ? -1 : (double) number(machine, "others_cpu_ns") / (double) cpu_ns;
    bool apart                   = ggs_json_to_u64(ggs_json_member(machine, "steal_cpu_ns"), &steal);
    conditions->steal_share      = cpu_ns == 0 || !apart ? -1 : (double) steal / (double) cpu_ns;
    conditions->resident_known   = ggs_json_to_u64(ggs_json_member(cold, "resident_after"), &after); // null: unknown
    ggs_json_to_buffer(ggs_json_member(machine, "mechanism"), conditions->mechanism, sizeof(conditions->mechanism));
    ggs_json_to_buffer(ggs_json_member(machine, "residency"), conditions->residency, sizeof(conditions->residency));
}
