// Prompts that hardly changed are computed from the start: the cache is missed at an early token.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_prompt_recomputed(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    if (f->requests_again == 0 || f->prompt.tokens == 0) return false;
    out->part      = GGS_PART_PROMPT;
    out->gain_ns   = (uint64_t) ((double) f->prompt.ns * (double) f->prompt_again / (double) f->prompt.tokens);
    out->figure    = (double) f->prompt_again;
    out->figure_of = "prompt tokens computed though the slot had them";
    ggs_reason_title(out, "%llu prompt%s computed again: the first difference is token %llu",
                     (unsigned long long) f->requests_again, f->requests_again == 1 ? " is" : "s are",
                     (unsigned long long) f->first_difference);
    ggs_reason_evidence(out, "%llu of %llu tokens of these prompts are the same as in the request before",
                        (unsigned long long) f->prompt_again, (unsigned long long) f->prompt_of);
    ggs_reason_advise(out, "what changes (dates, ids) belongs at the end of the prompt%s",
                      f->program.kind == GGS_PROGRAM_SERVER  ? "; --cache-reuse 256"
                      : f->program.kind == GGS_PROGRAM_OTHER ? "; keep the memory of the tokens before it"
                                                             : "");
    snprintf(out->query, sizeof(out->query), "ggscope requests DIR   # columns prompt and cached");
    return true;
}
