// The parts of ggscope doctor.
#pragma once

struct ggs_findings;

// Kernel, clock, memory for spools, page faults, block I/O, memory limits.
void doctor_machine(struct ggs_findings * findings);
