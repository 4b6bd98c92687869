// The program asked for layers on a device, and there is none.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_no_device(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    if (!f->wants_device || f->devices > 0) return false;
    const char * layers = ggs_invocation_value(&f->program, GGS_KNOB_GPU_LAYERS);
    out->part           = GGS_PART_TOKENS;
    out->gain_ns        = f->prompt.wall_ns + f->generate.wall_ns;
    out->estimated      = true;
    out->figure         = 0;
    out->figure_of      = "graph runs on devices";
    ggs_reason_title(out, "-ngl %s, and no device computed anything", layers == NULL ? "" : layers);
    ggs_reason_evidence(out, "every op ran on the CPU");
    ggs_reason_advise(out, "an engine with a backend for the GPU (libggml-cuda.so, libggml-vulkan.so), its driver, "
                           "and permission: ggscope doctor lists the devices");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --by device");
    return true;
}
