// Checks whether the seccomp filters of a process permit attaching.
#pragma once

struct ggs_error;
struct ggs_tracee;

// Reads the filters of the process, a thread of which is stopped briefly, and runs them on the
// system calls that attaching makes. Fails with a sentence if a filter would kill the process or
// deny a call that is needed, or if the filters cannot be known. Without a filter, and in a
// container, where they cannot be read, nothing is stopped.
int ggs_filter_check(const struct ggs_tracee * tracee, struct ggs_error * error);
