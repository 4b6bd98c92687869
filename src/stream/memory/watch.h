// A thread that gives memory back while graphs run: another program of the control group may take memory faster than graph runs end.
#pragma once

#include <stdint.h>

// From here on memory is watched; `reserve` bytes are to stay free in the groups of this process and on the machine. Called with each division of
// memory; the thread is made by the first.
void ggs_watch_start(uint64_t reserve);

// When it gave something back last, 0 if it never did.
uint64_t ggs_watch_gave(void);
