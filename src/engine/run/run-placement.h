// Where the weights of a model go: -ngl, --device, --split-mode, --main-gpu and --override-tensor
// as llama.cpp spells them.
#pragma once

#include <llama.h>

struct ggs_error;
struct ggs_run_options;

enum { GGS_PLACEMENT_MOST = 64 }; // devices, and overrides

struct ggs_placement {
    ggml_backend_dev_t devices[GGS_PLACEMENT_MOST + 1]; // NULL at the end
#ifdef HAVE_LLAMA_TENSOR_OVERRIDES
    struct llama_model_tensor_buft_override overrides[GGS_PLACEMENT_MOST + 1];
#endif
    char * patterns; // what the overrides point into
};

// Fills `placement`, which the engine reads while it loads, and the members of `params` that are
// about placing. Without any option: no device at all, even if the engine has a backend for one.
int  ggs_placement_apply(struct ggs_placement * placement, const struct ggs_run_options * options,
                         struct llama_model_params * params, struct ggs_error * error);
void ggs_placement_release(struct ggs_placement * placement);
