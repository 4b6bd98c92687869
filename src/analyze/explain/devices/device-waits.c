// A device that computes for a part of its graph runs only: it waits for launches or for the host.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

static const uint64_t SHORT_NS = 20000; // an op that takes no longer than its launch

bool ggs_find_device_waits(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_device_facts * d = &f->device;
    char                            run[GGS_NUMBER_LENGTH], work[GGS_NUMBER_LENGTH], each[GGS_NUMBER_LENGTH];
    // Measuring ops makes a graph run longer: those without are compared.
    if (f->devices == 0 || d->timed_runs == 0 || d->ops == 0 || d->whole_run_ns == 0 || f->generate.runs == 0)
        return false;
    uint64_t busy = d->op_ns / d->timed_runs, op = d->op_ns / d->ops;
    if (4 * busy > 3 * d->whole_run_ns) return false;
    out->part      = GGS_PART_GENERATE;
    out->timed     = true;
    out->gain_ns   = (d->whole_run_ns - busy) * f->generate.runs;
    out->figure    = (double) busy / (double) d->whole_run_ns;
    out->figure_of = "share of a graph run in which the device computes";
    ggs_reason_title(out, "%s computes %.0f %% of a graph run: %s", d->name, 100 * out->figure,
                     op < SHORT_NS ? "kernels are shorter than their launches" : "it waits for the host");
    ggs_reason_evidence(out, "%s of work in a graph run of %s; an op takes %s", ggs_format_nanoseconds(work, busy),
                        ggs_format_nanoseconds(run, d->whole_run_ns), ggs_format_nanoseconds(each, op));
    ggs_reason_advise(out, op < SHORT_NS
                               ? "fewer, larger kernels: -fa on, more tokens per batch (more slots, a draft model), "
                                 "CUDA graphs (unset GGML_CUDA_DISABLE_GRAPHS)"
                               : "a faster core for the thread that submits; nothing else on it (taskset)");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by device   # column busy");
    return true;
}
