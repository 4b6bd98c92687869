// Requests wait for each other, because the server has one slot.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_one_slot(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    uint64_t n = f->back_to_back + 1, slots = n < 8 ? n : 8;
    if (f->program.kind == GGS_PROGRAM_BENCH) return false; // it repeats what it measures
    if (f->sequences != 1 || f->requests < 3 || f->requests_again > 0 || 2 * f->back_to_back < f->requests)
        return false;
    out->part      = GGS_PART_GENERATE;
    out->gain_ns   = (uint64_t) ((double) ggs_explain_facts_part_ns(f, GGS_PART_GENERATE) * (1 - 1.0 / (double) slots));
    out->estimated = true;
    out->figure    = (double) n;
    out->figure_of = "requests one right after the other in one slot";
    ggs_reason_title(out, "one slot: %llu requests ran one right after the other", (unsigned long long) n);
    ggs_reason_evidence(out, "each began right after the end of another; a batch reads the weights once for all");
    ggs_reason_set_number(out, GGS_KNOB_SLOTS, slots);
    snprintf(out->query, sizeof(out->query), "ggscope requests DIR");
    return true;
}
