// Defers signals that end the program while a file must not stay half-written. The writer checks
// between pieces whether a signal is pending, removes its file and lets the signal act.
#pragma once

#include <signal.h>
#include <stdbool.h>

struct ggs_interrupt {
    sigset_t held, before;
};

// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread, except ignored ones (nohup).
void ggs_interrupt_hold(struct ggs_interrupt * interrupt);
bool ggs_interrupt_has_come(const struct ggs_interrupt * interrupt);
void ggs_interrupt_release(const struct ggs_interrupt * interrupt);
