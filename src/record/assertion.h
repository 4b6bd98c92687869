// Programs that the engine ends itself: ggml prints what it asserted, with file and line, and
// aborts.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Looks for it in a copy of the program's stderr. True if it is there; then `text` is
// "ggml-backend.cpp:1294: GGML_ASSERT(...) failed", without folders, cut to `size`.
bool ggs_assertion_find(const char * stderr_file, char * text, size_t size);

// Says on stderr that the engine ended the program, if that was so (`wait_status` as waitpid says),
// and what may help. `layout` is the type of a buffer that has weights in a layout of the CPU's
// own, "" for none.
void ggs_assertion_explain(const char * stderr_file, int wait_status, char * const * command, const char * layout);
