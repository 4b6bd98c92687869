// Time in decodes outside of graph runs: graphs are built again, buffers allocated, inputs copied.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_decode_overhead(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = &f->generate;
    char                           time[GGS_NUMBER_LENGTH], step[GGS_NUMBER_LENGTH];
    if (g->steps < 4 || g->step_ns == 0 || g->decodes == 0 || g->runs / g->decodes >= 20) return false;
    double share = (double) g->outside_ns / (double) g->step_ns;
    if (share < 0.15) return false;
    out->part      = GGS_PART_GENERATE;
    out->timed     = true;
    out->gain_ns   = g->outside_ns * g->steps;
    out->figure    = share;
    out->figure_of = "share of a decode outside of graph runs";
    ggs_reason_title(out, "%.0f %% of a decode lies outside of graph runs", 100 * share);
    ggs_reason_evidence(out, "%s of %s (medians): graphs are built, buffers allocated, inputs copied",
                        ggs_format_nanoseconds(time, g->outside_ns), ggs_format_nanoseconds(step, g->step_ns));
    ggs_reason_advise(out, "batches of one shape, so that graphs are used again (unset LLAMA_GRAPH_REUSE_DISABLE)");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by token");
    return true;
}
