#include "base/limits.h"

#include "base/json.h"

static void take(struct ggs_limits * limits, struct ggs_json_value object) {
    struct ggs_rates rates = {0};
    if (limits->n == GGS_LIMITS_MOST ||
        !ggs_json_to_u64(ggs_json_member(object, "memory_bytes_per_second"), &rates.memory_bytes_per_second))
        return;
    ggs_json_to_u64(ggs_json_member(object, "threads"), &rates.threads);
    ggs_json_to_u64(ggs_json_member(object, "flops_per_second"), &rates.flops_per_second);
    limits->rate[limits->n++] = rates;
}

void ggs_limits_read(struct ggs_limits * limits, struct ggs_json_value value) {
    struct ggs_json_value element = {0};
    *limits                       = (struct ggs_limits){0};
    take(limits, value);
    while (limits->n < GGS_LIMITS_MOST && ggs_json_next(value, &element)) take(limits, element);
}

void ggs_rates_members(struct ggs_json * json, const struct ggs_rates * rates) {
    ggs_json_u64(json, "threads", rates->threads);
    ggs_json_u64(json, "memory_bytes_per_second", rates->memory_bytes_per_second);
    ggs_json_u64(json, "flops_per_second", rates->flops_per_second);
}

void ggs_limits_write(struct ggs_json * json, const char * key, const struct ggs_limits * limits) {
    ggs_json_array(json, key);
    for (unsigned i = 0; i < limits->n; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_rates_members(json, &limits->rate[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

struct ggs_rates ggs_limits_of(const struct ggs_limits * limits, uint64_t threads) {
    unsigned i = 0;
    if (limits->n == 0) return (struct ggs_rates){0};
    while (i + 1 < limits->n && limits->rate[i].threads < threads) i++;
    return limits->rate[i];
}
