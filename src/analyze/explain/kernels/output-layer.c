// A large vocabulary in wide types: the matrix that makes logits takes much of every token.
#include <stdio.h>
#include <string.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_output_layer(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_phase_facts * g = &f->generate;
    char                           bytes[GGS_NUMBER_LENGTH];
    if (f->graphs || g->steps == 0 || g->busy_ns == 0 || 5 * g->output_busy_ns < 2 * g->busy_ns) return false;
    // The share of the bytes that 4.5 bits per weight leave. Quantized models use Q6_K.
    double left    = strcmp(f->output_type, "f32") == 0     ? 4.5 / 32
                     : strstr(f->output_type, "16") != NULL ? 4.5 / 16
                     : strcmp(f->output_type, "q8_0") == 0  ? 4.5 / 8.5
                                                            : 1;
    out->part      = GGS_PART_GENERATE;
    out->figure    = (double) g->output_busy_ns / (double) g->busy_ns;
    out->gain_ns   = (uint64_t) ((double) g->wall_ns * out->figure * (1 - left));
    out->figure_of = "share of the threads' work in the output layer";
    ggs_reason_title(out, "the output layer takes %.0f %% of every token", 100 * out->figure);
    ggs_reason_evidence(out, "%s of type %s are read for each of them",
                        ggs_format_bytes(bytes, g->output_bytes / g->steps),
                        f->output_type[0] == '\0' ? "the embeddings" : f->output_type);
    ggs_reason_set(out, GGS_KNOB_MODEL, "OUT.gguf");
    ggs_reason_advise(out, "from llama-quantize --output-tensor-type q4_K MODEL OUT.gguf TYPE (changes the output)");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR --roofline   # Output Projection of GENERATE");
    return true;
}
