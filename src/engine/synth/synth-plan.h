// The tensors to write, in file order.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;

enum { GGS_SYNTH_ALIGNMENT = 32 }; // of tensor data; GGUF's default, so no key states it

// The rule for a tensor's type; see synth-types.h.
enum ggs_synth_class {
    GGS_SYNTH_MATRIX, // --types applies
    GGS_SYNTH_APART,  // --types applies if it names the component; `default=` does not
    GGS_SYNTH_FIXED,  // always f32: norms, biases, routers
};

struct ggs_synth_tensor {
    char name[64];      // "blk.3.attn_v.weight"
    char component[32]; // "attn_v"
    int  layer;         // 3; -1 outside of the layers
    enum ggs_synth_class class;
    bool     precise; // q6_k in place of q4_k unless a type is given
    unsigned dimensions;
    uint64_t shape[3];  // innermost first; 1 beyond `dimensions`
    double   deviation; // standard deviation of the random weights; 0: every value is `constant`
    float    constant;

    int      type; // enum ggml_type; set by ggs_synth_types_apply
    uint64_t size; // bytes, likewise
};

struct ggs_synth_plan {
    struct ggs_synth_tensor * tensors;
    size_t                    count;
    size_t                    capacity;
    bool                      failed;  // out of memory; sticks, so that callers check once
    struct ggs_synth_tensor   scratch; // returned by appends after a failure
};

// A zeroed plan is empty.
void ggs_synth_plan_release(struct ggs_synth_plan * plan);

// Each function appends one tensor and returns it (a scratch one if memory ran out), valid until
// the next append. `layer` is -1 outside of the layers. Sizes are in values.
//
// A matrix that maps `in` values to `out`, scaled so that unit input yields unit output.
struct ggs_synth_tensor * ggs_synth_plan_matrix(struct ggs_synth_plan * plan, int layer, const char * component,
                                                uint64_t in, uint64_t out);
// The same per expert (or head): a tensor of three dimensions.
struct ggs_synth_tensor * ggs_synth_plan_stack(struct ggs_synth_plan * plan, int layer, const char * component,
                                               uint64_t in, uint64_t out, uint64_t count);
// "COMPONENT.weight" of all ones, f32.
struct ggs_synth_tensor * ggs_synth_plan_norm(struct ggs_synth_plan * plan, int layer, const char * component,
                                              uint64_t length);
// "COMPONENT.bias" of small random values, f32.
struct ggs_synth_tensor * ggs_synth_plan_bias(struct ggs_synth_plan * plan, int layer, const char * component,
                                              uint64_t length);
