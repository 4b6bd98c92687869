// Derives layer, category, component and expert of a tensor from its name.
//
// Names of weights follow one scheme in all architectures of llama.cpp:
//
//     blk.7.attn_q.weight           layer 7, attention, "Attention Q"
//     blk.7.attn_q.bias             the same component: a bias belongs to what it is added to
//     blk.7.ffn_down_exps.weight    all experts of layer 7 in one tensor, one slice each
//     blk.7.ffn_down.3.weight       expert 3 of layer 7 (the older way, one tensor each)
//     blk.7.ffn_up_shexp.weight     the shared expert, "Shared FFN Up"
//     decoder.blocks.7.mlp.0.weight likewise in models that name layers so
//     output_norm.weight            no layer, norm, "Output Norm"
//
// This is the only place that knows these names. An unknown name is "Other", with its layer if it
// has one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_gguf_tensor;

enum ggs_category {
    GGS_CATEGORY_INPUT,
    GGS_CATEGORY_ATTENTION,
    GGS_CATEGORY_FFN,
    GGS_CATEGORY_NORM,
    GGS_CATEGORY_OUTPUT,
    GGS_CATEGORY_OTHER,
    GGS_CATEGORIES,
};

struct ggs_name {
    int               layer; // -1: none
    enum ggs_category category;
    const char *      title;     // constant: "Attention Q", "FFN Down", "Other"
    const char *      component; // "attn_q", "ffn_down_exps": points into the given name, not NUL-terminated
    size_t            component_length;
    bool              experts;          // one tensor with a slice for each expert of its layer
    unsigned          expert_dimension; // if `experts`: the dimension that counts them
    int               expert;           // the expert whose own tensor this is; -1: none
};

// Parses the name of a weight. Never fails. The result points into `name` and into constant data.
struct ggs_name ggs_name_parse(const char * name, size_t length);

// Returns the layer of any tensor name, of weights and graph nodes alike, or -1:
// "blk.7.attn_q.weight", "Qcur-7", "Qcur-7 (reshaped)", "cache_k_l7 (view)", "CPU#Qcur-7#0".
int ggs_name_layer(const char * name, size_t length);

const char * ggs_category_name(uint64_t category); // "input", "attention", ...

// Writes the component's title as exports show it: "Attention Q", "FFN Down Expert 7", and "FFN
// Down Experts" for the whole tensor. `expert` is the slice, -1 for the whole tensor; ignored for
// tensors without experts.
enum { GGS_COMPONENT_LENGTH = 64 };
char * ggs_name_component(char * buffer, size_t size, const struct ggs_name * name, int64_t expert);

// Returns the number of experts in a tensor, 0 if it has none or if its bytes do not divide evenly.
// Expert i of n is at tensor->offset + i * (tensor->size / n).
enum { GGS_EXPERTS_MAX = 4096 }; // larger counts are rejected: the largest models have some hundreds
uint32_t ggs_name_experts(const struct ggs_name * name, const struct ggs_gguf_tensor * tensor);
