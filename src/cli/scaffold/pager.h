// Sends long output through a pager like git: only on a terminal, with less by default, which shows
// directly what fits on the screen.
#pragma once

// Starts $GGSCOPE_PAGER, else $PAGER, else less; "cat" or "" means none. From then on stdout is its
// input, and the process ends with the pager; quitting it early is not an error. Does nothing
// without a terminal.
void ggs_pager_start(void);

// On a terminal with the C locale, limits stdout to ASCII from here on: lines and bars are drawn
// with - | + #, other characters become ?.
void ggs_pager_plain(void);
