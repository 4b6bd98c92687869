// Threads wait because one of them has more to do.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_uneven_work(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     time[GGS_NUMBER_LENGTH];
    uint64_t uneven = f->prompt.uneven_ns + f->generate.uneven_ns, wall = f->prompt.wall_ns + f->generate.wall_ns;
    uint64_t cpus = ggs_explain_facts_cpus(f), busy = f->prompt.busy_ns + f->generate.busy_ns;
    double   others = f->cores > 0 ? ggs_explain_facts_others(f) / (double) f->cores : 0;
    double   steal  = f->conditions.steal_share < 0 ? 0 : f->conditions.steal_share;
    // Threads without a CPU look uneven; that is another finding.
    if (f->threads < 2 || wall == 0 || f->threads > cpus || others + steal >= 0.05) return false;
    if (f->streamed.wait_ns >= wall / 20) return false; // they wait for one that waits for the disk
    double share = (double) uneven / (double) (uneven + busy);
    if (share < 0.1) return false;
    out->part      = GGS_PART_TOKENS;
    out->timed     = true;
    out->gain_ns   = uneven / f->threads;
    out->figure    = share;
    out->figure_of = "share of thread time waited because another thread had more to do";
    ggs_reason_title(out, "work is uneven between %llu threads", (unsigned long long) f->threads);
    ggs_reason_evidence(out, "threads waited %s, %.0f %% of their time, for one that had more to do",
                        ggs_format_nanoseconds(time, uneven), 100 * share);
    ggs_reason_set_number(out, GGS_KNOB_THREADS, f->threads - 1);
    ggs_reason_advise(out, "or keep the threads on cores of one speed: taskset%s",
                      ggs_reason_is_llama(f) ? ", --cpu-mask" : "");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --roofline   # column uneven");
    return true;
}
