// The architectures that synthetic models can have: which tensors, and which key-values.
#pragma once

#include <stdbool.h>

struct ggs_synth_metadata;
struct ggs_synth_plan;
struct ggs_synth_shape;

enum ggs_synth_experts { GGS_SYNTH_EXPERTS_NEVER, GGS_SYNTH_EXPERTS_MAY, GGS_SYNTH_EXPERTS_ALWAYS };

struct ggs_synth_arch {
    const char *           name;       // as in general.architecture
    const char *           vocabulary; // file name of the vocabulary that suits it
    enum ggs_synth_experts experts;
    bool                   full_attention;   // as many KV heads as heads, unless asked for others
    bool                   latent_attention; // one latent KV head, whatever the number of heads
    void (*tensors)(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape);
    void (*metadata)(struct ggs_synth_metadata *    metadata,
                     const struct ggs_synth_shape * shape); // beyond the common ones
};

// NULL if there is none of that name.
const struct ggs_synth_arch * ggs_synth_arch_find(const char * name);

// Appends all tensors of a model of this shape; check plan->failed.
void ggs_synth_arch_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape);

// Appends all key-values but the vocabulary's.
void ggs_synth_arch_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape);
