// Other programs on the CPUs: every time of the recording is longer for it.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_other_programs(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    double others = f->conditions.others_cpu_share, cpus = others * (double) f->cores;
    if (others < 0.15 || f->cores == 0) return false;
    double   left = (double) f->usable_cores - cpus, wanted = (double) f->threads;
    uint64_t free  = left < 1 ? 1 : (uint64_t) left;
    out->condition = true;
    out->part      = GGS_PART_TOKENS;
    // What is lost at most is what threads had to do with fewer CPUs than they are.
    if (left < wanted)
        out->gain_ns =
            (uint64_t) ((double) ggs_explain_facts_part_ns(f, GGS_PART_TOKENS) * (1 - (left < 0 ? 0 : left) / wanted));
    out->figure    = others;
    out->figure_of = "share of all CPUs that others used";
    ggs_reason_title(out, "other programs used %.1f of %llu CPUs", cpus, (unsigned long long) f->cores);
    ggs_reason_evidence(out, "others %.0f %% of all CPUs, %llu threads here", 100 * others,
                        (unsigned long long) f->threads);
    ggs_reason_advise(out, "end them and record again; beside them %llu thread%s", (unsigned long long) free,
                      free == 1 ? "" : "s");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --json: machine.others_cpu_share");
    return true;
}
