// Text for other command lines, for a memory budget: tensors for llama.cpp's --override-tensor,
// byte ranges to lock.
#pragma once

#include "analyze/paging/paging.h"
#include "base/text.h"

// Appends the lines for one budget. `whole`: ggs_paging_weights_list without separate experts.
int ggs_paging_suggest(struct ggs_text * out, const struct ggs_trace * trace, const struct ggs_paging * paging,
                       const struct ggs_paging_weights * whole, const struct ggs_paging_budget * budget,
                       struct ggs_error * error);
