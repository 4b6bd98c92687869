// Predicts the experts of the next layers: their routers applied to this layer's router input.
//
// The depth depends on the disk. If reads use nearly all of its speed, nothing is predicted; if
// they leave much of it, the layer after the next is predicted too.
#pragma once

#include "stream/weights/experts.h"

// The load of the disk.
struct ggs_predict_load {
    double   busy;  // share of the disk's speed recently used by reads
    uint64_t at_ns; // end of the latest run, 0: none
    uint64_t bytes; // read until then
};

// Reads experts of `next` early, and of the group after it, if that pays off. `next` must not have
// chosen yet. Needs the stream's lock; runs in the thread that runs the graph.
void ggs_predict(struct ggs_stream * stream, const struct ggs_routing * now, struct ggs_expert_group * next);

// Called at the end of a run. If the disk's speed is unknown, the share of waiting estimates its
// load.
void ggs_predict_end_run(struct ggs_stream * stream, uint64_t wait_ns, uint64_t run_ns);
