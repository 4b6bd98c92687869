// The program that is to be recorded: where it is, whether a library can be preloaded into it, and why nothing was seen.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct ggs_error;
struct ggs_text;

struct ggs_program {
    char path[PATH_MAX];        // as it is executed
    char interpreter[PATH_MAX]; // of a script ("#!"), "" where it is none
};

// Finds `name` as a shell does, in PATH where it has no slash.
int ggs_program_find(struct ggs_program * program, const char * name, struct ggs_error * error);

// The dynamic linker loads our library into a program unless that is static, of another machine, or runs with more
// rights than we have. Fails with the reason. A script is judged by its interpreter, and then `*only_warn` is set:
// the interpreter may start something else.
int ggs_program_check(const struct ggs_program * program, bool * only_warn, struct ggs_error * error);

// Appends the likeliest reason why a recording of the program is empty, as the end of a sentence. `stderr_file` is what the
// program wrote, `exit_status` how it ended (as waitpid says).
void ggs_program_explain(const struct ggs_program * program, const char * stderr_file, int wait_status,
                         struct ggs_text * reason);
