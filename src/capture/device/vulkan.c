// Vulkan: time stamps in the engine's own command buffers.
//
// The engine gets Vulkan's functions from vkGetInstanceProcAddr and vkGetDeviceProcAddr, or imports
// them by name; both ways lead here. A command that a thread records during a graph run belongs to
// the node it is at. A time stamp at the top of the pipe precedes a node's first command. One at
// the bottom follows its last command, when the next node begins or the command buffer ends. The
// bottom waits for all earlier commands, so bottoms ascend, and a node runs from its own top or the
// previous bottom, whichever is later, to its own bottom.
//
// Stamps are queries of one pool per device, assigned to runs in blocks. They are read without
// waiting, after the engine itself has waited for the results, and reset by the host, or by a
// command before each use if the device lacks host resets.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/device.h"
#include "preload/resolve.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

enum { DEVICES_MOST = 16, BLOCK = 64, BLOCKS = 512 }; // enough for about twenty graphs of 700 nodes

// ---- devices ----

// Device functions that are hooked.
#define HOOKED(F)            \
    F(vkDestroyDevice)       \
    F(vkEndCommandBuffer)    \
    F(vkCmdDispatch)         \
    F(vkCmdDispatchIndirect) \
    F(vkCmdDispatchBase)     \
    F(vkCmdCopyBuffer)       \
    F(vkCmdFillBuffer)       \
    F(vkCmdUpdateBuffer)
// Further device functions that are called.
#define CALLED(F)            \
    F(vkCmdWriteTimestamp)   \
    F(vkCmdResetQueryPool)   \
    F(vkCreateQueryPool)     \
    F(vkDestroyQueryPool)    \
    F(vkGetQueryPoolResults) \
    F(vkResetQueryPool)      \
    F(vkGetCalibratedTimestampsEXT)

struct functions {
#define MEMBER(name) PFN_##name name;
    HOOKED(MEMBER) CALLED(MEMBER)
#undef MEMBER
};

struct device {
    void *           key;    // the loader's first word of every handle of a device; NULL if free
    uint64_t         serial; // number among all devices created; 0 if destroyed
    VkDevice         handle;
    struct functions real;
    VkQueryPool      pool; // VK_NULL_HANDLE: no time stamps on this device
    bool             host_reset;
    bool             calibrated;
    double           period; // ns per tick
    uint64_t         mask;   // valid bits of a stamp
    uint16_t         free_blocks[BLOCKS];
    unsigned         n_free;
    uint64_t         last_bottom; // the newest one read
    // Without calibration: device time * period + offset is CLOCK_MONOTONIC for an offset in
    // [least, most].
    double least, most;
};

// Protects the table, and the pool and blocks of each device.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device   devices[DEVICES_MOST];
static uint64_t        n_devices; // devices created so far

// `handle` is any dispatchable one: of the device, a queue or a command buffer.
static struct device * device_of(const void * handle) {
    void * key = *(void * const *) handle;
    for (unsigned i = 0; i < DEVICES_MOST; i++) {
        if (__atomic_load_n(&devices[i].key, __ATOMIC_ACQUIRE) == key) return &devices[i];
    }
    return NULL;
}

// The loader's own function, for handles of devices that are not in the table.
#define REAL(name, handle, caller)                                        \
    static PFN_##name real_##name;                                        \
    struct device *   device = device_of(handle);                         \
    PFN_##name        real   = device == NULL ? NULL : device->real.name; \
    if (real == NULL)                                                     \
    real = real_##name != NULL ? real_##name : (real_##name = (PFN_##name) ggs_resolve_name(#name, caller))

// ---- stamps of a run ----

struct stamps { // ggs_device_run.state
    struct device * device;
    uint64_t        serial; // of the device: another one may reuse its entry
    uint16_t        blocks[BLOCKS];
    unsigned        n_blocks;
    unsigned        used; // stamps used of the last block
    // The op whose commands are being recorded, and where its last stamp goes.
    VkCommandBuffer open;
    uint32_t        open_op;
};

