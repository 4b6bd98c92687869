// Results of conditions, for people and for CI: lines, a Markdown table, JUnit XML.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "analyze/diff/figures.h"
#include "base/number.h"
#include "cli/scaffold/verb.h"

bool ggs_set_fail_if(void * member, const char * text); // struct ggs_fail_if
#define GGS_OPTION_FAIL_IF(offset, group)                                                                        \
    GGS_OPTION("fail-if", 0, "CONDITION",                                                                        \
               "Exit 1 if a figure changed like this, such as 'tokens_per_s < -3 %'; repeatable", group, offset, \
               ggs_set_fail_if, GGS_EXPECTS_FAIL_IF)
#define GGS_OPTION_JUNIT(offset, group) \
    GGS_OPTION("junit", 0, "FILE", "Also write the conditions as JUnit test cases", group, offset, ggs_set_text, NULL)
#define GGS_OPTION_MARKDOWN(offset, group) \
    GGS_SWITCH("markdown", 0, "As Markdown, for the summary of a CI job", group, offset)

// Formats a figure, or its change, with its unit: "12.3 ms", "-3.1 %". "not seen" for NaN.
char * ggs_figure_format(char text[GGS_NUMBER_LENGTH], const struct ggs_figure * figure, double value);

void ggs_judgements_text(FILE * out, const struct ggs_judgement * list, unsigned n);
void ggs_judgements_markdown(FILE * out, const struct ggs_judgement * list, unsigned n);
// Writes a suite of test cases; `name` describes the comparison.
int  ggs_judgements_junit(const char * path, const char * name, const struct ggs_judgement * list, unsigned n,
                          struct ggs_error * error);
bool ggs_judgements_failed(const struct ggs_judgement * list, unsigned n);
// The names of all figures, for --help; the caller frees them.
char * ggs_figures_help(int key, const char * text, void * input);
