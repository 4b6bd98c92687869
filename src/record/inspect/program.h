// The program that is to be recorded: where it is, whether a library can be preloaded into it, and
// why nothing was seen.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct ggs_error;
struct ggs_text;

struct ggs_program {
    char path[PATH_MAX];        // as it is executed
    char interpreter[PATH_MAX]; // of a script ("#!"), "" if it is none
};

// Finds `name` as a shell does, in PATH if it has no slash.
int ggs_program_find(struct ggs_program * program, const char * name, struct ggs_error * error);

// The dynamic linker loads our library into a program unless that is static, of another machine, or
// runs with more rights than we have. Fails with the reason. A script is judged by its interpreter,
// and then `*only_warn` is set: the interpreter may start something else.
int ggs_program_check(const struct ggs_program * program, bool * only_warn, struct ggs_error * error);

// Is the command one that starts another (timeout 5 PROGRAM, env A=b PROGRAM, sh -c 'PROGRAM ...')?
// Then `inner` is what it starts, and `*skipped` the number of words before it; 0 if it stands
// within a word.
bool ggs_program_unwrap(char * const * words, unsigned n, char inner[PATH_MAX], unsigned * skipped);
bool ggs_program_is_shell(const struct ggs_program * program);

// Appends the likeliest reason why a recording of the program is empty, as the end of a sentence.
// `stderr_file` is what the program wrote, `exit_status` how it ended (as waitpid says).
void ggs_program_explain(const struct ggs_program * program, const char * stderr_file, int wait_status,
                         struct ggs_text * reason);
