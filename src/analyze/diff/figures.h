// Named figures of a recording, and conditions on their change between recordings, for scripts.
//
//     struct ggs_fail_if list = {0};
//     ggs_fail_if_add(&list, "tokens_per_s < -3 %");
//     ggs_fail_if_judge(&list.conditions[0], a, b, &judgement);
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_totals;

struct ggs_figure {
    const char * name;
    const char * unit;                              // "ns", "bytes", "/s", "" for a count
    bool         noisy;                             // a time, which varies from run to run
    bool         more;                              // more is better
    double (*of)(const struct ggs_totals * totals); // NaN: not seen
    const char * text;                              // for man pages, axes and the page
};

extern const struct ggs_figure ggs_figures[];
extern const size_t            ggs_n_figures;

enum { GGS_FAIL_IF_MOST = 16 };

struct ggs_condition {
    const char *              text;
    const struct ggs_figure * figure;
    char                      op[3]; // < > <= >= !=
    double                    limit; // of the change from A to B
    bool                      percent;
};

struct ggs_fail_if {
    struct ggs_condition conditions[GGS_FAIL_IF_MOST];
    unsigned             n;
};

// FIGURE OP CHANGE, with the change in percent of A or in the figure's unit: "tokens_per_s < -3 %",
// "bytes_read > +1 %", "unseen != 0".
bool ggs_fail_if_add(struct ggs_fail_if * list, const char * text);
#define GGS_EXPECTS_FAIL_IF "a condition such as 'tokens_per_s < -3 %' or 'bytes_read > 0' on a figure (see --help)"

struct ggs_judgement {
    const struct ggs_condition * condition;
    double                       a, b;
    double                       change; // in percent or the figure's unit; NaN: not seen
    bool                         failed; // the condition holds, or a figure was not seen
    const char *                 note;   // "", or a caveat
};

void ggs_fail_if_judge(const struct ggs_condition * condition, double a, double b, struct ggs_judgement * judgement);
