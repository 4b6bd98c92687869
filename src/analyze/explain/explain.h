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
    GGS_PART_GRAPHS,   // graph runs of a program without tokens, and the time between them
    GGS_PART_MEMORY,   // bytes, not time
    GGS_PARTS,
};
const char * ggs_reason_part_name(uint64_t part); // "load", "prompt", "generation", "tokens", "graphs", "memory"

struct ggs_reason {
    const char *         name;      // "threads-above-cores"
    bool                 condition; // of the machine: it distorts all times
    bool                 timed;     // based on times, not on structure
    enum ggs_reason_part part;
    uint64_t             gain_ns;    // at most
    double               gain;       // at most, as a share of the part; 0 for memory
    uint64_t             gain_bytes; // of memory
    bool                 unseen;     // the recording has no time of its part, and no gain
    bool                 estimated;  // the bound rests on typical values: measure it
    double               figure;     // the figure that shows the cause
    const char *         figure_of;  // "threads", "tokens per graph run"
    char                 title[160], evidence[320], query[288], advice[256];
    // Options that help; knob 0 ends them. `advice`: what no option does.
    struct ggs_knob_setting settings[3];
    const char *            measure;   // command before " -- PROGRAM" if no option helps; or NULL
    bool                    once_more; // what helps is outside of the program: another recording shows it
    char *                  remedy;    // options and advice in the program's own words
    char *                  verify;    // a command; NULL if the program's command line is not known
};

// "up to 71 % of the token time", "saves 1.3 GiB", "the token time is not seen"
char * ggs_reason_gain(char text[64], const struct ggs_reason * reason);

// A knob that may matter although no finding says so, and the values that a search may give it.
// Values are those of settings; the one at `start` is the program's own and is never set.
enum { GGS_EXPLAIN_KNOBS = 8, GGS_EXPLAIN_VALUES = 20 };
struct ggs_explain_knob {
    enum ggs_knob        knob;
    bool                 ordered; // values are numbers that rise
    char                 value[GGS_EXPLAIN_VALUES][24];
    unsigned             n, start;
    enum ggs_reason_part part;
    uint64_t             gain_ns; // of the part, at most
};
// Adds a value if it is new and there is room. The first one added is the start.
void ggs_explain_knob_add(struct ggs_explain_knob * knob, const char * value);

enum { GGS_REASONS_MOST = 48 };

struct ggs_explanation {
    struct ggs_reason     finding[GGS_REASONS_MOST];
    unsigned              n;
    bool                  distorted; // by a condition, or by --prove
    char                  rest[320]; // a sentence about the rest
    uint64_t              part_ns[GGS_PARTS];
    struct ggs_invocation program;

    struct ggs_explain_knob knob[GGS_EXPLAIN_KNOBS];
    unsigned                n_knobs;
};

// Findings with a smaller share of their part are not shown.
#define GGS_REASON_LEAST 0.05

// `totals` covers the whole recording.
int  ggs_explain_compute(struct ggs_explanation * explanation, struct ggs_trace * trace,
                         const struct ggs_totals * totals, struct ggs_error * error);
void ggs_explanation_release(struct ggs_explanation * explanation);

// The largest gain of any finding, from 0 to 1, for --fail-if.
double ggs_explanation_most(const struct ggs_explanation * explanation);
