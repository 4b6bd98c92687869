// Weights of 16 or 32 bits, all of which every token reads.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

static const double SMALL_BITS = 4.8; // Q4_K_M

bool ggs_find_wide_weights(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char bytes[GGS_NUMBER_LENGTH];
    if (f->weight_bytes == 0 || 2 * f->wide_bytes < f->weight_bytes || f->generate.steps == 0) return false;
    double share   = f->generate.read > 0 ? (double) f->generate.weights_read / (double) f->generate.read : 1;
    out->part      = GGS_PART_GENERATE;
    out->gain_ns   = (uint64_t) ((double) f->generate.ns * share * (1 - SMALL_BITS / f->weight_bits));
    out->figure    = f->weight_bits;
    out->figure_of = "bits per weight";
    ggs_reason_title(out, "weights have %.0f bits (%s)", f->weight_bits, f->type);
    ggs_reason_evidence(
        out, "a %s reads %s of weights; with 4.8 bits it would read %.0f %% of that", f->graphs ? "graph run" : "token",
        ggs_format_bytes(bytes, f->generate.weights_read / f->generate.steps), 100 * SMALL_BITS / f->weight_bits);
    if (!f->graphs) ggs_reason_set(out, GGS_KNOB_MODEL, "OUT.gguf");
    ggs_reason_advise(out, "a model with fewer bits per weight, which changes the output");
    if (!f->graphs)
        ggs_reason_advise(out, "from llama-quantize MODEL OUT.gguf Q4_K_M (changes the output: look at perplexity)");
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select type, sum(bytes) from tensors where file is not null group by type\"");
    return true;
}