// --gpu-ops none: no stamps. Ops have only the time when the host reached them.
static bool are_wanted(void) {
    return strcmp(ggs_capture.gpu_ops, "none") != 0;
}

static struct stamps * stamps_of(struct ggs_device_run * run, struct device * device) {
    struct stamps * stamps = run->state;
    if (!are_wanted()) return NULL;
    if (stamps == NULL) stamps = run->state = calloc(1, sizeof(*stamps));
    if (stamps == NULL) return NULL;
    if (!run->timed) {
        run->timed     = true;
        stamps->device = device;
        stamps->serial = device->serial;
    }
    bool same = stamps->device == device && stamps->serial == device->serial;
    return same && device->pool != VK_NULL_HANDLE ? stamps : NULL;
}

// Returns the next stamp, or UINT32_MAX if there is none left.
static uint32_t acquire_stamp(struct stamps * stamps) {
    struct device * device = stamps->device;
    if (stamps->n_blocks == 0 || stamps->used == BLOCK) {
        pthread_mutex_lock(&lock);
        bool got = device->n_free > 0 && stamps->n_blocks < BLOCKS;
        if (got) stamps->blocks[stamps->n_blocks++] = device->free_blocks[--device->n_free];
        pthread_mutex_unlock(&lock);
        if (!got) return UINT32_MAX;
        stamps->used = 0;
    }
    return (uint32_t) stamps->blocks[stamps->n_blocks - 1] * BLOCK + stamps->used++;
}

static uint32_t stamp(struct stamps * stamps, VkCommandBuffer buffer, VkPipelineStageFlagBits stage) {
    struct device * device = stamps->device;
    uint32_t        query  = acquire_stamp(stamps);
    if (query == UINT32_MAX) return query;
    if (!device->host_reset) device->real.vkCmdResetQueryPool(buffer, device->pool, query, 1);
    device->real.vkCmdWriteTimestamp(buffer, stage, device->pool, query);
    return query;
}

