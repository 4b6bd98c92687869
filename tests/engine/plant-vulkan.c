// A preload library for tests: a bug in a kernel of the Vulkan backend. Numbers that the host hands
// to the kernel as push constants are changed.
//
//     PLANT=fused,EPSILON,REGEX     the epsilon of RMS_NORM, only in the kernel that also multiplies;
//                                   REGEX is on "OP:tensor" of the MUL
//     PLANT=constant,FACTOR,REGEX   all floating-point parameters of the ops that match
//
// Where it stands before the capture library in LD_PRELOAD, it calls that one's functions by jumps,
// so that these see the engine as their caller.
#include <dlfcn.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "ggml.h"

struct ggml_cgraph;
struct ggml_tensor * ggml_graph_node(struct ggml_cgraph * graph, int i);
int                  ggml_graph_n_nodes(struct ggml_cgraph * graph);

static struct {
    bool    on, fused;
    float   number;
    regex_t where;
} plant;
static _Thread_local struct ggml_cgraph *       graph;
static _Thread_local const struct ggml_tensor * head; // the node that the backend has come to

__attribute__((constructor)) static void configure(void) {
    const char * text = getenv("PLANT");
    char         kind[16], where[256];
    if (text == NULL || sscanf(text, "%15[^,],%f,%255[^\n]", kind, &plant.number, where) != 3) return;
    plant.fused = strcmp(kind, "fused") == 0;
    plant.on    = regcomp(&plant.where, where, REG_EXTENDED | REG_NOSUB) == 0;
}

#define NEXT(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

// The capture library's function if that is there, else the loader's own, which is not among the
// program's global symbols.
static void * next_vulkan(const char * name) {
    void * next = dlsym(RTLD_NEXT, name);
    void * real = next != NULL ? NULL : dlopen("libvulkan.so.1", RTLD_NOLOAD | RTLD_LAZY);
    return real == NULL ? next : dlsym(real, name);
}

// ---- what is changed ----

static const char * op_name(const struct ggml_tensor * t) {
    return NEXT(ggml_op_name)(t->op);
}

static bool is_planted(const struct ggml_tensor * t) {
    char text[256];
    bool nameless = t->name[0] == '\0' || strncmp(t->name, "node_", 5) == 0;
    snprintf(text, sizeof(text), "%s:%s", op_name(t), nameless && t->src[0] != NULL ? t->src[0]->name : t->name);
    return regexec(&plant.where, text, 0, NULL, 0) == 0;
}

// The MUL behind the node under way.
static const struct ggml_tensor * multiplied_by(void) {
    int n = graph == NULL ? 0 : NEXT(ggml_graph_n_nodes)(graph);
    for (int i = 0; i + 1 < n; i++) {
        const struct ggml_tensor * next = NEXT(ggml_graph_node)(graph, i + 1);
        if (NEXT(ggml_graph_node)(graph, i) != head) continue;
        return strcmp(op_name(next), "MUL") == 0 && (next->src[0] == head || next->src[1] == head) ? next : NULL;
    }
    return NULL;
}

static bool is_parameter(float x, unsigned * index) {
    for (*index = 0; *index < GGML_MAX_OP_PARAMS / 4; ++*index) {
        float own;
        memcpy(&own, (const char *) head->op_params + 4 * *index, 4);
        if (own == x && x != 0) return true;
    }
    return false;
}

static bool is_wanted(void) {
    if (!plant.on || head == NULL) return false;
    if (!plant.fused) return is_planted(head);
    const struct ggml_tensor * with = strcmp(op_name(head), "RMS_NORM") == 0 ? multiplied_by() : NULL;
    return with != NULL && is_planted(with);
}

static bool change(uint32_t * words, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        float    x;
        unsigned index;
        memcpy(&x, &words[i], 4);
        // Integers look like tiny numbers.
        if ((x > -1e-30f && x < 1e-30f) || !is_parameter(x, &index) || (plant.fused && index != 0)) continue;
        x   = plant.fused ? plant.number : x * plant.number;
        any = true;
        memcpy(&words[i], &x, 4);
    }
    return any;
}

// ---- Vulkan ----

static void * real_vulkan(const char * name) {
    return dlsym(dlopen("libvulkan.so.1", RTLD_NOLOAD | RTLD_LAZY), name);
}

