#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/sweep/cmd-sweep.h"

enum { MOST_VALUES = 1000 };

static void count(struct ggs_sweep_row * row, const struct ggs_trials * trials, unsigned variant) {
    unsigned                 n;
    const struct ggs_trial * list = ggs_trials_list(trials, &n);
    for (unsigned i = 0; i < n; i++) {
        if (list[i].variant != variant) continue;
        row->runs++;
        row->n += list[i].outcome == GGS_TRIAL_DONE;
        row->failed += list[i].outcome == GGS_TRIAL_FAILED;
        row->limited += list[i].outcome == GGS_TRIAL_LIMIT;
        row->busy += list[i].busy;
    }
}

static int fill_row(struct ggs_sweep_row * row, const struct ggs_sweep * sweep, unsigned variant,
                    struct ggs_error * error) {
    const struct ggs_study * study   = sweep->study;
    bool                     control = variant == study->n_variants;
    double                   values[MOST_VALUES];
    row->variant  = sweep->variants[variant].name;
    row->n_values = study->n_factors;
    row->n_cells  = ggs_trial_figure_count();
    row->values   = calloc(study->n_factors + 1, sizeof(*row->values));
    row->cells    = calloc(row->n_cells, sizeof(*row->cells));
    if (row->values == NULL || row->cells == NULL) return ggs_fail_memory(error);
    for (unsigned i = 0; i < study->n_factors; i++) row->values[i] = ggs_study_value(study, control ? 0 : variant, i);
    count(row, sweep->trials, variant);
    for (unsigned i = 0; i < row->n_cells; i++) {
        unsigned n    = ggs_trials_values(sweep->trials, variant, i, values, MOST_VALUES);
        row->cells[i] = (struct ggs_sweep_cell){
            .figure = ggs_trial_figure(i), .value = ggs_sample_interval(values, n), .control = {NAN, NAN, NAN}};
        if (control) row->cells[i].control = ggs_trials_ratio(sweep->trials, 0, variant, i);
    }
    return 0;
}

int ggs_sweep_answer_make(struct ggs_sweep_answer * answer, const struct ggs_sweep * sweep, struct ggs_error * error) {
    const struct ggs_study * study = sweep->study;
    *answer                        = (struct ggs_sweep_answer){.study     = study->directory,
                                                               .n_factors = study->n_factors,
                                                               .planned   = ggs_sweep_planned(study),
                                                               .runs      = sweep->done};
    answer->factors                = calloc(study->n_factors + 1, sizeof(*answer->factors));
    answer->rows                   = calloc(study->n_variants + 1, sizeof(*answer->rows));
    if (answer->factors == NULL || answer->rows == NULL) return ggs_fail_memory(error);
    for (unsigned i = 0; i < study->n_factors; i++) answer->factors[i] = study->factors[i].name;
    int status = 0;
    for (unsigned i = 0; i <= study->n_variants && status == 0; i++) {
        answer->n_rows++;
        status = fill_row(&answer->rows[i], sweep, i, error);
    }
    return status;
}

void ggs_sweep_answer_release(struct ggs_sweep_answer * answer) {
    for (unsigned i = 0; i < answer->n_rows; i++) {
        free(answer->rows[i].values);
        free(answer->rows[i].cells);
    }
    free(answer->rows);
    free(answer->factors);
    *answer = (struct ggs_sweep_answer){0};
}
