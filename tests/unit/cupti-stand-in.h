// A stand-in for libcupti and a CUDA driver, controlled by a test: the calls of an engine, and
// their records.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A call of the driver, as CUPTI reports it: cuLaunchKernel, or with id 514 cuGraphLaunch.
void stand_in_call(uint32_t id, uint32_t correlation);
// Makes launches add this node to a captured graph; 0: no capture.
void     stand_in_capture(uint64_t graph_node);
uint64_t stand_in_captured(void); // for the driver
// A graph is instantiated: `node` is a copy of `original`.
void stand_in_clone(uint64_t original, uint64_t node);
// An activity of the device; delivered when records are requested.
void stand_in_kernel(uint32_t correlation, uint64_t graph_node, uint64_t start, uint64_t end, const char * name);
void stand_in_copy(uint32_t correlation, uint64_t graph_node, uint64_t start, uint64_t end, uint64_t bytes);
bool stand_in_ended(void); // true after cuptiFinalize
