// The program itself takes long between decodes.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

static const uint64_t SLICE_NS = 4000000;

// If other programs fill the CPUs, a thread waits for one, for about a time slice of each program
// that waits too, and that is not the program's work. Where context switches are recorded, such
// waits are left out of the facts.
static uint64_t wait_for_cpu(const struct ggs_explain_facts * f) {
    if (f->off_cpu.recorded) return 0;
    double others = ggs_explain_facts_others(f), each = f->cores > 0 ? f->load / (double) f->cores : 0;
    if (others < 0.15 * (double) f->cores || others + (double) f->threads <= (double) f->usable_cores - 0.5) return 0;
    return each > 1 ? (uint64_t) ((double) SLICE_NS * each) : SLICE_NS;
}

bool ggs_find_between_decodes(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = &f->generate;
    char                           time[GGS_NUMBER_LENGTH], step[GGS_NUMBER_LENGTH];
    const char *                   what = f->graphs ? "graph run" : "decode", *phase = f->graphs ? "GRAPH" : "GENERATE";
    if (g->steps < 4 || g->before_ns == 0 || f->drafting_ns > 0) return false;
    // The median ignores a thread that once had no CPU.
    double   share = (double) g->before_ns / (double) (g->before_ns + g->step_ns);
    uint64_t all   = g->before_ns * g->steps;
    if (f->requests > 1 && f->sequences > 1) return false; // a server waits for clients
    if (share < 0.1 || g->before_ns < wait_for_cpu(f)) return false;
    out->part      = GGS_PART_GENERATE;
    out->timed     = true;
    out->gain_ns   = all < f->between_ns ? all : f->between_ns;
    out->figure    = share;
    out->figure_of = "share of the time of a token between decodes";
    ggs_reason_title(out, "the program is slow between %ss", what);
    ggs_reason_evidence(out, "%s before each %s of %s (medians%s): %.0f %% of the time",
                        ggs_format_nanoseconds(time, g->before_ns), what, ggs_format_nanoseconds(step, g->step_ns),
                        f->off_cpu.recorded ? ", without waits for a CPU" : "", 100 * share);
    ggs_reason_advise(out, f->graphs ? "profile the program (perf top)"
                                     : "profile the program (perf top): sampling, grammar, printing and callbacks run "
                                       "between decodes; fewer samplers");
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select gap from (select phase, begin_ns - lag(end_ns) over (order by token) gap from "
             "tokens) where phase='%s' order by gap limit 1 offset (select count(*)/2 from tokens where phase='%s')\"",
             phase, phase);
    return true;
}
