// Runs programs one after the other, without a terminal. A signal that ends this process first ends
// the running program, and the caller can clean up.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/system/interrupt.h"

struct ggs_error;

// SIGINT, SIGTERM and SIGHUP are blocked from begin to end; `stopped` has the one that came.
struct ggs_halt {
    struct ggs_interrupt interrupt;
    sigset_t             children; // the previous mask of SIGCHLD
    int                  stopped;  // the signal that came, 0: none
};
void ggs_halt_begin(struct ggs_halt * halt);
void ggs_halt_end(struct ggs_halt * halt);
int  ggs_halt_stopped(struct ggs_halt * halt); // checks for a pending signal

struct ggs_child {
    const char *         path;                      // NULL: words[0], searched in PATH
    const char * const * words;                     // NULL at the end
    int                  log;                       // descriptor for stderr; stdout is discarded
    uint64_t             memory;                    // limit in bytes, 0: none
    void (*started)(void * context, pid_t process); // called once it runs; may be NULL
    void * context;
};

struct ggs_child_end {
    int      status; // waitpid's status
    uint64_t ns;     // duration
};

// Runs the program to its end. Fails if it cannot be started, and on a signal ("interrupted").
int ggs_child_run(struct ggs_halt * halt, const struct ggs_child * child, struct ggs_child_end * end,
                  struct ggs_error * error);

// Returns the line of a log that has the cause: the signal that ended the program, else the
// first error near the end of the log (later ones are consequences), else the first line; or "".
void ggs_child_log_line(int log, char * line, size_t size);
