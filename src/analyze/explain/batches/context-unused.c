// A context that is far larger than what is used of it.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

enum { LEAST_BYTES = 256 << 20 };

static uint64_t next_power(uint64_t n) {
    uint64_t power = 512;
    while (power < n) power *= 2;
    return power;
}

bool ggs_find_context_unused(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char bytes[GGS_NUMBER_LENGTH];
    // Each stream holds as many tokens: the longest sequence decides.
    uint64_t streams = f->kv_streams > 1 ? f->kv_streams : 1;
    uint64_t used    = streams > 1 ? streams * f->positions_each : f->positions;
    if (f->kv_cells == 0 || f->kv_bytes < LEAST_BYTES || used == 0 || 4 * used > f->kv_cells) return false;
    uint64_t wanted = streams * next_power(2 * used / streams);
    if (wanted >= f->kv_cells) return false;
    out->part       = GGS_PART_MEMORY;
    out->gain_bytes = (uint64_t) ((double) f->kv_bytes * (1 - (double) wanted / (double) f->kv_cells));
    out->figure     = (double) used;
    out->figure_of  = "positions used of the context";
    ggs_reason_title(out, "the context holds %llu tokens; %llu are used", (unsigned long long) f->kv_cells,
                     (unsigned long long) used);
    if (streams > 1)
        ggs_reason_evidence(out, "%s of KV cache are allocated for %llu slots; one used %llu tokens, others fewer",
                            ggs_format_bytes(bytes, f->kv_bytes), (unsigned long long) streams,
                            (unsigned long long) f->positions_each);
    else
        ggs_reason_evidence(out, "%s of KV cache are allocated for it", ggs_format_bytes(bytes, f->kv_bytes));
    ggs_reason_set_number(out, GGS_KNOB_CONTEXT, wanted);
    snprintf(out->query, sizeof(out->query),
             "ggscope buffers DIR; ggscope sql DIR \"select sequence, max(position)+1 from inputs group by sequence\"");
    return true;
}
