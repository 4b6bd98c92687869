// How busy other programs kept the machine while a program ran. On a busy machine measured times
// say little.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct json_object;

struct ggs_busy {
    uint64_t busy_ns;  // of all CPUs, by all processes
    uint64_t steal_ns; // taken by the hypervisor for other machines
    uint64_t own_ns;   // by us, what we started and waited for, and `process`
    uint64_t at_ns;
    pid_t    process; // that ran before us and is recorded; 0 for none
};

void ggs_busy_begin(struct ggs_busy * busy, pid_t process);
// What others used of all CPUs since then, steal included, from 0 to 1. Negative if the kernel does
// not tell, the time was too short for its clock, or the process has ended.
double ggs_busy_share(const struct ggs_busy * begin);
// Notes "cpu_ns", the CPU time that there was, "others_cpu_ns", what other programs used of it, and
// "steal_cpu_ns", what the hypervisor gave to other machines. Nothing if the kernel does not tell,
// or the time was too short for its clock.
void ggs_busy_annotate(const struct ggs_busy * begin, struct json_object * machine);
