#include "analyze/diff/diff-causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/explain.h"
#include "base/error.h"

static bool has(const struct ggs_explanation * explanation, const char * name) {
    for (unsigned i = 0; i < explanation->n; i++)
        if (strcmp(explanation->finding[i].name, name) == 0) return true;
    return false;
}

// Adds findings of one recording that the other lacks.
static void add(struct ggs_causes * causes, const char * side, const struct ggs_explanation * of,
                const struct ggs_explanation * other, bool conditions) {
    for (unsigned i = 0; i < of->n && causes->n < GGS_DIFF_CAUSES; i++) {
        const struct ggs_reason * finding = &of->finding[i];
        char *                    text    = causes->text[causes->n];
        if (has(other, finding->name) || (finding->condition && !conditions)) continue;
        if (finding->part == GGS_PART_MEMORY || finding->gain < 0.005) // its time is not known
            snprintf(text, GGS_DIFF_WARNING, "%s: %s", side, finding->title);
        else
            snprintf(text, GGS_DIFF_WARNING, "%s: %s (up to %.0f %% of the %s time)", side, finding->title,
                     100 * finding->gain,
                     finding->part == GGS_PART_TOKENS ? "token" : ggs_reason_part_name(finding->part));
        causes->n++;
    }
}

void ggs_causes_compare(struct ggs_causes * causes, const struct ggs_explanation * a, const struct ggs_explanation * b,
                        bool conditions) {
    causes->n = 0;
    add(causes, "only B", b, a, conditions);
    add(causes, "only A", a, b, conditions);
}

int ggs_diff_causes(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error) {
    struct ggs_explanation * both = calloc(2, sizeof(*both)); // too large for a stack
    if (both == NULL) return ggs_fail_memory(error);
    int status = ggs_explain_compute(&both[0], a, &diff->a, error);
    if (status == 0) {
        status = ggs_explain_compute(&both[1], b, &diff->b, error);
        if (status == 0) {
            ggs_causes_compare(&diff->causes, &both[0], &both[1], true);
            ggs_explanation_release(&both[1]);
        }
        ggs_explanation_release(&both[0]);
    }
    free(both);
    return status;
}
