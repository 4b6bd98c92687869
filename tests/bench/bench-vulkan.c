// Measures the hooks of a Vulkan device per node, in CPU time: naming the node, wrapping its
// commands, reading the time stamps; relative to a loader whose functions do nothing. Prints one
// JSON line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/device/device.h"
#include "vulkan-stand-in.h"

enum { NODES = 700, RUNS = 100, ROUNDS = 15 };

// ---- the measurement ----

static const char * name_of(void * backend) {
    (void) backend;
    return "Vulkan0";
}

static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static int by_value(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

// A loop over a graph like the backend's: asks for the node, and records a command for it.
static double one_round(const struct abi_graph * graph, VkDevice device) {
    static void * backend;
    uint64_t      begin = cpu_ns();
    for (int r = 0; r < RUNS; r++) {
        ggs_device_begin(&backend, graph);
        for (int i = 0; i < NODES; i++) {
            if (ggml_is_empty(graph->nodes[i])) continue;
            vkCmdDispatch((VkCommandBuffer) device, 1, 1, 1);
        }
        vkEndCommandBuffer((VkCommandBuffer) device);
        ggs_device_end();
        ggs_device_results(&backend);
    }
    return (double) (cpu_ns() - begin) / (NODES * (double) RUNS);
}

int main(void) {
    static struct abi_tensor   tensors[NODES];
    static struct abi_tensor * nodes[NODES];
    struct abi_graph           graph = {.n_nodes = NODES, .nodes = nodes};
    double                     rounds[ROUNDS];
    VkDevice                   device = stand_in_create();
    for (int i = 0; i < NODES; i++) nodes[i] = &tensors[i];
    ggs_engine.backend_name = name_of;
    if (device == VK_NULL_HANDLE) return 1;
    for (int i = 0; i < ROUNDS; i++) rounds[i] = one_round(&graph, device);
    if (stand_in_results() == 0) {
        fprintf(stderr, "bench-vulkan: no stamp was read\n");
        return 1;
    }
    qsort(rounds, ROUNDS, sizeof(rounds[0]), by_value);
    printf("{\"cpu_ns_per_node\": %.1f, \"least\": %.1f, \"wanted\": 150, \"stamps_per_node\": %.2f}\n",
           rounds[ROUNDS / 2], rounds[0], (double) stand_in_results() / ((double) NODES * RUNS * ROUNDS));
    return rounds[0] <= 150 ? 0 : 1;
}
