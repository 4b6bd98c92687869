#include "cli/figure/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/sweep/cmd-sweep.h"

static int draw(struct ggs_drawing * drawing, const struct ggs_sweep * sweep, unsigned cell, struct ggs_error * error) {
    struct ggs_sweep_answer answer;
    uint64_t *              memory = calloc(sweep->study->n_variants + 1, sizeof(*memory));
    int status = memory == NULL ? ggs_fail_memory(error) : ggs_sweep_answer_make(&answer, sweep, error);
    if (status == 0) {
        for (unsigned i = 0; i < sweep->study->n_variants; i++) memory[i] = sweep->variants[i].memory;
        status = ggs_figure_miss_curve(drawing, &answer, memory, cell, error);
    }
    if (memory != NULL) ggs_sweep_answer_release(&answer);
    free(memory);
    return status;
}

static void add_words(struct ggs_drawing * drawing, const struct ggs_sweep * sweep) {
    const char * slash = strrchr(sweep->study->directory, '/');
    ggs_text_printf(&drawing->title, "Miss curve: %s", slash == NULL ? sweep->study->directory : slash + 1);
    ggs_text_printf(&drawing->caption, "%u of %u runs, medians and 95 %% intervals \xc2\xb7", sweep->done,
                    ggs_sweep_planned(sweep->study));
    for (char ** word = sweep->study->program; *word != NULL; word++) ggs_text_printf(&drawing->caption, " %s", *word);
    ggs_text_puts(&drawing->caption, " \xc2\xb7 ggscope");
    drawing->chart.title   = ggs_text_string(&drawing->title);
    drawing->chart.caption = ggs_text_string(&drawing->caption);
}

int ggs_study_draw(struct ggs_drawing * drawing, const char * path, const char * name, bool caption,
                   struct ggs_error * error) {
    struct ggs_study study = {0};
    struct ggs_sweep sweep = {0};
    char             plan[PATH_MAX + 16];
    int              cell = ggs_trial_figure_find(name);
    if (cell < 0) return ggs_fail(error, GGS_USAGE, "a study has no figure %s; ggscope sweep --help lists them", name);
    snprintf(plan, sizeof(plan), "%s/study.json", path);
    int status = ggs_study_read(&study, plan, error);
    if (status == 0 && realpath(path, study.directory) == NULL) status = ggs_fail_errno(error, "opening %s", path);
    if (status == 0) status = ggs_study_check(&study, error);
    if (status == 0) status = ggs_sweep_open(&sweep, &study, true, error);
    if (status == 0) status = draw(drawing, &sweep, (unsigned) cell, error);
    if (status == 0 && caption) add_words(drawing, &sweep);
    if (sweep.study != NULL) ggs_sweep_close(&sweep);
    ggs_study_release(&study);
    return status;
}
