// The parts of ggscope doctor.
#pragma once

#include <stdbool.h>

struct ggs_findings;

// Checks kernel, clock, memory for spools, page faults, block I/O, memory limits, and the machine's
// memory and compute rates, which `bandwidth` measures again.
void doctor_machine(struct ggs_findings * findings, bool bandwidth);
