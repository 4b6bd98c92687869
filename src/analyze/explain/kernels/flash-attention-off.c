// Attention that writes all scores to memory and reads them again.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_flash_off(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts *p = &f->prompt, *g = &f->generate;
    if (p->softmax_ns + g->softmax_ns == 0 || p->flash_ns + g->flash_ns > 0 || f->devices > 0) return false;
    uint64_t attention = p->attention_ns + g->attention_ns, all = p->wall_ns + g->wall_ns;
    if (all == 0 || attention < all / 10) return false;
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = attention / 2;
    out->estimated = true;
    out->figure    = (double) attention / (double) all;
    out->figure_of = "share of op time in attention";
    ggs_reason_title(out, "flash attention is off, and attention takes %.0f %% of the time", 100 * out->figure);
    if (f->graphs)
        ggs_reason_evidence(out, "scores, softmax and values are ops of their own");
    else
        ggs_reason_evidence(out, "scores, softmax and values take %.0f %% of the prompt and %.0f %% of generating",
                            p->wall_ns > 0 ? 100 * (double) p->attention_ns / (double) p->wall_ns : 0,
                            g->wall_ns > 0 ? 100 * (double) g->attention_ns / (double) g->wall_ns : 0);
    bool is_switch = f->old && (f->program.kind == GGS_PROGRAM_LLAMA || f->program.kind == GGS_PROGRAM_SERVER);
    if (is_switch)
        ggs_reason_advise(out, "-fa: a switch in this release, -fa on in later ones");
    else
        ggs_reason_set(out, GGS_KNOB_FLASH_ATTENTION, f->program.kind == GGS_PROGRAM_BENCH ? "1" : "on");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --roofline   # SOFT_MAX and MUL_MAT of (activations)");
    return true;
}
