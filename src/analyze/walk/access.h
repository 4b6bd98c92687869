// The bytes that an op reads and writes.
//
// There is one access per operand: every source that is read, and the result. They are whole
// operands for dense ops, and the exact rows or matrices for sparse ones; views follow their
// strides. Ranges are relative to the operand's first byte, ascending and disjoint.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_range {
    uint64_t offset, length;
};

struct ggs_access {
    const struct ggs_tensor * tensor;
    uint32_t                  slot; // the source; GGS_ACCESS_RESULT for the result
    bool                      write;
    bool                      exact; // rows or matrices from the index data; false: the whole operand
    bool                      some;  // at most `bytes` of the ranges are touched, unknown which
    uint64_t
                       bytes; // sum over the ranges; less if the number of rows is known but not which; in-memory size if the layout differs (packed_bytes)
    uint32_t           n_ranges;
    struct ggs_range * ranges;
};

enum { GGS_ACCESS_RESULT = 255, GGS_ACCESS_MOST = 24 };

// Holds the accesses of one op at a time, and the index data of one run. A zeroed struct is valid.
struct ggs_access_list {
    struct ggs_access  access[GGS_ACCESS_MOST];
    unsigned           n;
    struct ggs_range * ranges; // storage of all ranges
    uint64_t           n_ranges, capacity;
    // The index data of the run by tensor, because several nodes may read the same one.
    struct ggs_access_index {
        uint64_t  tensor;
        uint64_t  width, n, ne[4]; // n is the product of ne
        int64_t * values;
        uint64_t  capacity;
    } * index;
    uint64_t n_index, index_capacity;
    // Over the index data, kept between runs: runs in ascending order are read in one pass.
    struct ggs_cursor * cursor;
    struct ggs_index    ahead;   // read already, of a later run
    bool                waiting; // `ahead` is valid
    uint64_t            run;     // the current run
};

void ggs_access_release(struct ggs_access_list * list);

// Reads the index data of a run. Call it once per run before ggs_access_of.
int ggs_access_begin_run(struct ggs_access_list * list, struct ggs_trace * trace, const struct ggs_run * run,
                         const struct ggs_graph * graph, struct ggs_error * error);

// Fills list->access for an op of that run: the node and the `absorbed` nodes fused with it. Data
// passed between them is left out.
int ggs_access_of(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                  uint64_t node, uint64_t absorbed, struct ggs_error * error);
// The same for one of the fused nodes, from 0 (the head) to `absorbed`; their sum is the op.
int ggs_access_of_part(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                       uint64_t node, uint64_t absorbed, uint64_t part, struct ggs_error * error);

// Bytes of all accesses; `disk`: of these, in mapped files.
struct ggs_access_bytes {
    uint64_t read, written, disk, vram;
};
struct ggs_access_bytes ggs_access_sum(const struct ggs_access_list * list);

// Returns the values of a small index tensor of this run (expert ids, rows); NULL if not recorded.
const struct ggs_access_index * ggs_access_values(const struct ggs_access_list * list, uint64_t tensor);
