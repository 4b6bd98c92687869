#include "analyze/machine/conditions.h"

#include <string.h>

#include "analyze/walk/trace.h"
#include "base/json-read.h"

static uint64_t number(struct ggs_json_value object, const char * key) {
    uint64_t value = 0;
    ggs_json_to_u64(ggs_json_member(object, key), &value);
    return value;
}

void ggs_conditions_read(struct ggs_conditions * conditions, struct ggs_trace * trace) {
    const char *          text    = ggs_reader_experiment(trace->reader);
    struct ggs_json_value machine = ggs_json_member(ggs_json_read(text, strlen(text)), "machine");
    struct ggs_json_value cold    = ggs_json_member(machine, "cold");
    *conditions                   = (struct ggs_conditions){.memory_limit     = number(machine, "memory_limit"),
                                                            .memory_peak      = number(machine, "memory_peak"),
                                                            .memory_anonymous = number(machine, "memory_anonymous"),
                                                            .memory_shared    = number(machine, "memory_shared"),
                                                            .limit_hits       = number(machine, "limit_hits"),
                                                            .oom_kills        = number(machine, "oom_kills"),
                                                            .cold             = ggs_json_is_there(cold),
                                                            .cold_bytes       = number(cold, "bytes"),
                                                            .resident_before  = number(cold, "resident_before"),
                                                            .resident_after   = number(cold, "resident_after"),
                                                            .read_bytes       = number(machine, "read_bytes")};
    uint64_t after;
    uint64_t cpu_ns              = number(machine, "cpu_ns");
    conditions->others_cpu_share = cpu_ns == 0 ? -1 : (double) number(machine, "others_cpu_ns") / (double) cpu_ns;
    conditions->resident_known   = ggs_json_to_u64(ggs_json_member(cold, "resident_after"), &after); // null: not known
    ggs_json_to_buffer(ggs_json_member(machine, "mechanism"), conditions->mechanism, sizeof(conditions->mechanism));
    ggs_json_to_buffer(ggs_json_member(machine, "residency"), conditions->residency, sizeof(conditions->residency));
}
