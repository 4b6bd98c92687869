// Shared by the files of `ggscope diff`.
#pragma once

#include "cli/scaffold/judgements.h"
#include "cli/scaffold/verb.h"

struct diff_arguments {
    struct ggs_input   input;
    struct ggs_fail_if fail_if;
    const char *       junit;
    bool               markdown;
    bool               values;
};
#define AT(member) offsetof(struct diff_arguments, member)

// With --values. Returns the exit status, or a negative status.
int diff_values(const struct diff_arguments * arguments, struct ggs_trace * traces, struct ggs_error * error);

// More than two recordings. Returns the same.
int diff_several(const struct diff_arguments * arguments, struct ggs_trace * traces, struct ggs_error * error);
