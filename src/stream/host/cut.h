// Reports a model file that is truncated while mapped: reading the missing part raises SIGBUS,
// which ends the program without a message.
#pragma once

// Prints one sentence about such a signal before it takes its normal course.
void ggs_cut_watch(void);
