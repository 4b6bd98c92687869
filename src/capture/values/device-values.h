// Values of ops that a device computes.
//
// A backend fuses neighbours, and its fused kernels are what users run. So a graph is handed to it
// group by group, and the outputs of each group are read when it is done:
//
//     nodes     0 1 2 3 4 5 6 ...
//     1st call  [group ]. . . .      The backend gets nodes 0 .. 127 and decides as usual what it
//     2nd call        [ ]. . . .     fuses with node 0. ggml_is_empty returns true for the node
//     3rd call          [  ]. . .    after that group and all later ones: it computes no more.
//
// The engine's own ggml_graph_view makes the pieces, as for its eval callback. The callback itself
// is not used, so the program's stays in place. The whole is one graph run in the recording.
#pragma once

#include <stdbool.h>

#include "preload/ggml-abi.h"

typedef int (*ggs_compute_function)(void * backend, struct abi_graph * graph);

// True if values of this thread's run, a device's, are recorded.
bool ggs_values_on_device(void);
// Computes the run's graph group by group, or node by node if ggs_values_unfused.
int ggs_values_compute(ggs_compute_function real, void * backend, struct abi_graph * graph);
