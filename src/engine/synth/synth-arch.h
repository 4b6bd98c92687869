// The architectures of synthetic models: their tensors and key-values.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_synth_metadata;
struct ggs_synth_plan;
struct ggs_synth_shape;

enum ggs_synth_experts { GGS_SYNTH_EXPERTS_NEVER, GGS_SYNTH_EXPERTS_MAY, GGS_SYNTH_EXPERTS_ALWAYS };

struct ggs_synth_arch {
    const char *           name;       // as in general.architecture
    const char *           vocabulary; // file name of its vocabulary
    enum ggs_synth_experts experts;
    bool                   full_attention;   // as many KV heads as heads by default
    bool                   latent_attention; // one latent KV head for any number of heads
    void (*tensors)(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape);
    void (*metadata)(struct ggs_synth_metadata *    metadata,
                     const struct ggs_synth_shape * shape); // in addition to the common ones
};

// NULL if there is none of that name.
const struct ggs_synth_arch * ggs_synth_arch_find(const char * name);
// Writes the names of all architectures: "llama, gpt2 and gemma3". Returns `text`.
const char * ggs_synth_arch_names(char * text, size_t size);

// Appends all tensors of a model of this shape; check plan->failed.
void ggs_synth_arch_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape);

// Appends all key-values except the vocabulary's.
void ggs_synth_arch_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape);
