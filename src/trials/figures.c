#include <stddef.h>
#include <string.h>

#include "trials/trials.h"

const char * const ggs_trial_outcome_words[GGS_TRIAL_OUTCOMES] = {"done", "failed", "out of memory"};

// Names are keys of "machine" in experiment.json, but for the last two (trials/attempt.c).
static const struct ggs_figure of_machine[] = {
    {"read_bytes", "bytes", true, false, NULL, "read from the disk"},
    {"resident_peak", "bytes", true, false, NULL, "most memory that was resident"},
    {"memory_peak", "bytes", true, false, NULL, "most memory under a limit, page cache included"},
    {"wall_quiet_ns", "ns", true, false, NULL, "time in all, as if all tokens took token_quiet_ns"},
    {"request_ns", "ns", true, false, NULL, "time from a request to its answer"},
};
enum { OF_MACHINE = sizeof(of_machine) / sizeof(of_machine[0]) };

unsigned ggs_trial_figure_count(void) {
    return (unsigned) ggs_n_figures + OF_MACHINE;
}

const struct ggs_figure * ggs_trial_figure(unsigned i) {
    if (i < ggs_n_figures) return &ggs_figures[i];
    return i < ggs_trial_figure_count() ? &of_machine[i - ggs_n_figures] : NULL;
}

int ggs_trial_figure_find(const char * name) {
    for (unsigned i = 0; i < ggs_trial_figure_count(); i++) {
        if (strcmp(ggs_trial_figure(i)->name, name) == 0) return (int) i;
    }
    return -1;
}
