#include "vulkan-stand-in.h"

#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "preload/resolve.h"

// ---- the loader ----

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

// The loader puts the same pointer first into every handle of a device.
static void * handles[STAND_IN_DEVICES];

static VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                              const VkAllocationCallbacks * allocator, VkDevice * handle) {
    (void) physical, (void) info, (void) allocator;
    for (unsigned i = 0; i < STAND_IN_DEVICES; i++) {
        if (handles[i] != NULL) continue;
        handles[i] = &handles[i];
        *handle    = (VkDevice) &handles[i];
        return VK_SUCCESS;
    }
    return VK_ERROR_TOO_MANY_OBJECTS;
}

static void destroy_device(VkDevice handle, const VkAllocationCallbacks * allocator) {
    (void) allocator;
    *(void **) handle = NULL;
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

const void * ggs_resolve_outside(const void * caller) {
    return caller;
}

void * ggs_resolve_name(const char * name, const void * caller) {
    static const struct {
        const char * name;
        void *       function;
    } table[] = {{"vkGetDeviceProcAddr", (void *) get},
                 {"vkCreateDevice", (void *) create_device},
                 {"vkDestroyDevice", (void *) destroy_device},
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

// ---- devices for a test ----

VkDevice stand_in_create(void) {
    VkDeviceQueueCreateInfo          queue    = {.queueFamilyIndex = 0};
    VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .hostQueryReset = VK_TRUE};
    VkDeviceCreateInfo info = {.pNext = &features, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    VkDevice           device;
    return vkCreateDevice(VK_NULL_HANDLE, &info, NULL, &device) == VK_SUCCESS ? device : VK_NULL_HANDLE;
}

void stand_in_destroy(VkDevice device) {
    vkDestroyDevice(device, NULL);
}

uint64_t stand_in_results(void) {
    return ticks;
}

// ---- the capture library ----

_Thread_local struct ggs_nesting ggs_in            = {.depth = 1, .run = 1};
int                              ggs_capture_state = GGS_CAPTURE_RECORDING;
struct ggs_capture_settings      ggs_capture;
struct abi_functions             ggs_engine;
_Thread_local void *             ggs_resolve_last;
_Thread_local const void *       ggscope_caller;
uintptr_t                        ggs_resolve_other[2];

void ggs_capture_stop_full(void) {}

const struct ggs_backend_kind ggs_backend_kind_cuda = {.asks = true};
const struct ggs_backend_kind ggs_backend_kind_rpc  = {.asks = false};

int ggs_journal_append(unsigned type, const struct ggs_piece * pieces, unsigned n) {
    static char copy[65536];
    (void) type;
    for (unsigned i = 0; i < n; i++)
        if (pieces[i].bytes <= sizeof(copy)) memcpy(copy, pieces[i].data, pieces[i].bytes);
    return 0;
}

void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller) {
    hook->first = (struct ggs_binding){0, UINTPTR_MAX, ggs_resolve_name(hook->name, caller), NULL};
    return hook->first.function;
}
