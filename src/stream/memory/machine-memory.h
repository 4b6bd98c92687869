// The memory of this machine: limits of control groups, free memory, pressure, and pages.
#pragma once

#include "stream/memory/memory.h"

struct ggs_kernel_memory;

// Returns NULL if memory is out.
struct ggs_kernel_memory * ggs_kernel_memory_create(void);
void                       ggs_kernel_memory_destroy(struct ggs_kernel_memory * machine);
struct ggs_memory *        ggs_kernel_memory_face(struct ggs_kernel_memory * machine);

// For a disk's threads, with the machine as context: see ggs_page_memory_touch.
void ggs_kernel_memory_touch(void * machine, char * at, size_t bytes);
