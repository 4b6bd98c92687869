// The kinds of ggml backends that are not treated as unknown devices: a row of GGS_BACKENDS each. A
// file of src/capture/device has the functions of a kind. Nothing else tests for a backend's name.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_backend_traits {
    const char * library; // "cuda" of libggml-cuda.so
    const char * prefix;  // prefix of the names of its backends and buffers: "CUDA" of "CUDA0"
    // It computes on another machine that answers in order: an empty queue proves nothing, an
    // answer proves that all earlier work is done.
    bool remote;

    // For `ggscope doctor`: what is recorded of a library whose loop over a graph calls
    // ggml_is_empty. NULL: no more than of an unknown device.
    const char * recorded;
    // A library of the vendor that recording needs; NULL for none.
    struct {
        const char * libraries; // any of these, separated by ':'
        const char * folders;   // where they are, besides LD_LIBRARY_PATH, separated by ':'
        const char * without;   // what is recorded if none is found
        const char * install;   // packages that have it
    } tool;
};

// clang-format off
#define GGS_BACKENDS(ROW)                                                                                   \
    ROW(cuda, .prefix = "CUDA",                                                                             \
        .recorded = "ops and kernels with their times on the device, in the runs of --gpu-ops",             \
        .tool = {.libraries = "libcupti.so.12:libcupti.so.13",                                              \
                 .folders   = "/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64:"                   \
                              "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:"            \
                              "/usr/local/lib",                                                             \
                 .without   = "whole graph runs; ops and kernels need libcupti, which is not in the usual " \
                              "folders",                                                                    \
                 .install   = "cuda-cupti, or nvidia-cuda-cupti"})                                          \
    ROW(rpc, .prefix = "RPC", .remote = true)                                                               \
    ROW(vulkan, .prefix = "Vulkan", .recorded = "every op, with its times on the device")
// clang-format on

extern const struct ggs_backend_traits ggs_backend_traits[]; // ends with a NULL library

// Returns the traits of a library by its name, "cuda"; NULL if unknown.
const struct ggs_backend_traits * ggs_backend_traits_of_library(const char * library);
// Returns the traits of a backend or buffer by its name, "CUDA0"; NULL for an unknown device.
const struct ggs_backend_traits * ggs_backend_traits_of(const char * name);
// True for the name of a backend or buffer on another machine.
bool ggs_backend_is_remote(const char * name);
