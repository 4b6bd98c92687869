// Values of ops that a device computes.
//
// A backend fuses neighbours, and what users run are its fused kernels. So a graph is handed to it
// group by group, and what each group wrote is read when it is done:
//
//     nodes     0 1 2 3 4 5 6 ...
//     1st call  [group ]. . . .      the backend gets nodes 0 .. 127. It decides as ever what it fuses with
//     2nd call        [ ]. . . .     node 0; when it asks ggml_is_empty of the node behind that group, it is
//     3rd call          [  ]. . .    told "yes" for that one and all that follow, and computes nothing more
//
// The engine's own functions make the pieces (ggml_graph_view), as for its eval callback, which is
// not used: that of the program stays as it is. The whole is one graph run in the recording.
#pragma once

#include <stdbool.h>

#include "preload/ggml-abi.h"

typedef int (*ggs_compute_function)(void * backend, struct abi_graph * graph);

// True if values are recorded of the run under way on this thread, which is a device's.
bool ggs_values_on_device(void);
// Computes the run's graph, group by group or, if ggs_values_unfused, node by node.
int ggs_values_compute(ggs_compute_function real, void * backend, struct abi_graph * graph);