// The kernel of RMS_NORM multiplies if its second specialization constant is 1.
enum { MOST = 1024 };
static VkPipeline multiplying[MOST];
static unsigned   n_multiplying;

static VkResult create(VkDevice device, VkPipelineCache cache, uint32_t n, const VkComputePipelineCreateInfo * infos,
                       const VkAllocationCallbacks * allocator, VkPipeline * pipelines) {
    static PFN_vkCreateComputePipelines real;
    if (real == NULL) *(void **) &real = real_vulkan("vkCreateComputePipelines");
    VkResult result = real(device, cache, n, infos, allocator, pipelines);
    for (uint32_t i = 0; result == VK_SUCCESS && i < n; i++) {
        const VkSpecializationInfo * constants = infos[i].stage.pSpecializationInfo;
        uint32_t                     second    = 0;
        if (constants == NULL || constants->dataSize < 8) continue;
        memcpy(&second, (const char *) constants->pData + 4, 4);
        unsigned place = second == 1 ? __atomic_fetch_add(&n_multiplying, 1, __ATOMIC_RELAXED) : MOST;
        if (place < MOST) multiplying[place] = pipelines[i];
    }
    return result;
}

static _Thread_local struct {
    VkCommandBuffer    commands;
    VkPipelineLayout   layout;
    VkShaderStageFlags stages;
    uint32_t           size; // 0: nothing that is to be changed
    uint32_t           words[64];
} given;
static PFN_vkCmdPushConstants real_push;

// The engine hands over constants first, and then the kernel that gets them.
static void push(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset,
                 uint32_t size, const void * data) {
    if (real_push == NULL) *(void **) &real_push = real_vulkan("vkCmdPushConstants");
    real_push(commands, layout, stages, offset, size, data);
    given.size = 0;
    if (offset != 0 || size > sizeof(given.words) || !is_wanted()) return;
    memcpy(given.words, data, size);
    given.commands = commands, given.layout = layout, given.stages = stages;
    given.size = change(given.words, size / 4) ? size : 0;
}

static void bind(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
    static PFN_vkCmdBindPipeline real;
    bool                         right = !plant.fused;
    if (real == NULL) *(void **) &real = real_vulkan("vkCmdBindPipeline");
    real(commands, point, pipeline);
    for (unsigned i = 0; i < n_multiplying && i < MOST; i++) right |= multiplying[i] == pipeline;
    if (right && given.size != 0 && given.commands == commands)
        real_push(commands, given.layout, given.stages, 0, given.size, given.words);
    given.size = 0;
}

// ---- hooks ----

typedef void (*function)(void);
static function own_of(const char * name) {
    if (strcmp(name, "vkCmdPushConstants") == 0) return (function) push;
    if (strcmp(name, "vkCmdBindPipeline") == 0) return (function) bind;
    return strcmp(name, "vkCreateComputePipelines") == 0 ? (function) create : NULL;
}

function vkGetDeviceProcAddr(void * device, const char * name);
function vkGetDeviceProcAddr(void * device, const char * name) {
    static function (*next)(void *, const char *);
    if (next == NULL) *(void **) &next = next_vulkan("vkGetDeviceProcAddr");
    function own = own_of(name);
    if (own != NULL) return own;
    return next(device, name);
}

function vkGetInstanceProcAddr(void * instance, const char * name);
function vkGetInstanceProcAddr(void * instance, const char * name) {
    static function (*next)(void *, const char *);
    if (next == NULL) *(void **) &next = next_vulkan("vkGetInstanceProcAddr");
    function own = own_of(name);
    if (own != NULL) return own;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (function) vkGetDeviceProcAddr;
    return next(instance, name);
}

bool ggml_is_empty(const struct ggml_tensor * t) {
    head = t;
    return NEXT(ggml_is_empty)(t);
}

int ggml_backend_graph_compute_async(void * backend, struct ggml_cgraph * given_graph);
int ggml_backend_graph_compute_async(void * backend, struct ggml_cgraph * given_graph) {
    graph = given_graph;
    return NEXT(ggml_backend_graph_compute_async)(backend, given_graph);
}

int ggml_backend_graph_compute(void * backend, struct ggml_cgraph * given_graph);
int ggml_backend_graph_compute(void * backend, struct ggml_cgraph * given_graph) {
    graph = given_graph;
    return NEXT(ggml_backend_graph_compute)(backend, given_graph);
}
