// The parts of ggscope doctor.
#pragma once

#include <stdbool.h>

struct ggs_elf;
struct ggs_findings;
struct ggs_libraries;

// Checks kernel, clock, memory for spools, page faults, block I/O, memory limits, and the machine's
// memory and compute rates, which `bandwidth` measures again.
void doctor_machine(struct ggs_findings * findings, bool bandwidth);

// Checks what ggscope attach would record of the process with this number.
void doctor_process(struct ggs_findings * findings, const char * number, const struct ggs_libraries * capture,
                    struct ggs_libraries * libraries);

// Reports the ggml inside a program or library. Returns false if it has none, or only links it.
// `path` is its name, `file` where it can be read.
bool doctor_object(struct ggs_findings * findings, const struct ggs_elf * elf, const char * path, const char * file,
                   const struct ggs_libraries * capture, struct ggs_libraries * libraries);
