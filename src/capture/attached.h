// The recording of a program that ran before, as far as the children that it forks have part in it.
#pragma once

#include <stdbool.h>

// In the child, right after the fork: takes no lock.
void ggs_attached_forked(void);
// Does ggscope still want to record? For such a child, when it computes for the first time.
bool ggs_attached_is_wanted(void);
// The child records from here on: a thread of ours ends that with the parent's recording.
void ggs_attached_records(void);
