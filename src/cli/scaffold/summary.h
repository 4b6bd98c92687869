// What a recording ends with: a few lines a person can use.
#pragma once

#include <stdio.h>

struct ggs_conditions;
struct ggs_error;
struct ggs_off_cpu_totals;
struct ggs_request_context;
struct ggs_totals;
struct ggs_trace;

// What was recorded: model, prompt, engine and backend, the most memory, and whether weights were
// copied at load.
void ggs_summary_subject(const struct ggs_trace * trace, const struct ggs_totals * totals, FILE * out);

// The numbers alone.
void ggs_summary_totals(const struct ggs_totals * totals, FILE * out);

// A line or two on what the recording was made under, if that was anything special. At most 80
// columns.
void ggs_summary_conditions(const struct ggs_conditions * conditions, FILE * out);

// A line if the machine was busy with other things, or threads did little but wait for each other:
// how much time that cost if context switches were recorded, else that figures say little.
void ggs_summary_busy(const struct ggs_conditions * conditions, const struct ggs_totals * totals,
                      const struct ggs_off_cpu_totals * off, FILE * out);

// What drafts of a context came to, and what they cost and saved: lines behind `indent`; none if it
// has no drafts.
void ggs_summary_drafts(const struct ggs_request_context * context, const char * indent, FILE * out);

// `directory` is that of a sealed experiment.
int ggs_summary_show(const char * directory, FILE * out, struct ggs_error * error);
// The same, with what went wrong as its last line.
void ggs_summary_print(const char * directory, FILE * out);
