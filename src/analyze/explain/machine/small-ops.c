// Ops so small that threads wait longer for each other than they compute.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_small_ops(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    uint64_t barriers = f->prompt.barrier_ns + f->generate.barrier_ns, wall = f->prompt.wall_ns + f->generate.wall_ns;
    uint64_t busy   = f->prompt.busy_ns + f->generate.busy_ns;
    double   others = f->cores > 0 ? ggs_explain_facts_others(f) / (double) f->cores : 0;
    double   steal  = f->conditions.steal_share < 0 ? 0 : f->conditions.steal_share;
    // A thread without a CPU keeps others waiting too; that is another finding.
    if (f->threads < 2 || f->threads > ggs_explain_facts_cpus(f) || wall == 0 || others + steal >= 0.05) return false;
    double share = (double) barriers / (double) (barriers + busy);
    if (share < 0.25) return false;
    // If the work of all threads takes less than the ops do, one thread alone is faster.
    bool one       = busy < wall;
    out->part      = GGS_PART_TOKENS;
    out->timed     = true;
    out->estimated = !one;
    out->gain_ns   = one ? wall - busy : barriers / f->threads;
    out->figure    = share;
    out->figure_of = "share of thread time at barriers of finished ops";
    ggs_reason_title(out, "ops are so small that %llu threads wait for each other %.0f %% of their time",
                     (unsigned long long) f->threads, 100 * share);
    ggs_reason_evidence(
        out,
        one ? "all of the work would take one thread %.0f %% of this time; after each op, threads wait for the last one"
            : "threads compute for %.0f %% of this time; after each op, they wait for the last one",
        100 * (double) busy / (double) wall / (one ? 1 : (double) f->threads));
    ggs_reason_set_number(out, GGS_KNOB_THREADS, one ? 1 : f->threads / 2);
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --roofline   # column barrier");
    return true;
}
