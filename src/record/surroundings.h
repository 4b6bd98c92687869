// Conditions of a recording that ggscope does not set: the model's disk, the kernel's memory
// settings, the processors, the load of the machine. They go into experiment.json ("conditions");
// what cannot be read is left out.
#pragma once

struct json_object;

// Call it when the program starts. `model` may be NULL. Reads a few small files of /proc and /sys:
// about 0.3 ms.
struct json_object * ggs_surroundings_begin(const char * model);
// Call it at the end: adds what may have changed.
void ggs_surroundings_end(struct json_object * conditions);
// NUMA nodes of the machine; 0 if unknown.
unsigned ggs_surroundings_nodes(void);
