// Blocks signals that a call of this library may raise and that would kill the program: SIGXFSZ (a
// file beyond RLIMIT_FSIZE) and SIGPIPE (stderr is a pipe without a reader). A signal raised
// meanwhile is consumed, so the program never sees it.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct ggs_signals {
    sigset_t before;     // the thread's previous mask
    bool     pending[2]; // pending before
};

static inline void ggs_signals_hold(struct ggs_signals * signals) {
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &signals->before);
    sigpending(&pending);
    signals->pending[0] = sigismember(&pending, SIGXFSZ) == 1;
    signals->pending[1] = sigismember(&pending, SIGPIPE) == 1;
}

static inline void ggs_signals_release(const struct ggs_signals * signals) {
    static const int             numbers[] = {SIGXFSZ, SIGPIPE};
    static const struct timespec at_once   = {0, 0};
    sigset_t                     pending;
    sigpending(&pending);
    for (unsigned i = 0; i < 2; i++) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, numbers[i]);
        if (!signals->pending[i] && sigismember(&pending, numbers[i]) == 1) sigtimedwait(&one, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
