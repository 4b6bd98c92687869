// A recording with --prove: pages are protected before every op.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_distorted_times(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    if (!f->proved) return false;
    out->condition = true;
    out->part      = GGS_PART_TOKENS;
    out->figure    = 1;
    out->figure_of = "recorded with --prove";
    ggs_reason_title(out, "recorded with --prove: all times are distorted");
    ggs_reason_evidence(out, "pages of the model are protected before every op");
    ggs_reason_advise(out, "record without --prove, and explain that");
    snprintf(out->query, sizeof(out->query), "ggscope check DIR");
    return true;
}
