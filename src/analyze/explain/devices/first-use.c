// The first graph run on a device compiles its kernels or shaders.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "analyze/lanes/first-use.h"
#include "base/number.h"

enum { LONG_NS = 200000000 };

bool ggs_find_first_use(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char                            first[GGS_NUMBER_LENGTH], usual[GGS_NUMBER_LENGTH];
    const struct ggs_device_facts * d = &f->device;
    // The first graph run computes a prompt, later ones a token: many tokens take at most as many
    // times as long as one.
    uint64_t tokens = f->prompt.decodes > 0 ? f->prompt.tokens / f->prompt.decodes : 1;
    bool     known  = d->median_run_ns > 0;
    if (f->devices == 0 || d->first_run_ns < LONG_NS) return false;
    if (known && !ggs_first_use_is_long(d->first_run_ns, d->median_run_ns, tokens)) return false;
    out->part      = GGS_PART_PROMPT;
    out->gain_ns   = d->first_run_ns;
    out->once_more = true;
    out->estimated = d->median_run_ns == 0; // a long prompt would take long, too
    out->figure    = (double) d->first_run_ns / 1e9;
    out->figure_of = "seconds of the first graph run on the device";
    ggs_reason_title(out, "the first use of %s takes %s: it %s shaders", d->name,
                     ggs_format_nanoseconds(first, d->first_run_ns), out->estimated ? "may compile" : "compiles");
    ggs_reason_evidence(out, "later graph runs %s%s; the driver keeps what it compiled for the next program",
                        out->estimated ? "are not seen" : "take ",
                        out->estimated ? "" : ggs_format_nanoseconds(usual, d->median_run_ns));
    ggs_reason_advise(out, "run it twice and look at the second; a warm-up before the first request");
    snprintf(out->query, sizeof(out->query), "ggscope sql DIR \"select run, end_ns-begin_ns from runs order by run\"");
    return true;
}
