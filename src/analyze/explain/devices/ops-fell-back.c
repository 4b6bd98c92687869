// All weights are on the device, but ops without weights run on the CPU: the device has no kernels
// for them.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_ops_fell_back(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = f->generate.steps > 0 ? &f->generate : &f->prompt;
    char                           time[GGS_NUMBER_LENGTH], whole[GGS_NUMBER_LENGTH];
    if (f->devices == 0 || g->plain_ns == 0 || g->decodes == 0) return false;
    // Weights in host memory keep all ops of their layers on the CPU: that is another finding.
    if (10 * g->weights_read > g->weights_read + g->device_read || 20 * g->plain_ns < g->ns) return false;
    out->part      = f->generate.steps > 0 ? GGS_PART_GENERATE : GGS_PART_PROMPT;
    out->gain_ns   = g->plain_ns;
    out->figure    = (double) g->plain_ns / (double) g->ns;
    out->figure_of = "share of the time in ops on the CPU though the weights are on the device";
    ggs_reason_title(out, "%s and other ops run on the CPU: %s has no kernels for them", g->plain_op, f->device.name);
    ggs_reason_evidence(out, "%s of %s; %s alone takes %.0f %% of that", ggs_format_nanoseconds(time, g->plain_ns),
                        ggs_format_nanoseconds(whole, g->ns), g->plain_op,
                        100 * (double) g->plain_op_ns / (double) g->plain_ns);
    ggs_reason_advise(out, "a newer engine; another KV type (-ctk f16 -ctv f16) or flash attention (-fa on), if it is "
                           "one of theirs");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by device; ggscope stats DIR --roofline");
    return true;
}
