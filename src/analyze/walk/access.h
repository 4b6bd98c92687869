// Which bytes does an op read and write?
//
// One access per operand: every source that is read, and the result. Whole operands if the op is
// dense, exactly the rows or matrices if it is sparse; views by their strides. Ranges are relative
// to the operand's first byte, ascending, without overlap.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_range {
    uint64_t offset, length;
};

struct ggs_access {
    const struct ggs_tensor * tensor;
    uint32_t                  slot; // which source; GGS_ACCESS_RESULT for the result
    bool                      write;
    bool                      exact; // rows or matrices that the index data named; false: the whole operand
    bool     some;  // of the ranges only so many bytes are touched, at most, and which of them was not seen
    uint64_t bytes; // sum over the ranges; less if it is known how many rows are touched, but not which; what
                    // a whole operand takes in memory, if that is in another layout (packed_bytes)
    uint32_t           n_ranges;
    struct ggs_range * ranges;
};

enum { GGS_ACCESS_RESULT = 255, GGS_ACCESS_MOST = 24 };

// Holds the accesses of one op at a time, and the index data of one run. A zeroed struct is ready
// for use.
struct ggs_access_list {
    struct ggs_access  access[GGS_ACCESS_MOST];
    unsigned           n;
    struct ggs_range * ranges; // room for all of them
    uint64_t           n_ranges, capacity;
    // The index data of the run, by tensor: several nodes may read the same one.
    struct ggs_access_index {
        uint64_t  tensor;
        uint64_t  width, n, ne[4]; // n is the product of ne
        int64_t * values;
        uint64_t  capacity;
    } * index;
    uint64_t n_index, index_capacity;
    // Over the index data, kept from run to run: runs that come in ascending order are read in one
    // pass.
    struct ggs_cursor * cursor;
    struct ggs_index    ahead;   // read already, of a later run
    bool                waiting; // `ahead` is
    uint64_t            run;     // that was taken last
};

void ggs_access_release(struct ggs_access_list * list);

// Takes the index data of a run. Call once per run before ggs_access_of.
int ggs_access_begin_run(struct ggs_access_list * list, struct ggs_trace * trace, const struct ggs_run * run,
                         const struct ggs_graph * graph, struct ggs_error * error);

// Fills list->access for an op of that run: the node, and the `absorbed` nodes that were computed
// together with it. What they hand on to each other stays inside.
int ggs_access_of(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                  uint64_t node, uint64_t absorbed, struct ggs_error * error);
// The same for one of the nodes that were computed together, from 0 (the head) to `absorbed`:
// together they are the op's.
int ggs_access_of_part(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                       uint64_t node, uint64_t absorbed, uint64_t part, struct ggs_error * error);

// Bytes of all accesses; `disk`: of these, in mapped files.
struct ggs_access_bytes {
    uint64_t read, written, disk, vram;
};
struct ggs_access_bytes ggs_access_sum(const struct ggs_access_list * list);

// The values of a small index tensor of this run (expert ids, rows); NULL if they were not kept.
const struct ggs_access_index * ggs_access_values(const struct ggs_access_list * list, uint64_t tensor);
