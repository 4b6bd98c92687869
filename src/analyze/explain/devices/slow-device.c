// A device that reads its weights more slowly than the CPU reads the others.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_slow_device(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = &f->generate;
    if (f->devices == 0 || f->device.software || g->device_ns == 0 || g->wall_ns == 0) return false;
    // Both need enough work to be compared.
    if (10 * g->device_read < g->read || 10 * g->read < g->device_read) return false;
    double device = (double) g->device_read / (double) g->device_ns, cpu = (double) g->read / (double) g->wall_ns;
    if (cpu < 1.2 * device) return false;
    out->part      = GGS_PART_GENERATE;
    out->timed     = true;
    out->gain_ns   = (uint64_t) ((double) g->device_ns * (1 - device / cpu));
    out->figure    = cpu / device;
    out->figure_of = "times that the CPU is faster, by bytes read";
    ggs_reason_title(out, "%s is slower than the CPU: %.1f GB/s, the CPU %.1f", f->device.name, device, cpu);
    ggs_reason_evidence(out, "generating, its ops read %.0f %% of the bytes in %.0f %% of the time of all ops",
                        100 * (double) g->device_read / (double) (g->device_read + g->read),
                        100 * (double) g->device_ns / (double) (g->device_ns + g->wall_ns));
    ggs_reason_set(out, GGS_KNOB_GPU_LAYERS, "0");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by device");
    return true;
}
