// The hypervisor ran other machines on our CPUs.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_steal(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    double steal = f->conditions.steal_share;
    if (steal < 0.05) return false;
    out->condition = true;
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = (uint64_t) ((double) ggs_explain_facts_part_ns(f, GGS_PART_TOKENS) * (steal > 1 ? 1 : steal));
    out->figure    = steal;
    out->figure_of = "share of all CPUs that the hypervisor took";
    ggs_reason_title(out, "the hypervisor gave %.0f %% of the CPUs to other machines (steal)", 100 * steal);
    ggs_reason_evidence(
        out, "the kernel counts %.0f %% of all CPU time as stolen; nothing inside this machine can mend that",
        100 * steal);
    ggs_reason_advise(out, "a machine with CPUs of its own");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR   # busy");
    return true;
}
