#include "base/machine-limits.h"

#include "base/json.h"

static void read_rates(struct ggs_limits * limits, struct ggs_json_value object) {
    struct ggs_rates rates = {0};
    if (limits->n == GGS_LIMITS_MOST ||
        !ggs_json_to_u64(ggs_json_member(object, "memory_bytes_per_second"), &rates.memory_bytes_per_second))
        return;
    ggs_json_to_u64(ggs_json_member(object, "threads"), &rates.threads);
    ggs_json_to_u64(ggs_json_member(object, "flops_per_second"), &rates.flops_per_second);
    ggs_json_to_u64(ggs_json_member(object, "measured_at"), &rates.measured_at);
    ggs_json_to_u64(ggs_json_member(object, "others_percent"), &rates.others_percent);
    limits->rate[limits->n++] = rates;
}

void ggs_limits_read(struct ggs_limits * limits, struct ggs_json_value value) {
    struct ggs_json_value element = {0};
    *limits                       = (struct ggs_limits){0};
    read_rates(limits, value);
    while (limits->n < GGS_LIMITS_MOST && ggs_json_next(value, &element)) read_rates(limits, element);
}

static const struct ggs_field rates_fields[] = {
    GGS_FIELD(struct ggs_rates, threads, "threads"),
    GGS_FIELD(struct ggs_rates, memory_bytes_per_second, "memory_bytes_per_second", "bytes of memory read"),
    GGS_FIELD(struct ggs_rates, flops_per_second, "flops_per_second", "floating point operations; 0: not measured"),
    GGS_FIELD(struct ggs_rates, measured_at, "measured_at", "seconds since 1970 UTC; 0: not known"),
    GGS_FIELD(struct ggs_rates, others_percent, "others_percent",
              "percent of all CPUs that other programs used during the measurement"),
    {0},
};
const struct ggs_object ggs_rates_object = {.fields = rates_fields};

void ggs_limits_write(struct ggs_json * json, const char * key, const struct ggs_limits * limits) {
    ggs_json_array(json, key);
    for (unsigned i = 0; i < limits->n; i++) ggs_object_write(json, NULL, &ggs_rates_object, &limits->rate[i], NULL);
    ggs_json_end(json);
}

struct ggs_rates ggs_limits_of(const struct ggs_limits * limits, uint64_t threads) {
    unsigned i = 0;
    if (limits->n == 0) return (struct ggs_rates){0};
    while (i + 1 < limits->n && limits->rate[i].threads < threads) i++;
    return limits->rate[i];
}
