// Our own terminal in raw mode while a program runs behind a pty: every key goes to the program,
// whose pty interprets it. One terminal per process, because signal handlers and exit restore it.
#pragma once

#include <stdbool.h>

// Sets the terminal of `fd` to raw mode if we are in its foreground. Returns whether it is raw; may
// be called again. The first call saves the settings.
bool ggs_raw_terminal_enter(int fd);
// Restores the terminal if it is raw.
void ggs_raw_terminal_leave(void);
