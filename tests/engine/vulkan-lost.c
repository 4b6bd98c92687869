// Stands in for libvulkan.so.1 and forwards to the real one (VULKAN_REAL), but after VULKAN_SUBMITS
// submissions the device is lost: every later submission, and every wait, says so. The engine finds
// it by LD_LIBRARY_PATH.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#define EXPORT __attribute__((visibility("default")))

static int submits; // so far

static void * real(const char * name) {
    static void * library;
    if (library == NULL) library = dlopen(getenv("VULKAN_REAL"), RTLD_NOW | RTLD_LOCAL);
    void * function = library == NULL ? NULL : dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "vulkan-lost: VULKAN_REAL has no %s\n", name);
        abort();
    }
    return function;
}

static int is_lost(void) {
    const char * most = getenv("VULKAN_SUBMITS");
    return most != NULL && submits > atoi(most);
}

static PFN_vkQueueSubmit   real_submit;
static PFN_vkWaitForFences real_wait;

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t n, const VkSubmitInfo * infos, VkFence fence) {
    __atomic_add_fetch(&submits, 1, __ATOMIC_RELAXED);
    return is_lost() ? VK_ERROR_DEVICE_LOST : real_submit(queue, n, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for(VkDevice handle, uint32_t n, const VkFence * fences, VkBool32 all,
                                               uint64_t timeout) {
    return is_lost() ? VK_ERROR_DEVICE_LOST : real_wait(handle, n, fences, all, timeout);
}

// Returns the function, or its replacement.
static PFN_vkVoidFunction in_place_of(const char * name, PFN_vkVoidFunction function) {
    if (function != NULL && strcmp(name, "vkQueueSubmit") == 0) {
        real_submit = (PFN_vkQueueSubmit) function;
        return (PFN_vkVoidFunction) submit;
    }
    if (function != NULL && strcmp(name, "vkWaitForFences") == 0) {
        real_wait = (PFN_vkWaitForFences) function;
        return (PFN_vkVoidFunction) wait_for;
    }
    return function;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice handle, const char * name) {
    return in_place_of(name, ((PFN_vkGetDeviceProcAddr) real("vkGetDeviceProcAddr"))(handle, name));
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char * name) {
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction) vkGetDeviceProcAddr;
    return in_place_of(name, ((PFN_vkGetInstanceProcAddr) real("vkGetInstanceProcAddr"))(instance, name));
}

// Functions that the engine and the capture library look up by name.
EXPORT VKAPI_ATTR void VKAPI_CALL vkCmdCopyBuffer(VkCommandBuffer buffer, VkBuffer from, VkBuffer to, uint32_t n,
                                                  const VkBufferCopy * regions) {
    ((PFN_vkCmdCopyBuffer) real("vkCmdCopyBuffer"))(buffer, from, to, n, regions);
}
EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceFeatures2(VkPhysicalDevice            physical,
                                                               VkPhysicalDeviceFeatures2 * features) {
    ((PFN_vkGetPhysicalDeviceFeatures2) real("vkGetPhysicalDeviceFeatures2"))(physical, features);
}
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                                                     const VkAllocationCallbacks * allocator, VkDevice * handle) {
    return ((PFN_vkCreateDevice) real("vkCreateDevice"))(physical, info, allocator, handle);
}
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice physical,
                                                                           const char * layer, uint32_t * n,
                                                                           VkExtensionProperties * list) {
    return ((PFN_vkEnumerateDeviceExtensionProperties) real("vkEnumerateDeviceExtensionProperties"))(physical, layer, n,
                                                                                                     list);
}
EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice             physical,
                                                                VkPhysicalDeviceProperties * properties) {
    ((PFN_vkGetPhysicalDeviceProperties) real("vkGetPhysicalDeviceProperties"))(physical, properties);
}
EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice physical, uint32_t * n,
                                                                           VkQueueFamilyProperties * families) {
    ((PFN_vkGetPhysicalDeviceQueueFamilyProperties) real("vkGetPhysicalDeviceQueueFamilyProperties"))(physical, n,
                                                                                                      families);
}
