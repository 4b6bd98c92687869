// The token steps of one request, sequence or context. As trace->selection it limits every walk
// over ops; a step shared by several requests belongs to each of them as a whole.
#pragma once

#include "analyze/walk/trace.h"

// The request: number + 1, 0 for all.
struct ggs_asked {
    uint64_t request, sequence, context;
};

// Sets NULL if everything is selected. GGS_ABSENT if the recording has nothing of it.
int  ggs_selection_make(struct ggs_selection ** out, struct ggs_trace * trace, const struct ggs_asked * choice,
                        struct ggs_error * error);
void ggs_selection_free(struct ggs_selection * selection); // NULL is fine

struct ggs_request_step;
bool ggs_selection_wants(const struct ggs_selection * selection, const struct ggs_request_step * step);
