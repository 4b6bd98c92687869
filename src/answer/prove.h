// Pages that ops touched against those that the trace says.
#pragma once

#include "analyze/machine/prove.h"
#include "answer/answer.h"

void ggs_proof_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_proof * proof);
