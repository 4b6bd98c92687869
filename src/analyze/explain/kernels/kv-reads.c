// Tokens that read more keys and values than weights.
#include <stdio.h>
#include <string.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

enum { LEAST_BYTES = 8 << 20 }; // fewer stay in the caches of the CPU

bool ggs_find_kv_reads(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = &f->generate;
    char                           bytes[GGS_NUMBER_LENGTH];
    // Nothing halves keys of four or five bits.
    bool wide = f->kv_type[0] == '\0' || strstr(f->kv_type, "16") != NULL || strcmp(f->kv_type, "f32") == 0;
    if (!wide && strcmp(f->kv_type, "q8_0") != 0) return false;
    if (f->graphs || g->flash_ns == 0 || g->read == 0 || g->steps == 0 || g->busy_ns == 0) return false;
    double share = (double) g->kv_read / (double) g->read, time = (double) g->flash_busy_ns / (double) g->busy_ns;
    // Other programs make short ops long: bytes do not depend on them.
    bool busy = ggs_conditions_are_busy(&f->conditions);
    if (share < 0.3 || (!busy && time < 0.2) || (busy && g->kv_read / g->steps < LEAST_BYTES)) return false;
    if (busy) time = share;
    out->part      = GGS_PART_GENERATE;
    out->gain_ns   = (uint64_t) ((double) g->ns * time / 2);
    out->figure    = share;
    out->figure_of = "share of bytes that a token reads from the KV cache";
    ggs_reason_title(out, "reading the KV cache takes %.0f %% of a token", 100 * time);
    ggs_reason_evidence(out, "%.0f %% of the bytes that a token reads are keys and values: %s", 100 * share,
                        ggs_format_bytes(bytes, g->kv_read / g->steps));
    ggs_reason_set(out, GGS_KNOB_KV_TYPE, wide ? "q8_0" : "q4_0");
    ggs_reason_advise(out, wide ? "halves them and changes the output a little; or a shorter context"
                                : "halves them and changes the output; or a shorter context");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --roofline   # FLASH_ATTN_EXT of GENERATE");
    return true;
}
