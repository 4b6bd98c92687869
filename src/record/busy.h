// How busy other programs kept the machine while a program ran. On a busy machine measured times say little.
#pragma once

#include <stdint.h>

struct json_object;

struct ggs_busy {
    uint64_t busy_ns; // of all CPUs, by all processes
    uint64_t own_ns;  // by us and what we started and waited for
    uint64_t at_ns;
};

void ggs_busy_begin(struct ggs_busy * busy);
// Notes "cpu_ns", the CPU time that there was, and "others_cpu_ns", what others used of it. Nothing if the kernel does not tell, or the time
// was too short for its clock.
void ggs_busy_note(const struct ggs_busy * begin, struct json_object * machine);
