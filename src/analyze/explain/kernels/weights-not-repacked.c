// Weights in the file's layout, although kernels for a repacked layout compute prompts faster.
#include <stdio.h>
#include <string.h>

#include "analyze/explain/findings.h"

enum { LONG = 32 };

bool ggs_find_not_repacked(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    static const char * const types[] = {"q4_0", "q4_K", "iq4_nl"};
    bool                      could   = false;
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) could |= strcmp(f->type, types[i]) == 0;
    bool asked = ggs_invocation_value(&f->program, GGS_KNOB_REPACK) != NULL;
    bool wide  = strstr(f->flags, "avx2") != NULL || strstr(f->flags, "asimddp") != NULL;
    bool plain = strstr(f->cpu_library, "x64") != NULL || strstr(f->cpu_library, "sse") != NULL;
    if (!could || f->repacked || f->devices > 0 || f->prompt.tokens < LONG || plain || !(asked || wide)) return false;
    if (f->streamed.uses > 0) return false; // a repacked copy would take the memory that is missing
    // Short batches have no rows to share: repacking does little for them.
    if (f->prompt.runs > 0 && f->prompt.tokens / f->prompt.runs < 4) return false;
    out->part      = GGS_PART_PROMPT;
    out->gain_ns   = f->prompt.wall_ns / 10 * 7;
    out->estimated = true;
    out->figure    = 0;
    out->figure_of = "bytes of weights in a layout for this CPU";
    ggs_reason_title(out, "weights of type %s are not repacked for this CPU", f->type);
    ggs_reason_evidence(
        out,
        "all %llu MiB of weights lie as in the file; in the layout that its vector units read in one piece "
        "(CPU_REPACK, AMX), prompts are usually 2 to 4 times as fast",
        (unsigned long long) (f->weight_bytes >> 20));
    if (asked || f->program.kind == GGS_PROGRAM_OTHER)
        ggs_reason_set(out, GGS_KNOB_REPACK, "");
    else
        ggs_reason_advise(out, "an engine whose CPU library repacks %s: a newer release, with GGML_CPU_REPACK=ON; ",
                          f->type);
    size_t n = strlen(out->advice);
    snprintf(out->advice + n, sizeof(out->advice) - n, "it costs time at load and a copy in memory");
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select type, sum(bytes) from buffers where class='weights' group by type\"");
    return true;
}
