// ggscope bench: results of repeated runs.
#pragma once

#include "analyze/diff/diff.h"
#include "analyze/diff/figures.h"
#include "analyze/diff/sample.h"
#include "base/object.h"

struct ggs_bench_figure {
    const struct ggs_figure * figure;
    double                    a, b;           // medians; NaN: not seen
    struct ggs_ratio          ratio, control; // B by A; A by A
    bool                      differs;        // by more than noise
};

struct ggs_bench_answer {
    unsigned                        rounds;
    bool                            baseline; // false: the program is compared with itself
    const struct ggs_bench_figure * figures;
    unsigned                        n_figures;
    const struct ggs_bench_figure * decides; // of the time per token; NULL: not seen
    const struct ggs_causes *       causes;  // findings that one of the two has
    const struct ggs_judgement *    judgements;
    unsigned                        n_judgements;
};
extern const struct ggs_object ggs_bench_object;

// Chooses the figure that decides whether tokens are faster, of the mean time per token (token_ns)
// and that of quiet tokens (token_quiet_ns): the one that varies less when the baseline is compared
// with itself. NULL if neither was seen.
const struct ggs_bench_figure * ggs_bench_decides(const struct ggs_bench_figure * figures, unsigned n);
