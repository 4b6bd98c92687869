// A libcupti and a CUDA driver that do what a test tells them: the calls that an engine would make, and the records of what they did.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A call into the driver, as CUPTI tells it: cuLaunchKernel, or with id 514 cuGraphLaunch.
void stand_in_call(uint32_t id, uint32_t correlation);
// From now on, launches add this node to a graph that is captured; 0: nothing is captured.
void     stand_in_capture(uint64_t graph_node);
uint64_t stand_in_captured(void); // for the driver
// A graph is instantiated: `node` is a copy of `original`.
void stand_in_clone(uint64_t original, uint64_t node);
// What the device did; brought when the records are asked for.
void stand_in_kernel(uint32_t correlation, uint64_t graph_node, uint64_t start, uint64_t end, const char * name);
void stand_in_copy(uint32_t correlation, uint64_t graph_node, uint64_t start, uint64_t end, uint64_t bytes);
bool stand_in_ended(void); // was cuptiFinalize called?
