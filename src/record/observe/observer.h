// Watches a program from outside while it runs, in a thread of its own: page faults and block
// requests go into the machine's side of the spool, in the order in which they began.
//
//     ggs_observer_new(&observer, &spool, max_bytes, &error);
//     ggs_observer_faults(observer, process, true, &error); // either may fail by itself
//     ggs_observer_requests(observer, &error);
//     ggs_observer_begin(observer, &error);
//     ... the program runs ...
//     ggs_observer_end(observer);                         // writes what was lost to the spool
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;
struct ggs_machine_spool;
struct ggs_observer;

// The spool gets at most `max_bytes`. The caller keeps it.
int ggs_observer_new(struct ggs_observer ** observer, struct ggs_machine_spool * spool, uint64_t max_bytes,
                     struct ggs_error * error);
// `at_exec`: from the exec of the process on; else from ggs_observer_begin.
int ggs_observer_faults(struct ggs_observer * observer, pid_t process, bool at_exec, struct ggs_error * error);
// For a running process: its other threads too.
int ggs_observer_threads(struct ggs_observer * observer, pid_t process, struct ggs_error * error);
// True if context switches are observed beside faults.
bool ggs_observer_has_switches(const struct ggs_observer * observer);
int  ggs_observer_requests(struct ggs_observer * observer, struct ggs_error * error);
// Nothing is counted while it is paused.
void ggs_observer_pause(struct ggs_observer * observer, bool paused);
int  ggs_observer_begin(struct ggs_observer * observer, struct ggs_error * error);
// Everything that began before this time (CLOCK_MONOTONIC) and has ended is in the spool.
// Thread-safe.
uint64_t ggs_observer_complete_until(const struct ggs_observer * observer);
// Stops, reads the rest, and frees. NULL is allowed.
void ggs_observer_end(struct ggs_observer * observer);
