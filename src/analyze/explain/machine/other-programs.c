// Other programs on the CPUs: all times of the recording are longer.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

// A bound of the loss if context switches were not recorded: the work of the threads on the
// remaining CPUs.
static uint64_t guess(const struct ggs_explain_facts * f, double left) {
    double wanted = (double) f->threads;
    if (left >= wanted) return 0;
    return (uint64_t) ((double) ggs_explain_facts_part_ns(f, GGS_PART_TOKENS) * (1 - (left < 0 ? 0 : left) / wanted));
}

static void explain_lost(const struct ggs_explain_facts * f, double others, struct ggs_reason * out) {
    char lost[GGS_NUMBER_LENGTH], runs[GGS_NUMBER_LENGTH], who[128] = "; who ran instead was not seen (it takes root)";
    if (f->off_cpu.others_seen) who[0] = '\0';
    if (f->off_cpu.who[0] != '\0') snprintf(who, sizeof(who), "; the CPU went first to %s", f->off_cpu.who);
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR   # busy, off CPU");
    if (2 * f->off_cpu.foreign_ns < f->off_cpu.lost_ns) {
        char theirs[GGS_NUMBER_LENGTH];
        ggs_reason_evidence(
            out,
            "they used %.0f %% of all CPU time; for %s of %s, a thread that others waited for had no CPU: for %s "
            "of that because of them, else because of the disk or the program's own threads",
            100 * others, ggs_format_nanoseconds(lost, f->off_cpu.lost_ns),
            ggs_format_nanoseconds(runs, f->off_cpu.run_ns), ggs_format_nanoseconds(theirs, f->off_cpu.foreign_ns));
        return;
    }
    ggs_reason_evidence(out,
                        "they used %.0f %% of all CPU time; for %s of %s, a thread that others waited for had no CPU%s",
                        100 * others, ggs_format_nanoseconds(lost, f->off_cpu.lost_ns),
                        ggs_format_nanoseconds(runs, f->off_cpu.run_ns), who);
}

bool ggs_find_other_programs(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    double others = f->conditions.others_cpu_share, cpus = others * (double) f->cores;
    if (others < 0.15 || f->cores == 0) return false;
    double   left = (double) f->usable_cores - cpus;
    uint64_t free = left < 1 ? 1 : (uint64_t) left, tokens = ggs_explain_facts_part_ns(f, GGS_PART_TOKENS);
    out->condition = true;
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = !f->off_cpu.recorded        ? guess(f, left)
                     : f->off_cpu.foreign_ns > 0 ? f->off_cpu.foreign_ns
                                                 : 1; // 0 would be: not known
    if (out->gain_ns > tokens) out->gain_ns = tokens;
    out->figure    = others;
    out->figure_of = "share of all CPUs that others used";
    ggs_reason_title(out, "other programs used %.1f of %llu CPUs", cpus, (unsigned long long) f->cores);
    ggs_reason_evidence(out, "they used %.0f %% of all CPU time; this program has %llu thread%s", 100 * others,
                        (unsigned long long) f->threads, f->threads == 1 ? "" : "s");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR   # machine, busy");
    if (f->off_cpu.recorded && f->off_cpu.run_ns > 0) explain_lost(f, others, out);
    ggs_reason_advise(out, "end them and record again; if they must run, use %llu thread%s here",
                      (unsigned long long) free, free == 1 ? "" : "s");
    return true;
}
