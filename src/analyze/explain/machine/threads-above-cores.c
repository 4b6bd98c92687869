// More threads than CPUs: each barrier waits for a thread without a CPU.
#include <stdio.h>
#include <stdlib.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

static bool is_above(const char * number, uint64_t cpus) {
    return number != NULL && strtoul(number, NULL, 10) > cpus;
}

// Threads of prompts may have an option of their own, which is then what to change.
static void set_threads(const struct ggs_explain_facts * f, uint64_t cpus, struct ggs_reason * out) {
    const char * batch = ggs_invocation_value(&f->program, GGS_KNOB_THREADS_BATCH);
    bool         above = is_above(batch, cpus);
    if (!above || is_above(ggs_invocation_value(&f->program, GGS_KNOB_THREADS), cpus))
        ggs_reason_set_number(out, GGS_KNOB_THREADS, cpus);
    if (above) ggs_reason_set_number(out, GGS_KNOB_THREADS_BATCH, cpus);
}

bool ggs_find_threads_above(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     work[GGS_NUMBER_LENGTH], took[GGS_NUMBER_LENGTH];
    uint64_t cpus = ggs_explain_facts_cpus(f), busy = f->prompt.busy_ns + f->generate.busy_ns;
    uint64_t wall = f->prompt.wall_ns + f->generate.wall_ns, wait = f->wait_ns;
    if (cpus == 0 || f->threads <= cpus || wall == 0) return false;
    uint64_t ideal = busy / cpus < wall ? busy / cpus : wall;
    double   waits = busy + wait > 0 ? (double) wait / (double) (busy + wait) : 0;
    // Threads that lose the CPU inside an op count as busy, so waits alone are too small.
    uint64_t by_waits = (uint64_t) ((double) wall * waits), by_work = wall - ideal;
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = by_work > by_waits ? by_work : by_waits;
    out->figure    = (double) f->threads;
    out->figure_of = "threads";
    ggs_reason_title(out, "%llu threads on %llu usable core%s", (unsigned long long) f->threads,
                     (unsigned long long) cpus, cpus == 1 ? "" : "s");
    ggs_reason_evidence(out, "threads waited %.0f %% of their time; work of %s took %s", 100 * waits,
                        ggs_format_nanoseconds(work, ideal), ggs_format_nanoseconds(took, wall));
    set_threads(f, cpus, out);
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by thread");
    return true;
}
