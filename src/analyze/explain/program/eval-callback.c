// An eval callback for every node: each becomes a graph of its own.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

enum { MANY = 20 };

bool ggs_find_eval_callback(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = f->generate.steps > 0 ? &f->generate : &f->prompt;
    char                           time[GGS_NUMBER_LENGTH], whole[GGS_NUMBER_LENGTH];
    if (g->steps == 0 || g->decodes == 0 || f->devices > 0 || g->runs / g->decodes < MANY) return false;
    uint64_t threads = f->threads == 0 ? 1 : f->threads, work = g->busy_ns / threads;
    out->part      = f->generate.steps > 0 ? GGS_PART_GENERATE : GGS_PART_PROMPT;
    out->gain_ns   = g->ns > work ? g->ns - work : 0;
    out->figure    = (double) g->runs / (double) g->decodes;
    out->figure_of = "graph runs per decode";
    ggs_reason_title(out, "an eval callback looks at every node: %.0f graph runs per decode", out->figure);
    ggs_reason_evidence(out, "ops are %s of %s; the rest is stopping, asking and starting again",
                        ggs_format_nanoseconds(time, g->wall_ns), ggs_format_nanoseconds(whole, g->ns));
    ggs_reason_set(out, GGS_KNOB_EVAL_CALLBACK, "");
    snprintf(out->query, sizeof(out->query), "ggscope sql DIR \"select avg(runs) from tokens where phase='GENERATE'\"");
    return true;
}
