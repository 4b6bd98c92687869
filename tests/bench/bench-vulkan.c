// What the hooks of a Vulkan device cost per node, in CPU time: those that name the node, those around its commands, and reading the
// stamps back; against a loader whose functions do nothing. Prints one JSON line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "capture/capture.h"
#include "capture/device/cuda.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/hooks/resolve.h"
#include "capture/journal.h"

enum { NODES = 700, RUNS = 100, ROUNDS = 15 };

// ---- a loader that does nothing ----

static uint64_t ticks;

static void nothing(void) {}

static VkResult succeed(void) {
    return VK_SUCCESS;
}

static VkBool32 is_empty(const struct abi_tensor * node) {
    return node == NULL;
}

static VkResult get_results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t n, size_t size, void * data,
                            VkDeviceSize stride, VkQueryResultFlags flags) {
    (void) device, (void) pool, (void) first, (void) size, (void) stride, (void) flags;
    uint64_t * values = data;
    for (uint32_t i = 0; i < n; i++) values[2 * i] = ++ticks, values[2 * i + 1] = 1;
    return VK_SUCCESS;
}

static VkResult create_pool(VkDevice device, const VkQueryPoolCreateInfo * info,
                            const VkAllocationCallbacks * allocator, VkQueryPool * pool) {
    (void) device, (void) info, (void) allocator;
    *pool = (VkQueryPool) 1;
    return VK_SUCCESS;
}

static void * dispatch_key = &dispatch_key; // what the loader puts first into every handle

static VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                              const VkAllocationCallbacks * allocator, VkDevice * handle) {
    (void) physical, (void) info, (void) allocator;
    *handle = (VkDevice) &dispatch_key;
    return VK_SUCCESS;
}

static void families(VkPhysicalDevice physical, uint32_t * n, VkQueueFamilyProperties * list) {
    (void) physical;
    *n = 1;
    if (list != NULL) *list = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_COMPUTE_BIT, .timestampValidBits = 64};
}

static void properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties * out) {
    (void) physical;
    memset(out, 0, sizeof(*out));
    out->limits.timestampPeriod = 1;
}

static VkResult no_extensions(VkPhysicalDevice physical, const char * layer, uint32_t * n,
                              VkExtensionProperties * list) {
    (void) physical, (void) layer, (void) list;
    *n = 0;
    return VK_SUCCESS;
}

static PFN_vkVoidFunction get(VkDevice device, const char * name);

void * ggs_resolve_name(const char * name, const void * caller) {
    static const struct {
        const char * name;
        void *       function;
    } table[] = {{"vkGetDeviceProcAddr", (void *) get},
                 {"vkCreateDevice", (void *) create_device},
                 {"vkGetPhysicalDeviceQueueFamilyProperties", (void *) families},
                 {"vkGetPhysicalDeviceProperties", (void *) properties},
                 {"vkEnumerateDeviceExtensionProperties", (void *) no_extensions},
                 {"vkCreateQueryPool", (void *) create_pool},
                 {"vkGetQueryPoolResults", (void *) get_results},
                 {"vkResetQueryPool", (void *) nothing},
                 {"vkGetCalibratedTimestampsEXT", NULL},
                 {"ggml_is_empty", (void *) is_empty}};
    (void) caller;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i].name, name) == 0) return table[i].function;
    }
    return strncmp(name, "vkCmd", 5) == 0 ? (void *) nothing : (void *) succeed;
}

static PFN_vkVoidFunction get(VkDevice device, const char * name) {
    (void) device;
    return (PFN_vkVoidFunction) ggs_resolve_name(name, NULL);
}

// ---- what the folder wants of the capture library ----

_Thread_local struct ggs_nesting ggs_in            = {.depth = 1, .run = 1};
int                              ggs_capture_state = GGS_CAPTURE_RECORDING;
struct abi_functions             ggs_engine;
_Thread_local void *             ggs_resolve_last;
_Thread_local const void *       ggscope_caller;
uintptr_t                        ggs_resolve_other[2];

void ggs_capture_stop_full(void) {}

bool ggs_cuda_begin(struct ggs_device_run * run) {
    (void) run;
    return false;
}

void ggs_cuda_generates(void) {}

int ggs_journal_append(unsigned type, const struct ggs_piece * pieces, unsigned n) {
    static char copy[NODES * 64];
    (void) type;
    for (unsigned i = 0; i < n; i++)
        if (pieces[i].bytes <= sizeof(copy)) memcpy(copy, pieces[i].data, pieces[i].bytes);
    return 0;
}

void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller) {
    hook->bindings[0] = (struct ggs_binding){0, UINTPTR_MAX, ggs_resolve_name(hook->name, caller)};
    __atomic_store_n(&hook->n_bindings, 1, __ATOMIC_RELEASE);
    return hook->bindings[0].function;
}

// ---- the measurement ----

bool                           ggml_is_empty(const struct abi_tensor * node);
void                           ggml_backend_synchronize(void * backend);
VKAPI_ATTR void VKAPI_CALL     vkCmdDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z);
VKAPI_ATTR VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer buffer);
VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                                              const VkAllocationCallbacks * allocator, VkDevice * handle);

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

// A loop over a graph as the backend has it: it asks for the node, and records a command for it.
static double one_round(const struct abi_graph * graph) {
    static void * backend;
    uint64_t      begin = cpu_ns();
    for (int r = 0; r < RUNS; r++) {
        ggs_device_begin(&backend, graph);
        for (int i = 0; i < NODES; i++) {
            if (ggml_is_empty(graph->nodes[i])) continue;
            vkCmdDispatch((VkCommandBuffer) &dispatch_key, 1, 1, 1);
        }
        vkEndCommandBuffer((VkCommandBuffer) &dispatch_key);
        ggs_device_end();
        ggs_device_results(&backend);
    }
    return (double) (cpu_ns() - begin) / (NODES * (double) RUNS);
}

int main(void) {
    static struct abi_tensor         tensors[NODES];
    static struct abi_tensor *       nodes[NODES];
    struct abi_graph                 graph = {.n_nodes = NODES, .nodes = nodes};
    double                           rounds[ROUNDS];
    VkDevice                         device;
    VkDeviceQueueCreateInfo          queue    = {.queueFamilyIndex = 0};
    VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .hostQueryReset = VK_TRUE};
    VkDeviceCreateInfo info = {.pNext = &features, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    for (int i = 0; i < NODES; i++) nodes[i] = &tensors[i];
    ggs_engine.backend_name = name_of;
    if (vkCreateDevice(VK_NULL_HANDLE, &info, NULL, &device) != VK_SUCCESS) return 1;
    for (int i = 0; i < ROUNDS; i++) rounds[i] = one_round(&graph);
    if (ticks == 0) {
        fprintf(stderr, "bench-vulkan: no stamp was read\n");
        return 1;
    }
    qsort(rounds, ROUNDS, sizeof(rounds[0]), by_value);
    printf("{\"cpu_ns_per_node\": %.1f, \"least\": %.1f, \"wanted\": 150, \"stamps_per_node\": %.2f}\n",
           rounds[ROUNDS / 2], rounds[0], (double) ticks / ((double) NODES * RUNS * ROUNDS));
    return rounds[0] <= 150 ? 0 : 1;
}
