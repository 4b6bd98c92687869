#include "engine/synth/synth-shape.h"

#include "base/error.h"
#include "engine/synth/synth-arch.h"

#include <stddef.h>
#include <string.h>

// The widths of tiny and moe are multiples of 256, so that every type fits, but so small that an
// operation takes microseconds.
static const struct preset {
    const char * name;
    const char * arch;
    uint32_t     layers, embd, ff, heads, kv_heads, experts, experts_used;
} presets[] = {
    // clang-format off
    {"tiny",           "llama",    22, 256,  512,  4,  2, 0,  0},
    {"tinyllama-1.1b", "llama",    22, 2048, 5632, 32, 4, 0,  0},
    {"moe",            "qwen3moe", 24, 256,  256,  4,  2, 32, 4},
    // clang-format on
};

static uint32_t chosen(int64_t option, uint32_t otherwise) {
    return option >= 0 ? (uint32_t) option : otherwise;
}

static const struct preset * find_preset(const char * name) {
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(presets[i].name, name) == 0) return &presets[i];
    }
    return NULL;
}

// Sets expert counts and the feed-forward width. A dense preset made sparse gets 8 experts of half
// its width, of which 2 are used, so a token costs the same.
static void init_experts(struct ggs_synth_shape * shape, const struct preset * preset,
                         const struct ggs_synth_options * options) {
    bool sparse   = preset->experts > 0;
    bool required = shape->arch->experts == GGS_SYNTH_EXPERTS_ALWAYS;

    shape->experts      = chosen(options->experts, sparse ? preset->experts : required ? 8 : 0);
    uint32_t used       = shape->experts < 2 ? shape->experts : 2;
    shape->experts_used = chosen(options->experts_used, sparse ? preset->experts_used : used);
    shape->ff           = chosen(options->ff, shape->experts > 0 && !sparse ? preset->ff / 2 : preset->ff);
}

static int check_experts(const struct ggs_synth_shape * shape, const struct ggs_synth_options * options,
                         struct ggs_error * error) {
    const char * arch = shape->arch->name;
    if (shape->arch->experts == GGS_SYNTH_EXPERTS_NEVER && shape->experts > 0) {
        return ggs_fail(error, GGS_USAGE,
                        "%s models have no experts; use --arch llama, qwen3moe or deepseek2, or --experts 0", arch);
    }
    if (shape->arch->experts == GGS_SYNTH_EXPERTS_ALWAYS && shape->experts == 0) {
        return ggs_fail(error, GGS_USAGE, "%s models need experts: --experts must be at least 1", arch);
    }
    if (shape->experts == 0 && options->experts_used > 0) {
        return ggs_fail(error, GGS_USAGE, "--experts-used %u needs a model with experts: add --experts",
                        shape->experts_used);
    }
    if (shape->experts > 0 && shape->experts_used == 0) {
        return ggs_fail(error, GGS_USAGE, "--experts-used must be at least 1 in a model with %u experts",
                        shape->experts);
    }
    if (shape->experts_used > shape->experts && shape->experts > 0) {
        return ggs_fail(
            error, GGS_USAGE,
            "%u experts cannot be used at a time: the model has %u; lower --experts-used or raise --experts",
            shape->experts_used, shape->experts);
    }
    return 0;
}

static int check_attention(const struct ggs_synth_shape * shape, const struct ggs_synth_options * options,
                           struct ggs_error * error) {
    if (shape->embd % shape->heads != 0) {
        return ggs_fail(error, GGS_USAGE,
                        "an embedding of %u values cannot be divided among %u heads: make --embd a multiple of --heads",
                        shape->embd, shape->heads);
    }
    if (shape->embd / shape->heads % 2 != 0) {
        return ggs_fail(
            error, GGS_USAGE,
            "%u values among %u heads are %u per head, which must be an even number: change --embd or --heads",
            shape->embd, shape->heads, shape->embd / shape->heads);
    }
    if (shape->arch->latent_attention && options->kv_heads >= 0 && options->kv_heads != 1) {
        return ggs_fail(error, GGS_USAGE, "%s keeps one latent head in its KV cache: omit --kv-heads",
                        shape->arch->name);
    }
    if (shape->heads % shape->kv_heads != 0) {
        return ggs_fail(error, GGS_USAGE,
                        "%u heads cannot share %u KV heads evenly: make --heads a multiple of --kv-heads", shape->heads,
                        shape->kv_heads);
    }
    return 0;
}

// Default number of KV heads: as many heads per KV head as in the preset, if possible.
static uint32_t default_kv_heads(const struct ggs_synth_shape * shape, const struct preset * preset) {
    if (shape->arch->latent_attention) return 1;
    if (shape->arch->full_attention) return shape->heads;
    uint32_t group = preset->heads / preset->kv_heads;
    return shape->heads % group == 0 ? shape->heads / group : shape->heads;
}

int ggs_synth_shape_init(struct ggs_synth_shape * shape, const struct ggs_synth_options * options,
                         struct ggs_error * error) {
    const struct preset * preset = find_preset(options->preset);
    if (preset == NULL) {
        return ggs_fail(error, GGS_USAGE, "no preset is called '%s'; there are tiny, tinyllama-1.1b and moe",
                        options->preset);
    }
    const char * arch = options->arch != NULL ? options->arch : preset->arch;

    *shape = (struct ggs_synth_shape){.preset = preset->name, .arch = ggs_synth_arch_find(arch)};
    if (shape->arch == NULL) {
        char names[256];
        return ggs_fail(error, GGS_USAGE, "no architecture is called '%s'; there are %s", arch,
                        ggs_synth_arch_names(names, sizeof(names)));
    }

    shape->layers   = chosen(options->layers, preset->layers);
    shape->embd     = chosen(options->embd, preset->embd);
    shape->heads    = chosen(options->heads, preset->heads);
    shape->kv_heads = chosen(options->kv_heads, default_kv_heads(shape, preset));
    shape->context  = 2048;
    init_experts(shape, preset, options);

    if (check_attention(shape, options, error) < 0) return GGS_USAGE;
    if (check_experts(shape, options, error) < 0) return GGS_USAGE;
    shape->head = shape->embd / shape->heads;
    return 0;
}
