// Positions in the KV cache are shifted, which rotates all keys.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_context_shifts(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char time[GGS_NUMBER_LENGTH];
    if (f->shifts == 0 || f->shift_ns == 0) return false;
    out->part      = GGS_PART_GENERATE;
    out->timed     = true;
    out->gain_ns   = f->shift_ns;
    out->figure    = (double) f->shifts;
    out->figure_of = "shifts of positions in the KV cache";
    ggs_reason_title(out, "the context is full: it was shifted %llu time%s", (unsigned long long) f->shifts,
                     f->shifts == 1 ? "" : "s");
    ggs_reason_evidence(out, "tokens after a shift take %s longer in all: keys of all cells are rotated",
                        ggs_format_nanoseconds(time, f->shift_ns));
    if (f->kv_cells > 0) ggs_reason_set_number(out, GGS_KNOB_CONTEXT, 2 * f->kv_cells);
    ggs_reason_advise(out, f->kv_cells > 0 ? "or drop more tokens at once" : "a larger context, or drop more at once");
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select count(*) from memory_changes where kind='add'\"");
    return true;
}
