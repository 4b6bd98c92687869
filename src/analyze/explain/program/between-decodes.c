// The program itself takes long between decodes.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_between_decodes(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = &f->generate;
    char                           time[GGS_NUMBER_LENGTH], step[GGS_NUMBER_LENGTH];
    if (g->steps < 4 || g->before_ns == 0 || f->drafting_ns > 0) return false;
    // The median ignores a thread that once had no CPU.
    double   share = (double) g->before_ns / (double) (g->before_ns + g->step_ns);
    uint64_t all   = g->before_ns * g->steps;
    if (f->requests > 1 && f->sequences > 1) return false; // a server waits for clients
    if (share < 0.1) return false;
    out->part      = GGS_PART_GENERATE;
    out->timed     = true;
    out->gain_ns   = all < f->between_ns ? all : f->between_ns;
    out->figure    = share;
    out->figure_of = "share of the time of a token between decodes";
    ggs_reason_title(out, "the program is slow between decodes");
    ggs_reason_evidence(out, "%s before each decode of %s (medians): %.0f %% of the time",
                        ggs_format_nanoseconds(time, g->before_ns), ggs_format_nanoseconds(step, g->step_ns),
                        100 * share);
    ggs_reason_advise(out, "sampling, grammar, printing, callbacks: profile the program (perf top); fewer samplers");
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select begin_ns - lag(end_ns) over (order by token) from tokens\"");
    return true;
}
