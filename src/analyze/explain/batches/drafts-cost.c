// Drafted tokens that cost more than they save.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_drafts_cost(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    uint64_t drafted = f->accepted + f->rejected;
    char     time[GGS_NUMBER_LENGTH];
    if (drafted == 0 || f->drafting_ns == 0) return false;
    double accepted = (double) f->accepted / (double) drafted;
    // Compares steps with and without drafts; if all have drafts, few accepted tokens decide.
    bool worse = f->ns_per_plain > 0 ? f->ns_per_drafted > f->ns_per_plain : accepted < 0.4;
    if (!worse) return false;
    out->part      = GGS_PART_GENERATE;
    out->timed     = true;
    out->gain_ns   = f->drafting_ns;
    out->figure    = accepted;
    out->figure_of = "share of drafted tokens that were accepted";
    ggs_reason_title(out, "the draft does not pay: %.0f %% of its tokens are accepted", 100 * accepted);
    ggs_reason_evidence(out, "%llu of %llu accepted; drafting took %s", (unsigned long long) f->accepted,
                        (unsigned long long) drafted, ggs_format_nanoseconds(time, f->drafting_ns));
    ggs_reason_set(out, GGS_KNOB_DRAFT, "");
    ggs_reason_advise(out, "a smaller draft model, or fewer drafted tokens%s",
                      ggs_reason_is_llama(f) ? " (--draft-max)" : "");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by context");
    return true;
}
