// What `ggscope check` found.
#pragma once

#include "analyze/check/check.h"
#include "answer/answer.h"

const char * ggs_check_word(enum ggs_check_status status); // "ok", "interrupted", "FAIL", "skipped"
void         ggs_checks_write(struct ggs_json * json, const struct ggs_checks * checks);
