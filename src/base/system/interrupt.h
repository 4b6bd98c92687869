// Signals that end a program wait while something is made that must not stay half made: whoever
// makes it looks between two pieces whether one has come, removes what there is, and lets it act as
// ever.
#pragma once

#include <signal.h>
#include <stdbool.h>

struct ggs_interrupt {
    sigset_t held, before;
};

// SIGINT, SIGTERM and SIGHUP of the calling thread, but for those that are ignored (nohup): they
// stay so.
void ggs_interrupt_hold(struct ggs_interrupt * interrupt);
bool ggs_interrupt_has_come(const struct ggs_interrupt * interrupt);
void ggs_interrupt_release(const struct ggs_interrupt * interrupt);
