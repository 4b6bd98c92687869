// Windows: when graph runs are recorded. ggscope record opens and closes them through a word in shared memory (struct ggs_spool_control), which is
// all that hooks look at. What begins outside of a window is not recorded, whatever happens until it ends; buffers, files and models are told
// always, so that a window that opens later knows where everything lies.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/graph-run.h"

extern const uint32_t * ggs_window_word;    // 0: closed. Never NULL
extern _Atomic int      ggs_window_skipped; // graph runs under way that are not recorded
extern _Atomic bool     ggs_window_gaps;    // there have been some

// Maps the control file of a spool folder; without one the window is open for good.
void ggs_window_begin(const char * folder);
// Bytes of that folder's segments that ggscope has sealed and removed; NULL if not known.
const uint64_t * ggs_window_freed(void);

static inline bool ggs_window_is_closed(void) {
    return __builtin_expect(__atomic_load_n(ggs_window_word, __ATOMIC_RELAXED) == 0, 0);
}

// Around decodes, scheduler calls and graph runs, which nest: the outermost decides for those inside. True if it is recorded.
bool ggs_window_enter(void);
void ggs_window_leave(void);

// Is what the thread does just now outside of all windows?
static inline bool ggs_window_is_outside(void) {
    return ggs_in.outer > 0 ? ggs_in.skipped : ggs_window_is_closed();
}
