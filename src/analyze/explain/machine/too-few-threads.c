// Unused cores.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_too_few_threads(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    uint64_t cores  = ggs_explain_facts_cpus(f);
    double   others = ggs_explain_facts_others(f);
    // Two threads of one core share its arithmetic; the engine chooses a thread per core.
    if (f->threads_per_core > 1) cores = (cores + f->threads_per_core - 1) / f->threads_per_core;
    // Several processes or contexts may compute at the same time, each with so many threads.
    double at_once = f->at_once > 1.1 ? f->at_once : 1;
    double idle    = (double) cores - others - (double) f->threads * at_once;
    if (f->threads == 0 || f->devices > 0 || idle < 0.5) return false;
    // Threads on cores that other programs use would take turns with them.
    uint64_t most = f->threads + (uint64_t) (idle / at_once + 0.5);
    if (most == f->threads) return false;
    double part = (double) f->threads / (double) most;
    // Generating is bound by memory, which a few threads may saturate.
    double memory = part;
    if (f->rates.threads == f->threads && f->all_rates.memory_bytes_per_second > 0)
        memory = (double) f->rates.memory_bytes_per_second / (double) f->all_rates.memory_bytes_per_second;
    if (memory > 1) memory = 1;
    double ops     = (double) f->generate.wall_ns * (1 - memory) + (double) f->prompt.wall_ns * (1 - part);
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = (uint64_t) ops;
    out->timed     = f->conditions.others_cpu_share >= 0.15; // has its own finding
    out->estimated = f->conditions.others_cpu_share < 0;
    out->figure    = (double) f->threads;
    out->figure_of = "threads";
    ggs_reason_title(out, "%llu of %llu usable cores compute%s", (unsigned long long) f->threads,
                     (unsigned long long) cores, f->threads == 1 ? "s" : "");
    if (f->conditions.others_cpu_share < 0)
        ggs_reason_evidence(out,
                            "%.1f cores have nothing to compute here; what other programs used is not recorded, the "
                            "load was %.1f",
                            idle, f->load);
    else
        ggs_reason_evidence(out, "%.1f cores have nothing to compute; other programs used %.1f", idle, others);
    ggs_reason_set_number(out, GGS_KNOB_THREADS, most);
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by thread");
    return true;
}
