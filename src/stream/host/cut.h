// A model file that is cut while it is mapped: reading what is gone raises SIGBUS, which would end
// the program without a word.
#pragma once

// From here on such a signal is told of in one sentence before it takes its course, as without us.
void ggs_cut_watch(void);
