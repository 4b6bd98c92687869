// Windows: when graph runs are recorded. ggscope record opens and closes them through a word in
// shared memory (struct ggs_spool_control), which is all that hooks read. What begins outside of a
// window is not recorded, even if a window opens before it ends. Buffers, files and models are
// always recorded, so that everything can be located in a window that opens later.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/graph-run.h"

extern const uint32_t * ggs_window_word;    // 0: closed. Never NULL
extern _Atomic int      ggs_window_skipped; // graph runs under way that are not recorded
extern _Atomic bool     ggs_window_gaps;    // there have been some

// Maps the control file of a spool folder.
void ggs_window_begin(const char * folder);
// From here on the control file decides; without one the window is open for good.
void ggs_window_open(void);
// Closes the window, whatever ggscope says. Runs that are recorded go on to their end;
// ggs_window_is_left returns true when all have.
void ggs_window_end(void);
bool ggs_window_is_left(void);
// In a forked child, which has this thread alone: runs of others are not there.
void ggs_window_forget(void);
// Closes the window and unmaps the control file. `gaps`: decodes of the past were not seen.
void ggs_window_reset(bool gaps);
// A forked child computes, and is not recorded: once per child.
void ggs_window_count_child(void);
// Bytes of that folder's segments that ggscope has sealed and removed; NULL if not known.
const uint64_t * ggs_window_freed(void);

static inline bool ggs_window_is_closed(void) {
    return __builtin_expect(__atomic_load_n(ggs_window_word, __ATOMIC_RELAXED) == 0, 0);
}

// Around decodes, scheduler calls and graph runs, which nest: the outermost decides for those
// inside. enter returns true if they are recorded.
bool ggs_window_enter(void);
void ggs_window_leave(void);

// True if what the thread is doing lies outside of all windows.
static inline bool ggs_window_is_outside(void) {
    return ggs_in.outer > 0 ? ggs_in.skipped : ggs_window_is_closed();
}
