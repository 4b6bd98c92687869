// Work of a device for a node: a kernel, a copy or a set.
#pragma once

#include <stdint.h>

struct ggs_device_kernel {
    uint32_t     node; // GGS_DEVICE_NO_NODE if unknown
    uint32_t     stream;
    uint64_t     begin_ns, end_ns;
    uint64_t     bytes;
    const char * name; // lives as long as the library that it came from; NULL for none
    uint32_t     grid[3], block[3];
};

// Writes the kernels of a run to the journal, before the run itself.
void ggs_kernels_emit(uint64_t run, const struct ggs_device_kernel * kernels, uint32_t n);
