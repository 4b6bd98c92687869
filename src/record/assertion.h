// Programs that the engine ends itself: ggml prints the failed assertion with file and line, and
// aborts.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Searches a copy of the program's stderr. If true, `text` is "ggml-backend.cpp:1294:
// GGML_ASSERT(...) failed", without folders, truncated to `size`.
bool ggs_assertion_find(const char * stderr_file, char * text, size_t size);

// Reports on stderr that the engine ended the program, if it did (`wait_status` is waitpid's), and
// what may help. `layout` is the type of a buffer with weights in a layout of the CPU's own, "" for
// none.
void ggs_assertion_explain(const char * stderr_file, int wait_status, char * const * command, const char * layout);
