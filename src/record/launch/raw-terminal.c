#include "record/launch/raw-terminal.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static struct termios        before;
static int                   terminal = -1;
static volatile sig_atomic_t raw;

void ggs_raw_terminal_leave(void) {
    if (!raw) return;
    raw = 0;
    // TCSADRAIN: pending output is written in the mode it was meant for.
    tcsetattr(terminal, TCSADRAIN, &before);
}

// A crash of ours must not leave the user's terminal raw.
static void restore_and_die(int number) {
    ggs_raw_terminal_leave();
    raise(number); // SA_RESETHAND restored the default
}

static void install(void) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS, SIGALRM, SIGXCPU, SIGXFSZ};
    struct sigaction action   = {.sa_handler = restore_and_die, .sa_flags = (int) SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
        struct sigaction old;
        if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(deadly[i], &action, NULL);
    }
    atexit(ggs_raw_terminal_leave);
}

bool ggs_raw_terminal_enter(int fd) {
    if (raw) return true;
    if (tcgetpgrp(fd) != getpgrp()) return false; // another process has the terminal
    if (tcgetattr(fd, &before) != 0) return false;
    static bool installed;
    if (!installed) install();
    installed              = true;
    terminal               = fd;
    struct termios changed = before;
    cfmakeraw(&changed);
    if (tcsetattr(fd, TCSADRAIN, &changed) != 0) return false;
    raw = 1;
    return true;
}
