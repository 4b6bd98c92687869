// Numbers of processes and threads in the PID namespace of a process: a container has its own,
// which recordings made inside contain.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// The number of a thread inside the process's namespace. 0 if it has ended.
pid_t ggs_process_number_inside(pid_t process, pid_t thread);

// Calls `work` in a process where perf events have the inside numbers, with our memory and files.
// Returns false, without a call, if that is not permitted.
bool ggs_process_numbers_with(pid_t process, void (*work)(void * context), void * context);
