// The seccomp filters of a process: would they let ggscope's thread do what it must?
#pragma once

struct ggs_error;
struct ggs_tracee;

// Reads the filters of the process's first thread, which stands for a moment, and runs them on the
// system calls that attaching makes. Fails with one sentence if one of them would end the process,
// or is refused that attaching cannot do without, or if the filters cannot be read. Without a
// filter nothing is stopped.
int ggs_filter_check(const struct ggs_tracee * tracee, struct ggs_error * error);
