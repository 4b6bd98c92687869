// Runs programs one after the other, without a terminal, in a process that signals may end at any
// time: the program under way ends then too, and the caller has its turn to leave things in order.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/system/interrupt.h"

struct ggs_error;

// SIGINT, SIGTERM and SIGHUP are held from begin to end; what came is in `stopped`.
struct ggs_halt {
    struct ggs_interrupt interrupt;
    sigset_t             children; // SIGCHLD, as it was before
    int                  stopped;  // the signal that came, 0: none
};
void ggs_halt_begin(struct ggs_halt * halt);
void ggs_halt_end(struct ggs_halt * halt);
int  ggs_halt_stopped(struct ggs_halt * halt); // looks whether one has come

struct ggs_child {
    const char *         path;                      // NULL: words[0], looked for in PATH
    const char * const * words;                     // NULL at the end
    int                  log;                       // descriptor for what it says on stderr; stdout goes nowhere
    uint64_t             memory;                    // bytes that it may use, 0: no limit
    void (*started)(void * context, pid_t process); // once it has begun; NULL: nobody wants to know
    void * context;
};

struct ggs_child_end {
    int      status; // as waitpid tells it
    uint64_t ns;     // how long it ran
};

// Waits for its end. Fails if it cannot be started, and if a signal came ("interrupted").
int ggs_child_run(struct ggs_halt * halt, const struct ggs_child * child, struct ggs_child_end * end,
                  struct ggs_error * error);

// The first line of a log: what is said first is the cause, what follows are consequences. "" if
// there is none.
void ggs_child_log_line(int log, char * line, size_t size);
