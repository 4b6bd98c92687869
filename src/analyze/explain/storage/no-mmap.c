// The model is read into memory instead of being mapped.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_no_mmap(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char                            read[GGS_NUMBER_LENGTH], time[GGS_NUMBER_LENGTH];
    const struct ggs_loading_kind * calls = &f->loading.by_kind[GGS_READ_FILE];
    if (f->model_bytes == 0 || calls->bytes < f->model_bytes / 2 || f->devices > 0) return false;
    out->part      = GGS_PART_LOAD;
    out->timed     = true;
    out->gain_ns   = calls->ns;
    out->figure    = (double) calls->bytes;
    out->figure_of = "bytes read by calls while loading";
    ggs_reason_title(out, "the model is read into memory, not mapped");
    ggs_reason_evidence(out, "%s copied by read calls in %s; the page cache holds a second copy",
                        ggs_format_bytes(read, calls->bytes), ggs_format_nanoseconds(time, calls->ns));
    ggs_reason_set(out, GGS_KNOB_MMAP, "1");
    if (ggs_reason_is_llama(f) && ggs_invocation_value(&f->program, GGS_KNOB_MMAP) == NULL)
        ggs_reason_advise(out, "no option or variable that turns mmap off: --direct-io, LLAMA_ARG_NO_MMAP");
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select kind, sum(bytes), sum(duration_ns) from reads group by kind\"");
    return true;
}
