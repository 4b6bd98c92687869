#include "engine/synth/synth-plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void ggs_synth_plan_release(struct ggs_synth_plan * plan) {
    free(plan->tensors);
    *plan = (struct ggs_synth_plan){0};
}

static bool reserve(struct ggs_synth_plan * plan) {
    if (plan->count < plan->capacity) return true;
    size_t                    capacity = plan->capacity > 0 ? 2 * plan->capacity : 256;
    struct ggs_synth_tensor * grown    = reallocarray(plan->tensors, capacity, sizeof *grown);
    if (grown == NULL) return false;
    plan->tensors  = grown;
    plan->capacity = capacity;
    return true;
}

static struct ggs_synth_tensor * append(struct ggs_synth_plan * plan, int layer, const char * component,
                                        const char * kind) {
    struct ggs_synth_tensor * tensor = &plan->scratch;
    if (!plan->failed && reserve(plan)) {
        tensor = &plan->tensors[plan->count++];
    } else {
        plan->failed = true;
    }
    *tensor = (struct ggs_synth_tensor){.layer = layer, .dimensions = 1, .shape = {1, 1, 1}};
    if (layer >= 0) {
        snprintf(tensor->name, sizeof tensor->name, "blk.%d.%s.%s", layer, component, kind);
    } else {
        snprintf(tensor->name, sizeof tensor->name, "%s.%s", component, kind);
    }
    snprintf(tensor->component, sizeof tensor->component, "%s", component);
    return tensor;
}

struct ggs_synth_tensor * ggs_synth_plan_matrix(struct ggs_synth_plan * plan, int layer, const char * component,
                                                uint64_t in, uint64_t out) {
    struct ggs_synth_tensor * tensor = append(plan, layer, component, "weight");

    tensor->dimensions = 2;
    tensor->shape[0]   = in;
    tensor->shape[1]   = out;
    tensor->deviation  = 1.0 / sqrt((double) in);
    return tensor;
}

struct ggs_synth_tensor * ggs_synth_plan_stack(struct ggs_synth_plan * plan, int layer, const char * component,
                                               uint64_t in, uint64_t out, uint64_t count) {
    struct ggs_synth_tensor * tensor = ggs_synth_plan_matrix(plan, layer, component, in, out);

    tensor->dimensions = 3;
    tensor->shape[2]   = count;
    return tensor;
}

struct ggs_synth_tensor * ggs_synth_plan_norm(struct ggs_synth_plan * plan, int layer, const char * component,
                                              uint64_t length) {
    struct ggs_synth_tensor * tensor = append(plan, layer, component, "weight");

    tensor->class    = GGS_SYNTH_FIXED;
    tensor->shape[0] = length;
    tensor->constant = 1.0f;
    return tensor;
}

struct ggs_synth_tensor * ggs_synth_plan_bias(struct ggs_synth_plan * plan, int layer, const char * component,
                                              uint64_t length) {
    struct ggs_synth_tensor * tensor = append(plan, layer, component, "bias");

    tensor->class     = GGS_SYNTH_FIXED;
    tensor->shape[0]  = length;
    tensor->deviation = 0.1;
    return tensor;
}
