// A quota of CPU time throttles the program. Containers have one, independent of visible cores.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_cpu_quota(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     time[GGS_NUMBER_LENGTH];
    uint64_t whole = (uint64_t) (f->quota < 1 ? 1 : f->quota);
    if (f->quota <= 0 || f->periods == 0 || 20 * f->throttled_periods < f->periods) return false;
    out->condition = true;
    out->part      = GGS_PART_TOKENS;
    // Throttling is counted per CPU: threads that share the quota are stopped together.
    uint64_t per_cpu = f->throttled_ns / (f->threads == 0 ? 1 : f->threads);
    out->gain_ns     = per_cpu;
    out->figure      = f->quota;
    out->figure_of   = "CPUs that the quota allows";
    ggs_reason_title(out, "a quota allows %.1f CPUs; the program was stopped in %llu of %llu periods", f->quota,
                     (unsigned long long) f->throttled_periods, (unsigned long long) f->periods);
    ggs_reason_evidence(out, "%llu threads on %llu usable cores used it up early; they were stopped for %s in all",
                        (unsigned long long) f->threads, (unsigned long long) f->usable_cores,
                        ggs_format_nanoseconds(time, f->throttled_ns));
    if (f->threads > whole) ggs_reason_set_number(out, GGS_KNOB_THREADS, whole);
    ggs_reason_advise(out, "a larger quota (docker --cpus, resources.limits.cpu), or as many threads as it allows");
    snprintf(
        out->query, sizeof(out->query),
        "ggscope sql DIR \"select cpu_quota_ns, cpu_quota_period_ns, cpu_throttled_periods, cpu_quota_periods from "
        "experiment\"");
    return true;
}
