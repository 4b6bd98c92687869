// A prompt that is computed in small pieces reads all weights for each of them.
#include <stdio.h>

#include "analyze/explain/findings.h"

enum { WHOLE = 512, SMALL = 64, LONG = 64, SHORT = 32 };

// The share of a small batch's time that remains in a large one: arithmetic stays, reading goes.
static double left_of(const struct ggs_explain_facts * f) {
    double all = (double) f->prompt.wall_ns / 1e9;
    if (f->rates.flops_per_second > 0 && f->prompt.flops > 0 && all > 0) {
        double arithmetic = (double) f->prompt.flops / (double) f->rates.flops_per_second / all;
        if (arithmetic < 1) return arithmetic;
    }
    return 1.0 / 3;
}

bool ggs_find_small_batches(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    // Outputs that are never read belong to tokens that were fed, not generated.
    bool     single = f->generate.decodes > 0 && f->generate.tokens == f->generate.decodes;
    uint64_t unread = single && f->generate.unread >= LONG ? f->generate.unread : 0;
    uint64_t fed = f->prompt.tokens + unread, runs = f->prompt.runs + unread, decodes = f->prompt.decodes + unread;
    if (f->devices > 0 || fed < SHORT || runs == 0) return false;
    // A callback makes a graph run of every node, so decodes are counted instead.
    uint64_t pieces = runs > fed && decodes > 0 ? decodes : runs;
    double   each   = (double) fed / (double) pieces;
    if (each >= SMALL || pieces <= (fed + WHOLE - 1) / WHOLE) return false;
    // A server with short prompts computes short batches: one prompt has no more.
    if (f->requests > 1 && fed / f->requests < LONG) return false;
    bool   by_program = decodes > 0 && (double) fed / (double) decodes < 2 * each;
    double ns         = (double) f->prompt.ns;
    if (unread > 0) ns += (double) f->generate.ns * (double) unread / (double) f->generate.tokens;
    out->part      = unread > 0 ? GGS_PART_TOKENS : GGS_PART_PROMPT;
    out->gain_ns   = (uint64_t) (ns * (1 - left_of(f)));
    out->estimated = f->rates.flops_per_second == 0;
    out->figure    = each;
    out->figure_of = "prompt tokens per graph run";
    ggs_reason_title(out, "the prompt is computed in pieces of %.0f token%s", each, each < 1.5 ? "" : "s");
    ggs_reason_evidence(out, "%llu tokens in %llu graph runs of %llu decode%s: weights are read %llu times, not %llu",
                        (unsigned long long) fed, (unsigned long long) runs, (unsigned long long) decodes,
                        decodes == 1 ? "" : "s", (unsigned long long) pieces,
                        (unsigned long long) ((fed + WHOLE - 1) / WHOLE));
    if (by_program && f->program.kind == GGS_PROGRAM_OTHER)
        ggs_reason_advise(out, "put the whole prompt into one llama_batch, up to n_batch tokens");
    else {
        bool one = f->program.kind == GGS_PROGRAM_NODE; // has one option for both
        if (by_program && !one) ggs_reason_set(out, GGS_KNOB_BATCH, "2048");
        ggs_reason_set(out, GGS_KNOB_UBATCH, "512");
    }
    snprintf(out->query, sizeof(out->query),
             "ggscope sql DIR \"select sum(inputs), sum(runs), sum(decodes) from tokens where phase='PROMPT'\"");
    return true;
}
