// The summary at the end of a recording.
#pragma once

#include <stdio.h>

struct ggs_conditions;
struct ggs_error;
struct ggs_off_cpu_totals;
struct ggs_request_context;
struct ggs_totals;
struct ggs_trace;

// Prints the subject of a recording: model, prompt, engine and backend, peak memory, and whether
// weights were copied at load.
void ggs_summary_subject(const struct ggs_trace * trace, const struct ggs_totals * totals, FILE * out);

// Prints the figures alone.
void ggs_summary_totals(const struct ggs_totals * totals, FILE * out);

// Prints unusual conditions of the recording in a line or two of at most 80 columns.
void ggs_summary_conditions(const struct ggs_conditions * conditions, FILE * out);

// Prints a line if other load kept the machine busy, or threads mostly waited for each other: the
// time lost if context switches were recorded, else a warning about the figures.
void ggs_summary_busy(const struct ggs_conditions * conditions, const struct ggs_totals * totals,
                      const struct ggs_off_cpu_totals * off, FILE * out);

// Prints results, cost and savings of a context's drafts, with `indent` before each line; nothing
// without drafts.
void ggs_summary_drafts(const struct ggs_request_context * context, const char * indent, FILE * out);

// `directory` has a sealed experiment.
int ggs_summary_show(const char * directory, FILE * out, struct ggs_error * error);
// The same; a failure is the last line.
void ggs_summary_print(const char * directory, FILE * out);
