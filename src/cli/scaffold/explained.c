#include "cli/scaffold/explained.h"

#include "base/number.h"

// Number of op runs that are explained in about a fifth of a second.
enum { SUMMARY_OP_RUNS = 400000 };

char * ggs_explained_gain(char text[64], const struct ggs_reason * finding) {
    static const char * const of[GGS_PARTS] = {"the load", "the prompt", "generating", "the token time", "memory"};
    char                      bytes[GGS_NUMBER_LENGTH];
    if (finding->part == GGS_PART_MEMORY)
        snprintf(text, 64, "saves %s", ggs_format_bytes(bytes, finding->gain_bytes));
    else if (finding->gain_ns == 0)
        snprintf(text, 64, "gain not known");
    else
        snprintf(text, 64, "up to %.0f %% of %s", 100 * finding->gain, of[finding->part]);
    return text;
}

void ggs_explained_summary(struct ggs_trace * trace, const struct ggs_totals * totals, const char * directory,
                           FILE * out) {
    struct ggs_explanation explanation;
    char                   gain[64];
    if (totals->op_runs > SUMMARY_OP_RUNS || ggs_explain_compute(&explanation, trace, totals, NULL) < 0) {
        fprintf(out, "explain   ggscope explain %s says why it is slow\n", directory);
        return;
    }
    if (explanation.n == 0) {
        fprintf(out, "explain   %s\n", explanation.rest);
    } else {
        const struct ggs_reason * first = &explanation.finding[0];
        fprintf(out, "explain   %s: %s\n", first->title, ggs_explained_gain(gain, first));
        if (first->remedy != NULL) fprintf(out, "          try %s\n", first->remedy);
    }
    ggs_explanation_release(&explanation);
}
