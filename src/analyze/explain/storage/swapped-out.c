// Memory of the program that the kernel wrote to the swap device.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

enum { LEAST_BYTES = 64 << 20 };

bool ggs_find_swapped_out(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char                           lock[96];
    const struct ggs_pages_facts * p = &f->pages;
    char                           bytes[GGS_NUMBER_LENGTH], all[GGS_NUMBER_LENGTH], time[GGS_NUMBER_LENGTH];
    uint64_t wall = f->prompt.wall_ns + f->generate.wall_ns, stalled = f->faults_in_ops.stalled_ns;
    if (p->swapped < LEAST_BYTES || 20 * p->swapped < p->resident + p->swapped) return false;
    out->part      = GGS_PART_TOKENS;
    out->once_more = true;
    out->timed     = true;
    out->gain_ns   = stalled < wall ? stalled : wall; // threads wait for the stalled one
    out->figure    = (double) p->swapped;
    out->figure_of = "bytes of the program's memory in swap";
    ggs_reason_title(out, "%s of the program's memory are in swap", ggs_format_bytes(bytes, p->swapped));
    ggs_reason_evidence(out, "%s are in memory; ops were stalled by page faults for %s",
                        ggs_format_bytes(all, p->resident), ggs_format_nanoseconds(time, stalled));
    ggs_reason_words(lock, f, GGS_KNOB_MLOCK, "");
    ggs_reason_advise(out, "end other programs, a smaller context, a smaller quantization%s%s%s",
                      lock[0] == '\0' ? "" : "; ", lock, lock[0] == '\0' ? "" : " keeps the weights");
    snprintf(out->query, sizeof(out->query), "grep swapped_bytes DIR/experiment.json");
    return true;
}
