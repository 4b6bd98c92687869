// What `ggscope check` found.
#pragma once

#include "analyze/check/check.h"
#include "answer/answer.h"

void ggs_checks_write(struct ggs_json * json, const struct ggs_checks * checks);
