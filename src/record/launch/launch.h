// Starts a program, relays its terminal, pipes and signals as if we were not there, and waits for
// it.
//
//     stdin       stdout, stderr      the program gets
//     any         no terminal         our stdin, a pipe for each; it stays in our process group
//     no terminal a terminal          our stdin, a pty for each that is one; a session of its own
//     a terminal  a terminal          the pty for stdin too; our terminal is raw meanwhile
//
// What the program writes is passed on at once, byte by byte the same, and copied to a file. On a
// pty keys mean what the program wants them to mean: Ctrl-C, Ctrl-D and Ctrl-Z work as they do
// without us, and its window is as large as ours.
//
// Signals that are sent to us (INT, TERM, HUP, QUIT, USR1, USR2) reach the program once, also those
// to our whole process group (group-watch.h). We return when the program has ended. If a child of
// its own still holds its pipes or its terminal, a small process stays and passes on what comes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

struct ggs_launch {
    const char *   path; // of the program
    char * const * argv; // NULL at the end
    char * const * environment;
    int            copy_stdout; // files that get a copy, -1 for none
    int            copy_stderr;
    // Called with the program's process, which waits meanwhile and calls exec afterwards; may be
    // NULL.
    void (*started)(void * context, pid_t program);
    // Called for every signal that was sent to us: true if it is not for the program. NULL: all
    // are.
    bool (*keeps)(void * context, int signal);
    void * context;
};

struct ggs_launch_result {
    int wait_status;  // as waitpid says it
    int stdout_errno; // why a copy is incomplete, or 0
    int stderr_errno;
    int passed_errno; // why output was lost, or 0; not if its reader went away
};

// Returns 0 once the program has ended in any way. Fails only if it could not be started.
int ggs_launch(const struct ggs_launch * launch, struct ggs_launch_result * result, struct ggs_error * error);
