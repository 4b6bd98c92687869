// Programs that the engine ends itself: ggml prints the failed assertion with file and line, and
// aborts.
#pragma once

// Reports on stderr that the engine ended the program, if it did (`wait_status` is waitpid's), and
// what may help. `stderr_file` is a copy of what the program printed. `layout` is the type of a
// buffer with weights in a layout of the CPU's own, "" for none.
void ggs_assertion_explain(const char * stderr_file, int wait_status, char * const * command, const char * layout);
