// The parts of ggscope doctor.
#pragma once

#include <stdbool.h>

struct ggs_findings;

// Kernel, clock, memory for spools, page faults, block I/O, memory limits, and what memory and
// cores can do, measured again if `bandwidth` says so.
void doctor_machine(struct ggs_findings * findings, bool bandwidth);
