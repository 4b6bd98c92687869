// Repacking takes longer than it saves: the run is short.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

static const uint64_t LEAST_NS = 200000000;
enum { FEW = 8 }; // tokens

bool ggs_find_repack_costs(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     time[GGS_NUMBER_LENGTH], bytes[GGS_NUMBER_LENGTH], prompt[GGS_NUMBER_LENGTH];
    uint64_t saved = 2 * f->prompt.wall_ns; // without repacking a prompt usually takes three times as long
    uint64_t all   = f->load_ns + ggs_explain_facts_part_ns(f, GGS_PART_TOKENS);
    if (f->prompt.tokens >= FEW || f->generate.steps >= FEW) return false;
    if (f->repack_ns < LEAST_NS || f->repack_ns < saved || 4 * f->repack_ns < all || f->requests > 1) return false;
    out->part      = GGS_PART_LOAD;
    out->timed     = true;
    out->estimated = true;
    out->gain_ns   = f->repack_ns - saved;
    out->figure    = (double) f->repack_ns / 1e9;
    out->figure_of = "seconds of repacking while loading";
    ggs_reason_title(out, "repacking weights takes %s of a short run", ggs_format_nanoseconds(time, f->repack_ns));
    ggs_reason_evidence(out, "%s are copied into another layout, for a prompt of %llu tokens that takes %s",
                        ggs_format_bytes(bytes, f->repack_bytes), (unsigned long long) f->prompt.tokens,
                        ggs_format_nanoseconds(prompt, f->prompt.ns));
    ggs_reason_set(out, GGS_KNOB_NO_REPACK, "");
    ggs_reason_advise(out, "or one process for many prompts");
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select b.type, sum(t.bytes), sum(t.duration_ns) from transfers t join buffers b on "
             "t.to_buffer = b.buffer group by b.type\"");
    return true;
}
