// Which experts the next layers will likely choose: their routers, applied to what this layer's
// router saw.
//
// How far it looks depends on the disk. If reads take nearly all of its speed, nothing is predicted;
// if they leave much of it, the layer after the next is predicted, too.
#pragma once

#include "stream/weights/experts.h"

// How busy the disk is.
struct ggs_predict_load {
    double   busy;  // share of the disk's speed that reads took, lately
    uint64_t at_ns; // when the newest run ended, 0: none has
    uint64_t bytes; // that were read until then
};

// Reads experts of `next` early, and of the group after it, if that is worth it. `next` has not
// chosen yet. With the stream's lock held, by the thread that runs the graph.
void ggs_predict(struct ggs_stream * stream, const struct ggs_routing * now, struct ggs_expert_group * next);

// A run has ended. If the speed of the disk is not known, the share of waiting stands for its load.
void ggs_predict_end_run(struct ggs_stream * stream, uint64_t wait_ns, uint64_t run_ns);
