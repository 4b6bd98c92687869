// Attached recordings (ggscope attach) in forked children of the program.
#pragma once

#include <stdbool.h>

// Runs in the child right after the fork. Takes no lock.
void ggs_attached_forked(void);
// True if ggscope still records. Asked by a forked child when it first computes.
bool ggs_attached_is_wanted(void);
// Starts a thread that ends the child's recording together with the parent's.
void ggs_attached_records(void);
