// A software device: it computes on the CPU, and slower.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_software_device(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char time[GGS_NUMBER_LENGTH];
    if (f->devices == 0 || !f->device.software) return false;
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = f->device.run_ns;
    out->figure    = (double) f->device.run_ns / 1e9;
    out->figure_of = "seconds of graph runs on it";
    ggs_reason_title(out, "%s is a software device: the CPU computes for it", f->device.name);
    ggs_reason_evidence(out, "%s; its graph runs take %s", f->device.description,
                        ggs_format_nanoseconds(time, f->device.run_ns));
    ggs_reason_set(out, GGS_KNOB_GPU_LAYERS, "0");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by device");
    return true;
}
