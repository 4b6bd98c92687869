// Windows: when graph runs are recorded. ggscope record opens and closes them through a word in
// shared memory (struct ggs_spool_control), which is all that hooks read. Calls that begin outside
// of a window are not recorded, even if one opens before they end. Buffers, files and models are
// always recorded, so that everything can be located in a window that opens later.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/graph-run.h"

extern const uint32_t * ggs_window_word;    // 0 if closed; never NULL
extern _Atomic int      ggs_window_skipped; // graph runs in progress that are not recorded
extern _Atomic bool     ggs_window_gaps;    // some graph runs were not recorded

// Maps the control file of a spool folder.
void ggs_window_begin(const char * folder);
// Lets the control file decide; without one the window is always open.
void ggs_window_open(void);
// Closes the window, whatever ggscope says. Recorded runs continue to their end; ggs_window_is_left
// returns true when all have ended.
void ggs_window_end(void);
bool ggs_window_is_left(void);
// For a forked child, which has this thread alone: runs of other threads are gone.
void ggs_window_forget(void);
// Closes the window and unmaps the control file. `gaps`: earlier decodes were not recorded.
void ggs_window_reset(bool gaps);
// Counts a forked child that computes without being recorded, once per child.
void ggs_window_count_child(void);
// Bytes of the folder's segments that ggscope has sealed and removed; NULL if unknown.
const uint64_t * ggs_window_freed(void);

static inline bool ggs_window_is_closed(void) {
    return __builtin_expect(__atomic_load_n(ggs_window_word, __ATOMIC_RELAXED) == 0, 0);
}

// Surround decodes, scheduler calls and graph runs, which nest; the outermost decides. Enter
// returns true if they are recorded.
bool ggs_window_enter(void);
void ggs_window_leave(void);

// True if this thread's work lies outside of all windows.
static inline bool ggs_window_is_outside(void) {
    return ggs_in.outer > 0 ? ggs_in.skipped : ggs_window_is_closed();
}
