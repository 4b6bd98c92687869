// CUDA: the times of kernels, copies and sets, by CUPTI. See cuda.c.
#pragma once

#include <stdbool.h>

struct ggs_device_run;

// A run on a CUDA device begins. False: its ops are not timed (no CUPTI, or the window is over), and need not be followed.
bool ggs_cuda_begin(struct ggs_device_run * run);
// A decode of a single token begins: the window counts from the first of these.
void ggs_cuda_generates(void);
