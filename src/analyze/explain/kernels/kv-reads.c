// Tokens that read more keys and values than weights.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_kv_reads(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = &f->generate;
    char                           bytes[GGS_NUMBER_LENGTH];
    if (g->flash_ns == 0 || g->read == 0 || g->steps == 0) return false;
    double share = (double) g->kv_read / (double) g->read;
    if (share < 0.3 || g->flash_ns < g->wall_ns / 5) return false;
    out->part      = GGS_PART_GENERATE;
    out->gain_ns   = g->flash_ns / 2;
    out->figure    = share;
    out->figure_of = "share of bytes that a token reads from the KV cache";
    ggs_reason_title(out, "reading the KV cache takes %.0f %% of a token",
                     100 * (double) g->flash_ns / (double) g->wall_ns);
    ggs_reason_evidence(out, "%.0f %% of the bytes that a token reads are keys and values: %s", 100 * share,
                        ggs_format_bytes(bytes, g->kv_read / g->steps));
    ggs_reason_set(out, GGS_KNOB_KV_TYPE, "q8_0");
    ggs_reason_advise(out, "halves them and changes the output a little; or a shorter context");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --roofline: FLASH_ATTN_EXT of GENERATE");
    return true;
}
