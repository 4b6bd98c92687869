// Engine structures that are read by layout, and the check of the layout.
//
// Everything else uses the engine's functions. The layouts are those of ggml from January 2025 on.
// ggs_abi_open compares them with the running library; call it before reading any of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ABI_DIMS = 4, ABI_SOURCES = 10, ABI_PARAMS = 16, ABI_NAME = 64 };

struct abi_tensor {
    int32_t             type;
    void *              buffer;
    int64_t             ne[ABI_DIMS];
    size_t              nb[ABI_DIMS];
    int32_t             op;
    int32_t             op_params[ABI_PARAMS];
    int32_t             flags;
    struct abi_tensor * src[ABI_SOURCES];
    struct abi_tensor * view_src;
    size_t              view_offs;
    void *              data;
    char                name[ABI_NAME];
};

struct abi_graph {
    int32_t              size;
    int32_t              n_nodes;
    int32_t              n_leafs;
    struct abi_tensor ** nodes;
};

struct abi_plan {
    size_t    work_size;
    uint8_t * work_data;
    int32_t   n_threads;
    void *    threadpool;
    _Bool (*abort)(void * data); // called by thread 0 after every node; true aborts the run
    void * abort_data;
};

struct abi_params {
    int32_t ith, nth;
    size_t  wsize;
    void *  wdata;
    void *  threadpool;
};

struct abi_batch {
    int32_t    n_tokens;
    int32_t *  token;
    float *    embd;
    int32_t *  pos;
    int32_t *  n_seq_id;
    int32_t ** seq_id;
    int8_t *   logits;
};

// A structure passed by value lies in the caller's frame. Declaring it larger than in any release
// copies some extra bytes, which the callee ignores, so releases may extend it.
union abi_by_value {
    struct abi_batch batch;
    char             room[512];
};

struct abi_gguf_params {
    _Bool  no_alloc;
    void * context; // NULL: makes no tensors
};

// Functions of the engine that the preload libraries call, from the library whose call is
// intercepted.
struct abi_functions {
    const char * (*op_name)(int op);
    const char * (*type_name)(int type);
    size_t (*type_size)(int type);
    int64_t (*block_size)(int type);
    int (*graph_n_nodes)(void * graph);
    struct abi_tensor * (*graph_node)(void * graph, int i);
    const char * (*backend_name)(void * backend);
    void * (*buffer_base)(void * buffer);
    size_t (*buffer_size)(void * buffer);
    void * (*buffer_type)(void * buffer);
    _Bool (*buffer_is_host)(void * buffer);
    const char * (*buffer_type_name)(void * type);
    size_t (*buffer_type_alloc_size)(void *                    type,
                                     const struct abi_tensor * tensor); // NULL in releases without it
    // of devices; NULL in releases without them
    void * (*backend_device)(void * backend);
    void * (*buffer_type_device)(void * type);
    const char * (*device_name)(void * device);
    const char * (*device_description)(void * device);
    int (*device_type)(void * device); // ggml's: 0 CPU, 1 GPU, 2 GPU that shares the CPU's memory, 3 accelerator
    void (*device_memory)(void * device, size_t * free, size_t * total);
    const char * (*version)(void); // NULL in releases without it
    const char * (*commit)(void);
    // contents of a model file
    void * (*gguf_open)(const char * path, struct abi_gguf_params params);
    void (*gguf_free)(void * gguf);
    int64_t (*gguf_find)(const void * gguf, const char * tensor); // -1: none
    int (*gguf_type)(const void * gguf, int64_t tensor);
    size_t (*gguf_offset)(const void * gguf, int64_t tensor); // relative to the start of the data
    size_t (*gguf_data)(const void * gguf);
};

extern struct abi_functions ggs_engine; // valid once ggs_abi_open has returned NULL

// Sets the functions of an engine without symbols, for callers in [low, low + size). Call it before
// ggs_abi_open. The functions must live as long as the process.
void ggs_abi_adopt(const struct abi_functions * functions, uintptr_t low, uintptr_t size);

// Looks up the functions as the library around `caller` would, and checks the tensor layout: it
// makes a tensor through the public API and reads it back. Returns NULL, or half a sentence about
// the mismatch, which lives as long as the process. Not thread-safe.
const char * ggs_abi_open(const void * caller);
// An address inside the engine that was opened.
const void * ggs_abi_address(void);
// The engine's version string.
const char * ggs_abi_version(void);
// Returns another function of the opened engine; NULL if it has none of that name.
void * ggs_abi_find(const char * name);
