// Weights on one NUMA node, read by threads on several: they share the memory of one.
#include <stdio.h>

#include "analyze/explain/findings.h"

bool ggs_find_one_node(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_pages_facts * p    = &f->pages;
    uint64_t                       most = 0, all = 0;
    unsigned                       node = 0;
    for (unsigned i = 0; i < p->nodes; i++) {
        all += p->node[i];
        if (p->node[i] > most) most = p->node[i], node = i;
    }
    // The kernel spreads threads over nodes once they are more than one node has cores.
    uint64_t cores = p->nodes > 0 ? f->usable_cores / p->nodes : 0;
    if (p->nodes < 2 || all == 0 || f->devices > 0 || f->threads <= cores) return false;
    double share = (double) most / (double) all, even = 1.0 / p->nodes;
    if (share < 1.5 * even) return false;
    // Generating is bound by memory: at best all nodes deliver as much as this one does.
    out->part      = GGS_PART_GENERATE;
    out->gain_ns   = (uint64_t) ((double) f->generate.wall_ns * (1 - even / share));
    out->estimated = true;
    out->figure    = share;
    out->figure_of = "share of the weights on one NUMA node";
    ggs_reason_title(out, "%.0f %% of the weights are in the memory of NUMA node %u of %u", 100 * share, node,
                     p->nodes);
    ggs_reason_evidence(out, "%llu threads on %llu cores of %u nodes read them; each node has memory of its own speed",
                        (unsigned long long) f->threads, (unsigned long long) f->usable_cores, p->nodes);
    ggs_reason_set(out, GGS_KNOB_INTERLEAVE, "");
    ggs_reason_advise(out,
                      "pages that are in the page cache stay where they are: drop them first (ggscope record "
                      "--cold); or threads on that node alone (numactl --cpunodebind=%u)",
                      node);
    snprintf(out->query, sizeof(out->query), "grep -A 5 node_bytes DIR/experiment.json");
    return true;
}
