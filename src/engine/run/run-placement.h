// Placement of a model's weights: -ngl, --device, --split-mode, --main-gpu and --override-tensor,
// with llama.cpp's syntax.
#pragma once

#include <llama.h>

struct ggs_error;
struct ggs_run_options;

enum { GGS_PLACEMENT_MOST = 64 }; // maximum of devices, and of overrides

struct ggs_placement {
    ggml_backend_dev_t devices[GGS_PLACEMENT_MOST + 1]; // NULL-terminated
#ifdef HAVE_LLAMA_TENSOR_OVERRIDES
    struct llama_model_tensor_buft_override overrides[GGS_PLACEMENT_MOST + 1];
#endif
    char * patterns; // storage of the overrides' patterns
};

// Fills `placement`, which the engine reads while it loads, and the placement members of `params`.
// Without options no device is used, even if the engine has a backend for one.
int  ggs_placement_apply(struct ggs_placement * placement, const struct ggs_run_options * options,
                         struct llama_model_params * params, struct ggs_error * error);
void ggs_placement_release(struct ggs_placement * placement);
