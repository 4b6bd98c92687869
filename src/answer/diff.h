// What changed between two recordings: the answer of `ggscope diff --json` and of the server.
#pragma once

#include "analyze/diff/diff.h"
#include "answer/answer.h"

// "same", "noise", "uncertain", "slower", "faster", "stalls", "fewer stalls"
const char * ggs_verdict_word(enum ggs_verdict verdict);

void ggs_diff_write(struct ggs_json * json, const struct ggs_trace * a, const struct ggs_trace * b,
                    const struct ggs_diff * diff);
// The same without the braces, for an object that has more.
void ggs_diff_members(struct ggs_json * json, const struct ggs_trace * a, const struct ggs_trace * b,
                      const struct ggs_diff * diff);
