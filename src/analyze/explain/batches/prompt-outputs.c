// Logits of every prompt token, of which one is needed.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_prompt_outputs(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     time[GGS_NUMBER_LENGTH], whole[GGS_NUMBER_LENGTH];
    uint64_t outputs = f->prompt.outputs, needed = f->outputs_needed == 0 ? 1 : f->outputs_needed;
    if (outputs < 8 || 2 * outputs < f->prompt.tokens || outputs <= 2 * needed) return false;
    out->part      = GGS_PART_PROMPT;
    out->gain_ns   = (uint64_t) ((double) f->prompt.output_ns * (1 - (double) needed / (double) outputs));
    out->figure    = (double) outputs;
    out->figure_of = "prompt tokens with an output";
    ggs_reason_title(out, "outputs (logits) are computed for %llu of %llu prompt tokens", (unsigned long long) outputs,
                     (unsigned long long) f->prompt.tokens);
    ggs_reason_evidence(out, "the output layer takes %s of %s; the program reads %llu output%s",
                        ggs_format_nanoseconds(time, f->prompt.output_ns), ggs_format_nanoseconds(whole, f->prompt.ns),
                        (unsigned long long) (outputs - f->prompt.unread), outputs - f->prompt.unread == 1 ? "" : "s");
    ggs_reason_advise(out, "%s",
                      f->program.kind == GGS_PROGRAM_ENGINE ? "without --logits-hash"
                      : f->program.kind == GGS_PROGRAM_PYTHON
                          ? "Llama(logits_all=False)"
                          : "batch.logits[i] = 1 for the last token alone; no echo, no logits_all");
    snprintf(
        out->query, sizeof(out->query),
        "ggscope sql DIR \"select count(*) from inputs join tokens using (token) where phase='PROMPT' and output=1\"");
    return true;
}
