// Copied weights in pages of 4 KiB: the processor looks up the address of each page, and its table
// of addresses (the TLB) holds few of them.
#include <stdio.h>
#include <string.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

enum { LEAST_BYTES = 128 << 20, CLEAR_NS = 2 }; // CLEAR_NS: what a byte of a huge page costs at load
static const double USUAL = 0.1;                // of generating, if all weights are copies

bool ggs_find_small_pages(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_pages_facts * p = &f->pages;
    char                           small[GGS_NUMBER_LENGTH], all[GGS_NUMBER_LENGTH];
    // A mapped file has no huge pages; where the kernel makes them by itself, or never, the program
    // cannot ask for them.
    if (strcmp(p->huge_pages, "madvise") != 0 || f->devices > 0) return false;
    if (p->copied_small < LEAST_BYTES) return false;
    double share = f->weight_bytes > p->copied_small ? (double) p->copied_small / (double) f->weight_bytes : 1;
    double gain  = USUAL * (double) f->generate.wall_ns * share;
    if (gain < CLEAR_NS * (double) p->copied_small) return false; // the load takes longer than that
    out->part      = GGS_PART_GENERATE;
    out->gain_ns   = (uint64_t) gain;
    out->estimated = true;
    out->figure    = (double) p->copied_small;
    out->figure_of = "bytes of copied weights in pages of 4 KiB";
    ggs_reason_title(out, "%s of weights in memory lie in pages of 4 KiB", ggs_format_bytes(small, p->copied_small));
    ggs_reason_evidence(out,
                        "%s were copied at load; the processor finds addresses faster in pages of 2 MiB, which the "
                        "kernel gives to programs that ask (madvise)",
                        ggs_format_bytes(all, p->copied));
    ggs_reason_set(out, GGS_KNOB_HUGE_PAGES, "");
    ggs_reason_advise(out, "it takes glibc 2.35 or newer, and loading takes longer");
    snprintf(out->query, sizeof(out->query), "grep -A 4 resident_bytes DIR/experiment.json");
    return true;
}
