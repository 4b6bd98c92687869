// Reads of the model's files by time and offset, as a grid. Sequential reading is a slope, random
// reading is noise.
//
// The files are concatenated on one axis, by number. An op's bytes are spread over its time and the
// bytes that it reads; copied weights count at their origin, marked as copies. Page faults and
// block requests are separate grids at their recorded addresses.
//
// Columns can be token steps: for ops only, including those without times.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

enum ggs_access_layer {
    GGS_ACCESS_MAPPED, // bytes that ops read from mapped files
    GGS_ACCESS_COPIES, // bytes that ops read from copies
    GGS_ACCESS_FAULTS, // page faults
    GGS_ACCESS_DISK,   // bytes of block requests
    GGS_ACCESS_LAYERS,
};

struct ggs_access_map {
    bool       by_step;
    int64_t    begin_ns, end_ns;     // by_step: the first step, and the one after the last
    uint64_t   first_byte, end_byte; // of the axis
    uint64_t   columns, rows;
    uint64_t   axis_bytes; // total
    uint64_t * file_base;  // by file - 1: offset of the file on the axis; UINT64_MAX if it is not a model's
    float *    cells[GGS_ACCESS_LAYERS]; // row by row
    double     sums[GGS_ACCESS_LAYERS];  // of the cells
};

enum { GGS_ACCESS_COLUMNS_MOST = 2048, GGS_ACCESS_ROWS_MOST = 1024 };

// Columns, rows, times and bytes must be set; end_byte 0: the whole axis.
int  ggs_access_map_compute(struct ggs_access_map * map, struct ggs_trace * trace, struct ggs_error * error);
void ggs_access_map_release(struct ggs_access_map * map);
