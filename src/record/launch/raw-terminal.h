// Our own terminal in raw mode while a program sits behind a pty: every key goes to the program,
// whose pty gives it a meaning. One terminal per process, because it is restored from signal
// handlers and at exit, whatever happens.
#pragma once

#include <stdbool.h>

// Puts the terminal behind `fd` in raw mode if we are in its foreground. Returns whether it is raw
// now; calling again is fine. The first call remembers the settings that are restored later.
bool ggs_raw_terminal_enter(int fd);
// Restores it if it is raw.
void ggs_raw_terminal_leave(void);
