// Judges the seccomp filters of a process where they cannot be read: inside a container, because
// the kernel shows filters to no process that has one itself.
//
// The container's runtime installs its filters in every process that it starts there, be it the
// first one or one that enters later. If neither the process nor ggscope can have installed others,
// both have the same filters, and ggscope tries the calls itself, in a child of its own.
#pragma once

#include <stdbool.h>

struct ggs_error;
struct ggs_tracee;

// True if this process has a seccomp filter.
bool ggs_filter_is_own(void);

// Checks that the process's filters permit attaching. Fails with a sentence if they do not, or if
// they may differ from those of ggscope. The process is not touched.
int ggs_filter_try(const struct ggs_tracee * tracee, struct ggs_error * error);
