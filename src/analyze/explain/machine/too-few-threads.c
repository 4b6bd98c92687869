// Unused cores.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_too_few_threads(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    uint64_t cores  = ggs_explain_facts_cpus(f);
    double   others = f->conditions.others_cpu_share < 0 ? 0 : f->conditions.others_cpu_share * (double) f->cores;
    // Two threads of one core share its arithmetic; the engine chooses a thread per core.
    if (f->threads_per_core > 1) cores = (cores + f->threads_per_core - 1) / f->threads_per_core;
    double free = (double) cores - others;
    bool   busy = f->conditions.others_cpu_share >= 0.15; // has its own finding
    if (f->threads == 0 || f->devices > 0 || f->threads >= cores) return false;
    if (!busy && free - (double) f->threads < 0.5) return false;
    double part = (double) f->threads / (double) cores;
    // Generating is bound by memory, which a few threads may saturate.
    double memory = part;
    if (f->rates.threads == f->threads && f->all_rates.memory_bytes_per_second > 0)
        memory = (double) f->rates.memory_bytes_per_second / (double) f->all_rates.memory_bytes_per_second;
    if (memory > 1) memory = 1;
    double ops     = (double) f->generate.wall_ns * (1 - memory) + (double) f->prompt.wall_ns * (1 - part);
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = (uint64_t) ops;
    out->timed     = busy;
    out->figure    = (double) f->threads;
    out->figure_of = "threads";
    ggs_reason_title(out, "%llu of %llu usable cores compute%s", (unsigned long long) f->threads,
                     (unsigned long long) cores, f->threads == 1 ? "s" : "");
    ggs_reason_evidence(out, "%llu cores compute nothing; other programs used %.1f",
                        (unsigned long long) (cores - f->threads), others);
    ggs_reason_set_number(out, GGS_KNOB_THREADS, cores);
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by thread");
    return true;
}
