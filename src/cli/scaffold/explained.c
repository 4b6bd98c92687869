#include "cli/scaffold/explained.h"

// Number of op runs that are explained in about a fifth of a second.
enum { SUMMARY_OP_RUNS = 400000 };

void ggs_explained_summary(struct ggs_trace * trace, const struct ggs_totals * totals, const char * directory,
                           FILE * out) {
    struct ggs_explanation explanation;
    char                   gain[64];
    if (totals->op_runs > SUMMARY_OP_RUNS || ggs_explain_compute(&explanation, trace, totals, NULL) < 0) {
        fprintf(out, "explain   ggscope explain %s says why it is slow\n", directory);
        return;
    }
    if (explanation.n == 0) fprintf(out, "explain   %s\n", explanation.rest);
    const char * before = "explain   ";
    // A condition of the machine hides no cause in the program.
    for (unsigned i = 0; i < explanation.n; i++) {
        const struct ggs_reason * finding = &explanation.finding[i];
        if (i > 0 && finding->condition) continue;
        fprintf(out, "%s%s: %s\n", before, finding->title, ggs_reason_gain(gain, finding));
        if (finding->remedy != NULL) fprintf(out, "          try %s\n", finding->remedy);
        if (!finding->condition) break;
        before = "          ";
    }
    ggs_explanation_release(&explanation);
}
