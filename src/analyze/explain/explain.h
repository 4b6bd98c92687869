// Explains why a recording is slow, what helps, and how to verify it.
//
//     struct ggs_explanation explanation;
//     ggs_explain_compute(&explanation, &trace, &totals, &error);
//     for (unsigned i = 0; i < explanation.n; i++) puts(explanation.finding[i].title);
//     ggs_explanation_release(&explanation);
//
// A finding is a cause that figures of the recording show. Its gain is an upper bound: other causes
// may take what is left. Conditions (a busy machine) come first, because all times depend on them;
// other findings are sorted by gain.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/explain/invocation.h"
#include "analyze/ops/totals.h"
#include "analyze/walk/trace.h"

// The part of the time that a gain is a share of.
enum ggs_reason_part {
    GGS_PART_LOAD,
    GGS_PART_PROMPT,
    GGS_PART_GENERATE, // including the time between decodes
    GGS_PART_TOKENS,   // prompt and generation
    GGS_PART_MEMORY,   // bytes, not time
    GGS_PARTS,
};
const char * ggs_reason_part_name(uint64_t part); // "load", "prompt", "generation", "tokens", ...

struct ggs_reason {
    const char *         name;      // "threads-above-cores"
    bool                 condition; // of the machine: it distorts all times
    bool                 timed;     // based on times, not on structure
    enum ggs_reason_part part;
    uint64_t             gain_ns;    // at most
    double               gain;       // at most, as a share of the part; 0 for memory
    uint64_t             gain_bytes; // of memory
    bool                 estimated;  // the bound rests on typical values: measure it
    double               figure;     // the figure that shows the cause
    const char *         figure_of;  // "threads", "tokens per graph run"
    char                 title[160], evidence[320], query[224], advice[256];
    // Options that help; knob 0 ends them. `advice`: what no option does.
    struct ggs_knob_setting settings[3];
    const char *            measure; // command before " -- PROGRAM" if no option helps; or NULL
    char *                  remedy;  // options and advice in the program's own words
    char *                  verify;  // a command, or NULL
};

enum { GGS_REASONS_MOST = 40 };

struct ggs_explanation {
    struct ggs_reason     finding[GGS_REASONS_MOST];
    unsigned              n;
    bool                  distorted; // by a condition, or by --prove
    char                  rest[320]; // a sentence about the rest
    uint64_t              part_ns[GGS_PARTS];
    struct ggs_invocation program;
};

// Findings with a smaller share of their part are not shown.
#define GGS_REASON_LEAST 0.05

// `totals` covers the whole recording.
int  ggs_explain_compute(struct ggs_explanation * explanation, struct ggs_trace * trace,
                         const struct ggs_totals * totals, struct ggs_error * error);
void ggs_explanation_release(struct ggs_explanation * explanation);

// The largest gain of any finding, from 0 to 1, for --fail-if.
double ggs_explanation_most(const struct ggs_explanation * explanation);
