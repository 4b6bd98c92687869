// How busy other programs kept the machine while a program ran. Times of a busy machine are
// unreliable.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct json_object;

struct ggs_busy {
    uint64_t busy_ns;  // of all CPUs, by all processes
    uint64_t steal_ns; // taken by the hypervisor for other machines
    uint64_t own_ns;   // used by us, our finished children, and `process`
    uint64_t at_ns;
    pid_t    process; // an attached process that is recorded; 0 for none
};

void ggs_busy_begin(struct ggs_busy * busy, pid_t process);
// The share of all CPUs that others used since the begin, steal included, from 0 to 1. Negative if
// the kernel does not report it, the time was too short for its clock, or the process has ended.
double ggs_busy_share(const struct ggs_busy * begin);
// Records "cpu_ns", the available CPU time, "others_cpu_ns", the part used by other programs, and
// "steal_cpu_ns", the part that the hypervisor gave to other machines. Nothing if the kernel does
// not report it, or the time was too short for its clock.
void ggs_busy_annotate(const struct ggs_busy * begin, struct json_object * machine);
