// A Vulkan loader whose functions do nothing, and what src/capture/device wants of the rest of the
// capture library: for programs that use these files by themselves.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "preload/ggml-abi.h"

enum { STAND_IN_DEVICES = 4 };

// A device whose queries can be reset by the host. Its handle serves as that of its command buffers
// too.
VkDevice stand_in_create(void);
void     stand_in_destroy(VkDevice device);
// Queries whose results were read so far.
uint64_t stand_in_results(void);

// Functions of vulkan.c and device-hooks.c that the engine calls.
bool                           ggml_is_empty(const struct abi_tensor * node);
void                           ggml_backend_synchronize(void * backend);
VKAPI_ATTR void VKAPI_CALL     vkCmdDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z);
VKAPI_ATTR VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer buffer);
VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo * info,
                                              const VkAllocationCallbacks * allocator, VkDevice * handle);
VKAPI_ATTR void VKAPI_CALL     vkDestroyDevice(VkDevice handle, const VkAllocationCallbacks * allocator);