static void close_op(struct ggs_device_run * run) {
    struct stamps * stamps = run->state;
    if (stamps == NULL || stamps->open == NULL || stamps->device->serial != stamps->serial) return;
    uint32_t query = stamp(stamps, stamps->open, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    stamps->open   = NULL;
    if (query != UINT32_MAX) run->ops[stamps->open_op].last = query + 1;
}

// Called before a command is recorded.
static inline void on_command(struct device * device, VkCommandBuffer buffer) {
    struct ggs_device_run * run = ggs_device_current;
    if (__builtin_expect(run == NULL || device == NULL || run->n_ops == 0, 0)) return;
    if (run->kind != &ggs_backend_kind_vulkan) return; // another user of Vulkan in the process
    run->commands++;
    struct stamps * stamps = stamps_of(run, device);
    if (stamps == NULL || stamps->open == buffer) return;
    close_op(run); // the engine continues in another command buffer
    struct ggs_device_op * op    = &run->ops[run->n_ops - 1];
    uint32_t               query = stamp(stamps, buffer, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
    if (query == UINT32_MAX) return;
    if (op->first == 0) op->first = query + 1;
    op->last        = 0;
    stamps->open    = buffer;
    stamps->open_op = run->n_ops - 1;
}

// ---- reading stamps ----

// Device ticks to CLOCK_MONOTONIC: ns = ticks * period + offset.
static double offset_of(struct device * device, const struct ggs_device_run * run, uint64_t first, uint64_t last,
                        uint64_t * error_ns) {
    if (device->calibrated) {
        VkCalibratedTimestampInfoEXT infos[2] = {
            {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
            {.sType      = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
             .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT}};
        uint64_t now[2], deviation;
        if (device->real.vkGetCalibratedTimestampsEXT(device->handle, 2, infos, now, &deviation) == VK_SUCCESS) {
            *error_ns = deviation;
            return (double) now[1] - (double) (now[0] & device->mask) * device->period;
        }
    }
    // The run began after it was submitted and ended before its results arrived.
    double least = (double) run->begin_ns - (double) first * device->period;
    double most  = (double) run->results_ns - (double) last * device->period;
    if (least > device->least) device->least = least;
    if (most < device->most) device->most = most;
    if (device->least > device->most) device->least = least, device->most = most;
    *error_ns = (uint64_t) ((device->most - device->least) / 2);
    return (device->least + device->most) / 2;
}

// The results of one block: value, available.
struct answers {
    uint64_t values[BLOCK][2];
};

static const uint64_t * answer(const struct answers * answers, const struct stamps * stamps, uint64_t stamp_plus_1) {
    if (stamp_plus_1 == 0) return NULL;
    uint32_t query = (uint32_t) (stamp_plus_1 - 1);
    for (unsigned i = 0; i < stamps->n_blocks; i++) {
        if (stamps->blocks[i] != query / BLOCK) continue;
        const uint64_t * value = answers[i].values[query % BLOCK];
        return value[1] != 0 ? value : NULL;
    }
    return NULL;
}

// The caller holds the lock. Returns false if the device, and so its pool, is gone.
static bool has_device(const struct stamps * stamps) {
    return stamps != NULL && stamps->device != NULL && stamps->device->serial == stamps->serial;
}

// The caller holds the lock.
static void release_stamps(struct stamps * stamps) {
    struct device * device = stamps->device;
    for (unsigned i = 0; has_device(stamps) && i < stamps->n_blocks; i++) {
        if (device->host_reset)
            device->real.vkResetQueryPool(device->handle, device->pool, (uint32_t) stamps->blocks[i] * BLOCK, BLOCK);
        device->free_blocks[device->n_free++] = stamps->blocks[i];
    }
    *stamps = (struct stamps){0};
}

static void drop(struct ggs_device_run * run) {
    pthread_mutex_lock(&lock);
    if (run->state != NULL) release_stamps(run->state);
    pthread_mutex_unlock(&lock);
}

// Writes the stamps of the ops into begin_ns and end_ns, in device ticks.
static void read_ticks(struct ggs_device_run * run, const struct answers * answers, uint64_t * first, uint64_t * last) {
    struct stamps * stamps = run->state;
    struct device * device = stamps->device;
    uint64_t        before = 0; // bottom of the previous op
    *first = UINT64_MAX, *last = 0;
    for (uint32_t i = 0; i < run->n_ops; i++) {
        struct ggs_device_op * op  = &run->ops[i];
        const uint64_t *       top = answer(answers, stamps, op->first), *bottom = answer(answers, stamps, op->last);
        if (top == NULL || bottom == NULL) continue;
        uint64_t begin = top[0] & device->mask, end = bottom[0] & device->mask;
        if (begin < before) begin = before;
        // A run that shared the queue may have been read before: its time is not this op's.
        if (begin < device->last_bottom && device->last_bottom <= end) begin = device->last_bottom;
        if (end < begin) end = begin;
        before       = end;
        op->begin_ns = begin;
        op->end_ns   = end;
        if (begin < *first) *first = begin;
        if (end > *last) *last = end;
    }
}

// The caller holds the lock, and the device exists. NULL if out of memory.
static struct answers * query_stamps(const struct stamps * stamps) {
    const struct device * device  = stamps->device;
    struct answers *      answers = calloc(stamps->n_blocks, sizeof(*answers));
    for (unsigned i = 0; answers != NULL && i < stamps->n_blocks; i++) {
        uint32_t n = i + 1 == stamps->n_blocks ? stamps->used : BLOCK;
        device->real.vkGetQueryPoolResults(device->handle, device->pool, (uint32_t) stamps->blocks[i] * BLOCK, n,
                                           sizeof(answers[i]), answers[i].values, 2 * sizeof(uint64_t),
                                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    }
    return answers;
}

// The caller holds the lock, and the device exists.
static void read_times(struct ggs_device_run * run) {
    struct stamps *  stamps  = run->state;
    struct device *  device  = stamps->device;
    struct answers * answers = query_stamps(stamps);
    uint64_t         first = UINT64_MAX, last = 0;
    if (answers != NULL) read_ticks(run, answers, &first, &last);
    free(answers);
    if (last > device->last_bottom) device->last_bottom = last;
    if (first > last) return; // none was stamped
    double offset = offset_of(device, run, first, last, &run->clock_error_ns);
    for (uint32_t i = 0; i < run->n_ops; i++) {
        struct ggs_device_op * op = &run->ops[i];
        if (op->end_ns == 0) continue;
        op->begin_ns = (uint64_t) ((double) op->begin_ns * device->period + offset);
        op->end_ns   = (uint64_t) ((double) op->end_ns * device->period + offset);
    }
}

static bool read_stamps(struct ggs_device_run * run, unsigned waiting) {
    struct stamps * stamps = run->state;
    (void) waiting;
    pthread_mutex_lock(&lock);
    if (has_device(stamps) && stamps->n_blocks > 0) read_times(run);
    if (stamps != NULL) release_stamps(stamps);
    pthread_mutex_unlock(&lock);
    return true;
}

const struct ggs_backend_kind ggs_backend_kind_vulkan = {
    .asks = true, .node = close_op, .submitted = close_op, .read = read_stamps, .drop = drop};

// ---- hooks ----

#define COMMAND(name, parameters, arguments)            \
    EXPORT VKAPI_ATTR void VKAPI_CALL name parameters;  \
    EXPORT VKAPI_ATTR void VKAPI_CALL name parameters { \
        REAL(name, buffer, CALLER);                     \
        on_command(device, buffer);                     \
        real arguments;                                 \
    }

COMMAND(vkCmdDispatch, (VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z), (buffer, x, y, z))
COMMAND(vkCmdDispatchIndirect, (VkCommandBuffer buffer, VkBuffer from, VkDeviceSize offset), (buffer, from, offset))
COMMAND(vkCmdDispatchBase,
        (VkCommandBuffer buffer, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x, uint32_t y, uint32_t z),
        (buffer, bx, by, bz, x, y, z))
COMMAND(vkCmdCopyBuffer, (VkCommandBuffer buffer, VkBuffer from, VkBuffer to, uint32_t n, const VkBufferCopy * regions),
        (buffer, from, to, n, regions))
COMMAND(vkCmdFillBuffer, (VkCommandBuffer buffer, VkBuffer to, VkDeviceSize offset, VkDeviceSize size, uint32_t value),
        (buffer, to, offset, size, value))
COMMAND(vkCmdUpdateBuffer,
        (VkCommandBuffer buffer, VkBuffer to, VkDeviceSize offset, VkDeviceSize size, const void * data),
        (buffer, to, offset, size, data))

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer buffer);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer buffer) {
    REAL(vkEndCommandBuffer, buffer, CALLER);
    struct ggs_device_run * run = ggs_device_current;
    struct stamps * stamps = run == NULL || run->kind != &ggs_backend_kind_vulkan || !run->timed ? NULL : run->state;
    if (stamps != NULL && stamps->open == buffer) close_op(run);
    return real(buffer);
}

EXPORT VKAPI_ATTR void VKAPI_CALL vkDestroyDevice(VkDevice handle, const VkAllocationCallbacks * allocator);
EXPORT VKAPI_ATTR void VKAPI_CALL vkDestroyDevice(VkDevice handle, const VkAllocationCallbacks * allocator) {
    if (handle == VK_NULL_HANDLE) return; // as the specification has it
    REAL(vkDestroyDevice, handle, CALLER);
    if (device != NULL) {
        pthread_mutex_lock(&lock);
        if (device->pool != VK_NULL_HANDLE) device->real.vkDestroyQueryPool(handle, device->pool, NULL);
        device->pool   = VK_NULL_HANDLE;
        device->serial = 0;
        __atomic_store_n(&device->key, NULL, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&lock);
    }
    real(handle, allocator);
}

// ---- creation of a device ----

// The loader's functions, found as the engine's library finds them.
struct loader {
    PFN_vkGetDeviceProcAddr                      get;
    PFN_vkEnumerateDeviceExtensionProperties     extensions;
    PFN_vkGetPhysicalDeviceProperties            properties;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties families;
    PFN_vkCreateDevice                           create;
};

static const char CALIBRATED[] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;

static bool offers_calibration(const struct loader * loader, VkPhysicalDevice physical) {
    uint32_t n = 0;
    if (loader->extensions(physical, NULL, &n, NULL) != VK_SUCCESS || n == 0) return false;
    VkExtensionProperties * list  = calloc(n, sizeof(*list));
    bool                    found = false;
    if (list != NULL && loader->extensions(physical, NULL, &n, list) >= VK_SUCCESS) {
        for (uint32_t i = 0; i < n && !found; i++) found = strcmp(list[i].extensionName, CALIBRATED) == 0;
    }
    free(list);
    return found;
}

static bool asks_for(const VkDeviceCreateInfo * info, const char * extension) {
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        if (strcmp(info->ppEnabledExtensionNames[i], extension) == 0) return true;
    }
    return false;
}

// Enables the extension for calibrated clocks if the device has it; falls back to the engine's
// request.
static VkResult create(const struct loader * loader, VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                       const VkAllocationCallbacks * allocator, VkDevice * handle, bool * calibrated) {
    *calibrated = asks_for(info, CALIBRATED);
    if (*calibrated || !offers_calibration(loader, physical)) return loader->create(physical, info, allocator, handle);
    const char ** names = calloc(info->enabledExtensionCount + 1, sizeof(*names));
    if (names == NULL) return loader->create(physical, info, allocator, handle);
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) names[i] = info->ppEnabledExtensionNames[i];
    names[info->enabledExtensionCount] = CALIBRATED;
    VkDeviceCreateInfo more            = *info;
    more.ppEnabledExtensionNames       = names;
    more.enabledExtensionCount++;
    VkResult result = loader->create(physical, &more, allocator, handle);
    *calibrated     = result == VK_SUCCESS;
    if (result != VK_SUCCESS) result = loader->create(physical, info, allocator, handle);
    free(names);
    return result;
}

