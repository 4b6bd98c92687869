// Tokens that go back and forth between a device and the CPU.
#include <stdio.h>
#include <stdlib.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

enum { MANY = 4 };

bool ggs_find_device_splits(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = f->generate.steps > 0 ? &f->generate : &f->prompt;
    char                           time[GGS_NUMBER_LENGTH];
    if (f->devices == 0 || g->decodes == 0 || g->runs / g->decodes < MANY) return false;
    // All weights are on the device: no option moves more there, and ops that it lacks are another
    // finding.
    if (g->device_read > 0 && 10 * g->weights_read <= g->weights_read + g->device_read) return false;
    bool experts   = g->expert_ns > g->wall_ns / 4;
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = f->cpu_run_ns;
    out->figure    = (double) g->runs / (double) g->decodes;
    out->figure_of = "graph runs per decode";
    ggs_reason_title(out, "each decode is %.0f graph runs, back and forth between %s and the CPU", out->figure,
                     f->device.name);
    ggs_reason_evidence(out, "%s%s of graph runs on the CPU; %llu transfers", experts ? "experts are on the CPU: " : "",
                        ggs_format_nanoseconds(time, f->cpu_run_ns), (unsigned long long) f->device.transfers);
    const char *  given  = ggs_invocation_value(&f->program, GGS_KNOB_CPU_EXPERTS);
    unsigned long layers = given == NULL ? 0 : strtoul(given, NULL, 10);
    if (experts && layers > 0) {
        ggs_reason_set_number(out, GGS_KNOB_CPU_EXPERTS, layers / 2);
        ggs_reason_advise(out, "or fewer: as device memory allows");
    } else if (experts)
        ggs_reason_advise(out, "fewer layers of experts on the CPU%s, as many as device memory holds",
                          ggs_reason_is_llama(f)                  ? " (-ncmoe N)"
                          : f->program.kind == GGS_PROGRAM_ENGINE ? " (a narrower pattern of -ot)"
                                                                  : "");
    else {
        ggs_reason_set(out, GGS_KNOB_GPU_LAYERS, "99");
        ggs_reason_advise(out, "or as many as device memory holds");
    }
    snprintf(out->query, sizeof(out->query),
             "ggscope stats DIR --by device; ggscope sql DIR \"select avg(runs) from tokens\"");
    return true;
}
