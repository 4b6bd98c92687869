// The parts of CUPTI and of the CUDA driver that cuda.c uses, declared here so that building needs
// no CUDA. The layouts are those of CUDA 12 and 13, where the members below have the same offsets;
// cuda.c refuses other versions.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_VERSION_LEAST = 18,     // CUDA 12.0
    CUPTI_VERSION_NEW   = 120000, // later versions are 1000 times the release
    CUPTI_VERSION_END   = 140000,

    CUPTI_DOMAIN_DRIVER     = 1,
    CUPTI_DOMAIN_RESOURCE   = 3,
    CUPTI_GRAPH_NODE_CLONED = 20,
    CUPTI_SITE_EXIT         = 1,

    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_KERNEL = 10,

    CUDA_CAPTURE_ACTIVE = 1,
};

struct cupti_callback {
    int32_t      site;
    const char * function;
    const void * parameters;
    void *       result;
    const char * symbol;
    void *       context;
    uint32_t     context_id;
    uint64_t *   data;
    uint32_t     correlation;
};
_Static_assert(offsetof(struct cupti_callback, correlation) == 64, "layout");

struct cupti_resource {
    void *                          context;
    void *                          handle;
    const struct cupti_graph_data * descriptor;
};

struct cupti_graph_data {
    void *  graph;
    void *  original_graph;
    void *  node;
    void *  original_node;
    int32_t type;
};
_Static_assert(offsetof(struct cupti_graph_data, original_node) == 24, "layout");

struct cupti_kernel {
    uint32_t     kind;
    uint8_t      unused0[12];
    uint64_t     start, end;
    uint64_t     completed;
    uint32_t     device, context, stream;
    int32_t      grid[3], block[3];
    uint8_t      unused1[16];
    uint32_t     correlation;
    uint8_t      unused2[8];
    const char * name;
    uint8_t      unused3[32];
    uint64_t     graph_node;
};
_Static_assert(offsetof(struct cupti_kernel, stream) == 48, "layout");
_Static_assert(offsetof(struct cupti_kernel, correlation) == 92, "layout");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "layout");
_Static_assert(offsetof(struct cupti_kernel, graph_node) == 144, "layout");

struct cupti_transfer { // copies and sets
    uint32_t kind;
    uint8_t  unused0[4];
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint8_t  unused1[16];
    uint64_t graph_node;
};
_Static_assert(offsetof(struct cupti_transfer, correlation) == 44, "layout");
_Static_assert(offsetof(struct cupti_transfer, graph_node) == 64, "layout");

typedef void (*cupti_callback_function)(void * user, int domain, uint32_t id, const void * data);
typedef void (*cupti_buffer_wanted)(uint8_t ** buffer, size_t * size, size_t * records);
typedef void (*cupti_buffer_full)(void * context, uint32_t stream, uint8_t * buffer, size_t size, size_t used);
typedef uint64_t (*cupti_clock)(void);

// Functions of libcupti. They return 0 for success.
#define CUPTI_FUNCTIONS(F)                                                                       \
    F(int, cuptiGetVersion, (uint32_t * version))                                                \
    F(int, cuptiSubscribe, (void ** subscriber, cupti_callback_function callback, void * user))  \
    F(int, cuptiUnsubscribe, (void * subscriber))                                                \
    F(int, cuptiEnableCallback, (uint32_t on, void * subscriber, int domain, uint32_t id))       \
    F(int, cuptiActivityRegisterCallbacks, (cupti_buffer_wanted wanted, cupti_buffer_full full)) \
    F(int, cuptiActivityRegisterTimestampCallback, (cupti_clock clock))                          \
    F(int, cuptiActivityEnable, (uint32_t kind))                                                 \
    F(int, cuptiActivityDisable, (uint32_t kind))                                                \
    F(int, cuptiActivityFlushAll, (uint32_t flag))                                               \
    F(int, cuptiActivityGetNextRecord, (uint8_t * buffer, size_t used, void ** record))          \
    F(int, cuptiGetGraphNodeId, (void * node, uint64_t * id))                                    \
    F(int, cuptiFinalize, (void) )

typedef int (*cuda_capture_info)(void * stream, int * status, uint64_t * id, void ** graph, void * const ** nodes,
                                 size_t * n_nodes); // cuStreamGetCaptureInfo_v2

// Driver calls that put work into a stream, and where their parameters have the stream.
struct cuda_launch {
    uint32_t id;
    uint32_t stream;   // offset of the stream
    uint32_t indirect; // 1: the first parameter points to a structure that holds it
};

enum { CUDA_GRAPH_LAUNCH = 514, CUDA_GRAPH_LAUNCH_PER_THREAD = 515 };

static const struct cuda_launch cuda_launches[] = {
    {307, 40, 0}, {442, 40, 0}, // cuLaunchKernel, and with a default stream per thread
    {652, 32, 1}, {653, 32, 1}, // cuLaunchKernelEx
    {306, 24, 0}, {418, 24, 0}, // cuMemcpyAsync
    {277, 24, 0}, {421, 24, 0}, // cuMemcpyHtoDAsync
    {279, 24, 0}, {422, 24, 0}, // cuMemcpyDtoHAsync
    {281, 24, 0}, {423, 24, 0}, // cuMemcpyDtoDAsync
    {289, 8, 0},  {424, 8, 0},  // cuMemcpy2DAsync
    {291, 8, 0},  {425, 8, 0},  // cuMemcpy3DAsync
    {319, 40, 0}, {426, 40, 0}, // cuMemcpyPeerAsync
    {216, 24, 0}, {428, 24, 0}, // cuMemsetD8Async
    {218, 24, 0}, {429, 24, 0}, // cuMemsetD16Async
    {220, 24, 0}, {430, 24, 0}, // cuMemsetD32Async
};
