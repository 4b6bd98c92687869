// Why is a recording slow, what helps, and how does one see that it does?
//
//     struct ggs_explanation explanation;
//     ggs_explain_compute(&explanation, &trace, &totals, &error);
//     for (unsigned i = 0; i < explanation.n; i++) puts(explanation.finding[i].title);
//     ggs_explanation_release(&explanation);
//
// A finding is a cause that is seen in figures of the recording. What mending it gains at most is a
// bound: never less is lost than what other causes leave. Those of conditions (a busy machine)
// come first, because all times of the others depend on them; the others by what they gain.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/explain/invocation.h"
#include "analyze/ops/totals.h"
#include "analyze/walk/trace.h"

// What a gain is a share of.
enum ggs_reason_part {
    GGS_PART_LOAD,
    GGS_PART_PROMPT,
    GGS_PART_GENERATE, // with what lies between decodes
    GGS_PART_TOKENS,   // both
    GGS_PART_MEMORY,   // no time: bytes
    GGS_PARTS,
};
const char * ggs_reason_part_name(uint64_t part); // "load", "prompt", "generation", "tokens", "memory"

struct ggs_reason {
    const char *         name;      // "threads-above-cores"
    bool                 condition; // of the machine meanwhile: times of all others are distorted by it
    bool                 timed;     // rests on times of this recording, not on its structure
    enum ggs_reason_part part;
    uint64_t             gain_ns;    // at most
    double               gain;       // at most, of the part's time; 0 for memory
    uint64_t             gain_bytes; // of memory
    bool                 estimated;  // the bound rests on what is usual, not on what was recorded: measure
    double               figure;     // the one that the cause is seen by
    const char *         figure_of;  // "threads", "tokens per graph run"
    char                 title[160], evidence[320], query[224], advice[256];
    // The options that mend it; knob 0 ends them. `advice`: what no option does.
    struct ggs_knob_setting settings[3];
    const char *            measure; // a command before " -- PROGRAM", if no option mends it; NULL: none measures it
    char *                  remedy;  // both, in the words of the program that ran
    char *                  verify;  // a command; NULL if there is none
};

enum { GGS_REASONS_MOST = 40 };

struct ggs_explanation {
    struct ggs_reason     finding[GGS_REASONS_MOST];
    unsigned              n;
    bool                  distorted; // by a condition, or because pages were protected
    char                  rest[320]; // a sentence about what is left
    uint64_t              part_ns[GGS_PARTS];
    struct ggs_invocation program;
};

// From here on a finding is told: of its part's time.
#define GGS_REASON_LEAST 0.05

// `totals`: of the whole recording.
int  ggs_explain_compute(struct ggs_explanation * explanation, struct ggs_trace * trace,
                         const struct ggs_totals * totals, struct ggs_error * error);
void ggs_explanation_release(struct ggs_explanation * explanation);

// Of the most that any finding gains, a share from 0 to 1: what a gate asks.
double ggs_explanation_most(const struct ggs_explanation * explanation);
