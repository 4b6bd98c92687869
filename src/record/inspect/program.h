// The program to be recorded: where it is, whether a library can be preloaded into it, and why a
// recording is empty.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct ggs_error;
struct ggs_text;

struct ggs_program {
    char path[PATH_MAX];        // as it is executed
    char interpreter[PATH_MAX]; // of a script ("#!"), or ""
};

// Finds `name` like a shell, in PATH if it has no slash.
int ggs_program_find(struct ggs_program * program, const char * name, struct ggs_error * error);

// Checks whether the dynamic linker will load our library: not into a static program, one for
// another machine, or one with more rights than ours. Fails with the reason. A script is judged by
// its interpreter, and `*only_warn` is set, because the interpreter may start something else.
int ggs_program_check(const struct ggs_program * program, bool * only_warn, struct ggs_error * error);

// True for a command that starts another one (timeout 5 PROGRAM, env A=b PROGRAM, sh -c 'PROGRAM
// ...'). `inner` is the other one, and `*skipped` the number of words before it; 0 if it is inside
// a word.
bool ggs_program_unwrap(char * const * words, unsigned n, char inner[PATH_MAX], unsigned * skipped);
bool ggs_program_is_shell(const struct ggs_program * program);

// Appends the likeliest reason for an empty recording, as the end of a sentence. `stderr_file` has
// the program's output, `exit_status` is waitpid's.
void ggs_program_explain(const struct ggs_program * program, const char * stderr_file, int wait_status,
                         struct ggs_text * reason);
