// Numbers of processes and threads in the PID namespace of a process: a container has its own, and
// what is recorded inside has those.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// The number that a thread of the process has inside. 0 if it has ended.
pid_t ggs_process_number_inside(pid_t process, pid_t thread);

// Calls `work` where perf events name processes by their numbers inside, and in whose memory and
// files it is as if it were called from here. False if that is not permitted: it was not called
// then.
bool ggs_process_numbers_with(pid_t process, void (*work)(void * context), void * context);
