// Finds the tokens of a pass of recording A in recording B, which may have other batches. For
// value-diff.c.
#pragma once

#include "analyze/values/value-diff.h"
#include "analyze/values/value-passes.h"

struct ggs_value_found {
    const struct ggs_value_pass * pass; // of B; NULL if B does not have the token
    int32_t                       token;
};

struct ggs_value_align;

// Counts tokens in `diff` and fills in diff->b.
int  ggs_value_align_new(struct ggs_value_align ** align, struct ggs_value_diff * diff, struct ggs_trace * b,
                         struct ggs_error * error);
void ggs_value_align_free(struct ggs_value_align * align); // NULL is allowed
// `found` is indexed by token of the pass and lives until ggs_value_align_done.
int  ggs_value_align_next(struct ggs_value_align * align, const struct ggs_value_pass * pass,
                          const struct ggs_value_found ** found, struct ggs_error * error);
void ggs_value_align_done(struct ggs_value_align * align);
