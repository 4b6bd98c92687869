// Long output goes through a pager, as git does it: on a terminal only, with less by default, which
// shows what fits on the screen at once.
#pragma once

// Starts $GGSCOPE_PAGER, else $PAGER, else less; "cat" or nothing means none. From then on stdout
// is its input, and the process ends when the pager does; that it was left early is no error.
// Without a terminal nothing happens.
void ggs_pager_start(void);

// On a terminal of the C locale stdout carries ASCII from here on: lines and bars are drawn with -
// | + #, other characters become ?.
void ggs_pager_plain(void);
