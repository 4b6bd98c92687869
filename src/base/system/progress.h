// A progress line on stderr; none if stderr is not a terminal. It redraws at most 10 times a second
// and is erased at the end. `label` must outlive the struct.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_progress {
    const char * label;
    uint64_t     total;
    uint64_t     started_ns;
    uint64_t     drawn_ns;
    bool         active;
};
void ggs_progress_start(struct ggs_progress * progress, const char * label, uint64_t total);
void ggs_progress_update(struct ggs_progress * progress, uint64_t done);
void ggs_progress_finish(struct ggs_progress * progress);
