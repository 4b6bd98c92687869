// Watches a program from outside while it runs, in a thread of its own: page faults and block requests go into the machine's
// side of the spool, in the order in which they began.
//
//     ggs_watch_new(&watch, &spool, max_bytes, &error);
//     ggs_watch_faults(watch, process, &error);     // either may fail by itself
//     ggs_watch_requests(watch, &error);
//     ggs_watch_begin(watch, &error);
//     ... the program runs ...
//     ggs_watch_end(watch);                         // what was lost is told to the spool
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct ggs_error;
struct ggs_machine_spool;
struct ggs_watch;

// The spool gets at most `max_bytes`. It stays the caller's.
int ggs_watch_new(struct ggs_watch ** watch, struct ggs_machine_spool * spool, uint64_t max_bytes,
                  struct ggs_error * error);
int ggs_watch_faults(struct ggs_watch * watch, pid_t process, struct ggs_error * error);
int ggs_watch_requests(struct ggs_watch * watch, struct ggs_error * error);
int ggs_watch_begin(struct ggs_watch * watch, struct ggs_error * error);
// Stops, takes what is left, and frees. NULL is fine.
void ggs_watch_end(struct ggs_watch * watch);