static bool resets_from_host(const VkDeviceCreateInfo * info) {
    for (const VkBaseInStructure * next = info->pNext; next != NULL; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            return ((const VkPhysicalDeviceVulkan12Features *) next)->hostQueryReset;
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES)
            return ((const VkPhysicalDeviceHostQueryResetFeatures *) next)->hostQueryReset;
    }
    return false;
}

// Valid bits of a stamp in all queue families that the engine requests.
static uint64_t valid_bits(const struct loader * loader, VkPhysicalDevice physical, const VkDeviceCreateInfo * info) {
    uint32_t n = 0;
    loader->families(physical, &n, NULL);
    VkQueueFamilyProperties * families = calloc(n + 1, sizeof(*families));
    if (families == NULL) return 0;
    loader->families(physical, &n, families);
    uint32_t bits = 64;
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++) {
        uint32_t family = info->pQueueCreateInfos[i].queueFamilyIndex;
        if (family < n && (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 &&
            families[family].timestampValidBits < bits)
            bits = families[family].timestampValidBits;
    }
    free(families);
    return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static void make_pool(struct device * device) {
    VkQueryPoolCreateInfo info = {.sType      = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType  = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = BLOCKS * BLOCK};
    if (device->mask == 0 || device->real.vkCreateQueryPool == NULL ||
        device->real.vkCreateQueryPool(device->handle, &info, NULL, &device->pool) != VK_SUCCESS)
        device->pool = VK_NULL_HANDLE;
    if (device->pool != VK_NULL_HANDLE && device->host_reset)
        device->real.vkResetQueryPool(device->handle, device->pool, 0, BLOCKS * BLOCK);
    for (unsigned i = 0; i < BLOCKS; i++) device->free_blocks[i] = (uint16_t) (BLOCKS - 1 - i);
    device->n_free = BLOCKS;
}

static void add_device(const struct loader * loader, VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                       VkDevice handle, bool calibrated) {
    VkPhysicalDeviceProperties properties;
    loader->properties(physical, &properties);
    pthread_mutex_lock(&lock);
    struct device * device = NULL;
    for (unsigned i = 0; i < DEVICES_MOST && device == NULL; i++) {
        if (devices[i].key == NULL) device = &devices[i];
    }
    if (device != NULL) {
        *device = (struct device){.serial = ++n_devices,
                                  .handle = handle,
                                  .period = properties.limits.timestampPeriod,
                                  .mask   = valid_bits(loader, physical, info),
                                  .least  = -1e300,
                                  .most   = 1e300};
#define LOOK_UP(name) device->real.name = (PFN_##name) loader->get(handle, #name);
        HOOKED(LOOK_UP)
        CALLED(LOOK_UP)
#undef LOOK_UP
        device->host_reset = resets_from_host(info) && device->real.vkResetQueryPool != NULL;
        device->calibrated = calibrated && device->real.vkGetCalibratedTimestampsEXT != NULL;
        make_pool(device);
        __atomic_store_n(&device->key, *(void **) handle, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                                                     const VkAllocationCallbacks * allocator, VkDevice * handle);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                                                     const VkAllocationCallbacks * allocator, VkDevice * handle) {
    static const struct {
        const char * name;
        size_t       at;
    } wanted[] = {{"vkGetDeviceProcAddr", offsetof(struct loader, get)},
                  {"vkEnumerateDeviceExtensionProperties", offsetof(struct loader, extensions)},
                  {"vkGetPhysicalDeviceProperties", offsetof(struct loader, properties)},
                  {"vkGetPhysicalDeviceQueueFamilyProperties", offsetof(struct loader, families)},
                  {"vkCreateDevice", offsetof(struct loader, create)}};
    struct loader loader;
    bool          complete = true, calibrated;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void * function = ggs_resolve_name(wanted[i].name, CALLER);
        memcpy((char *) &loader + wanted[i].at, &function, sizeof(function));
        complete = complete && function != NULL;
    }
    if (loader.create == NULL) return VK_ERROR_INITIALIZATION_FAILED;
    if (!complete || __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_OFF)
        return loader.create(physical, info, allocator, handle);
    VkResult result = create(&loader, physical, info, allocator, handle, &calibrated);
    if (result == VK_SUCCESS) add_device(&loader, physical, info, *handle, calibrated);
    return result;
}

// ---- lookup of functions ----

static PFN_vkVoidFunction ours(const char * name) {
    static const struct {
        const char *       name;
        PFN_vkVoidFunction function;
    } table[] = {{"vkCreateDevice", (PFN_vkVoidFunction) vkCreateDevice},
#define ROW(name) {#name, (PFN_vkVoidFunction) name},
                 HOOKED(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(name, table[i].name) == 0) return table[i].function;
    }
    return NULL;
}

static bool taking_over(void) {
    return __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) != GGS_CAPTURE_OFF;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice handle, const char * name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice handle, const char * name) {
    static struct ggs_hook  hook     = GGS_HOOK(hook, "vkGetDeviceProcAddr");
    PFN_vkGetDeviceProcAddr real     = (PFN_vkGetDeviceProcAddr) ggs_resolve(&hook, CALLER);
    PFN_vkVoidFunction      function = real == NULL ? NULL : real(handle, name);
    PFN_vkVoidFunction      own = function == NULL || !taking_over() || device_of(handle) == NULL ? NULL : ours(name);
    return own != NULL ? own : function;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char * name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char * name) {
    static struct ggs_hook    hook = GGS_HOOK(hook, "vkGetInstanceProcAddr");
    PFN_vkGetInstanceProcAddr real = (PFN_vkGetInstanceProcAddr) ggs_resolve(&hook, CALLER);
    if (real == NULL) return NULL;
    if (taking_over() && strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction) vkGetDeviceProcAddr;
    PFN_vkVoidFunction function = real(instance, name);
    PFN_vkVoidFunction own      = function == NULL || !taking_over() ? NULL : ours(name);
    return own != NULL ? own : function;
}
