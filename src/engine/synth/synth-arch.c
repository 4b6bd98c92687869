#include "engine/synth/synth-arch.h"

#include "engine/synth/synth-metadata.h"
#include "engine/synth/synth-plan.h"
#include "engine/synth/synth-shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Short names for the tables of this file.
#define MATRIX ggs_synth_plan_matrix
#define STACK  ggs_synth_plan_stack
#define NORM   ggs_synth_plan_norm
#define BIAS   ggs_synth_plan_bias

static struct ggs_synth_tensor * embedding(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    struct ggs_synth_tensor * tensor = MATRIX(plan, -1, "token_embd", shape->embd, shape->vocabulary);

    tensor->deviation = 1.0;
    return tensor;
}

static void output_head(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    NORM(plan, -1, "output_norm", shape->embd);
    MATRIX(plan, -1, "output", shape->embd, shape->vocabulary)->precise = true;
}

static void attention(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape, int layer) {
    uint64_t kv = (uint64_t) shape->head * shape->kv_heads;
    MATRIX(plan, layer, "attn_q", shape->embd, shape->embd);
    MATRIX(plan, layer, "attn_k", shape->embd, kv);
    MATRIX(plan, layer, "attn_v", shape->embd, kv);
    MATRIX(plan, layer, "attn_output", shape->embd, shape->embd);
}

static void head_norms(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape, int layer) {
    NORM(plan, layer, "attn_q_norm", shape->head);
    NORM(plan, layer, "attn_k_norm", shape->head);
}

// A gated feed-forward net; `suffix` distinguishes shared experts.
static void feed_forward(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape, int layer,
                         const char * suffix, uint64_t width) {
    char gate[32], up[32], down[32];
    snprintf(gate, sizeof gate, "ffn_gate%s", suffix);
    snprintf(up, sizeof up, "ffn_up%s", suffix);
    snprintf(down, sizeof down, "ffn_down%s", suffix);
    MATRIX(plan, layer, gate, shape->embd, width);
    MATRIX(plan, layer, up, shape->embd, width);
    MATRIX(plan, layer, down, width, shape->embd);
}

// The router's weights are doubled so that the probabilities of experts differ clearly.
static void experts(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape, int layer) {
    struct ggs_synth_tensor * router = MATRIX(plan, layer, "ffn_gate_inp", shape->embd, shape->experts);

    router->class = GGS_SYNTH_FIXED;
    router->deviation *= 2;
    STACK(plan, layer, "ffn_gate_exps", shape->embd, shape->ff, shape->experts);
    STACK(plan, layer, "ffn_up_exps", shape->embd, shape->ff, shape->experts);
    STACK(plan, layer, "ffn_down_exps", shape->ff, shape->embd, shape->experts);
}

static void llama_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    embedding(plan, shape);
    output_head(plan, shape);
    for (int layer = 0; layer < (int) shape->layers; layer++) {
        NORM(plan, layer, "attn_norm", shape->embd);
        attention(plan, shape, layer);
        NORM(plan, layer, "ffn_norm", shape->embd);
        if (shape->experts > 0) {
            experts(plan, shape, layer);
        } else {
            feed_forward(plan, shape, layer, "", shape->ff);
        }
    }
}

static void gpt2_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    uint64_t embd = shape->embd, qkv = embd + 2ull * shape->head * shape->kv_heads;

    embedding(plan, shape);
    struct ggs_synth_tensor * position = MATRIX(plan, -1, "position_embd", embd, shape->context);

    position->class     = GGS_SYNTH_APART;
    position->deviation = 0.5;
    output_head(plan, shape);
    BIAS(plan, -1, "output_norm", embd);
    for (int layer = 0; layer < (int) shape->layers; layer++) {
        NORM(plan, layer, "attn_norm", embd);
        BIAS(plan, layer, "attn_norm", embd);
        MATRIX(plan, layer, "attn_qkv", embd, qkv);
        BIAS(plan, layer, "attn_qkv", qkv);
        MATRIX(plan, layer, "attn_output", embd, embd);
        BIAS(plan, layer, "attn_output", embd);
        NORM(plan, layer, "ffn_norm", embd);
        BIAS(plan, layer, "ffn_norm", embd);
        MATRIX(plan, layer, "ffn_up", embd, shape->ff);
        BIAS(plan, layer, "ffn_up", shape->ff);
        MATRIX(plan, layer, "ffn_down", shape->ff, embd);
        BIAS(plan, layer, "ffn_down", embd);
    }
}

// The embeddings are also the output. The residual stream carries a token's own embedding, which
// must stay smaller than what the layers add, or the model would repeat the same token forever. The
// norm after attention scales even an average over all tokens to full size, so its weight is
// reduced, or all tokens would look alike. Lookups multiply embeddings by the root of their length.
static void gemma3_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    embedding(plan, shape)->deviation = fmin(1.0, sqrt((double) shape->layers / shape->embd)) / sqrt(shape->embd);
    NORM(plan, -1, "output_norm", shape->embd);
    for (int layer = 0; layer < (int) shape->layers; layer++) {
        NORM(plan, layer, "attn_norm", shape->embd);
        attention(plan, shape, layer);
        head_norms(plan, shape, layer);
        NORM(plan, layer, "post_attention_norm", shape->embd)->constant = 0.25f;
        NORM(plan, layer, "ffn_norm", shape->embd);
        feed_forward(plan, shape, layer, "", shape->ff);
        NORM(plan, layer, "post_ffw_norm", shape->embd);
    }
}

static void qwen3moe_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    embedding(plan, shape);
    output_head(plan, shape);
    for (int layer = 0; layer < (int) shape->layers; layer++) {
        NORM(plan, layer, "attn_norm", shape->embd);
        attention(plan, shape, layer);
        head_norms(plan, shape, layer);
        NORM(plan, layer, "ffn_norm", shape->embd);
        experts(plan, shape, layer);
    }
}

// The sizes of latent attention: queries and the KV cache pass through low ranks; keys have a
// rotary part, which carries the position, and a plain part.
struct latent {
    uint32_t q_rank, kv_rank;
    uint32_t rotary, plain, value; // per head
};

// The engine takes models of these depths for "lite" models, which have no query rank.
static bool lite(const struct ggs_synth_shape * shape) {
    return shape->layers == 26 || shape->layers == 27 || (shape->layers == 48 && shape->vocabulary == 128256);
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static struct latent latent(const struct ggs_synth_shape * shape) {
    return (struct latent){
        .q_rank  = lite(shape) ? 0 : smaller(shape->embd, 1536),
        .kv_rank = smaller(shape->embd, 512),
        .rotary  = shape->head >= 4 ? shape->head / 4 * 2 : 2,
        .plain   = shape->head,
        .value   = shape->head,
    };
}

static uint32_t leading_dense_layers(const struct ggs_synth_shape * shape) {
    return shape->layers > 1 ? 1 : 0;
}

static uint32_t dense_width(const struct ggs_synth_shape * shape) {
    return shape->ff * shape->experts_used;
}

static void latent_attention(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape, int layer) {
    struct latent size = latent(shape);
    uint64_t      key  = size.plain + size.rotary;
    if (size.q_rank > 0) {
        MATRIX(plan, layer, "attn_q_a", shape->embd, size.q_rank);
        NORM(plan, layer, "attn_q_a_norm", size.q_rank);
        MATRIX(plan, layer, "attn_q_b", size.q_rank, key * shape->heads);
    } else {
        MATRIX(plan, layer, "attn_q", shape->embd, key * shape->heads);
    }
    MATRIX(plan, layer, "attn_kv_a_mqa", shape->embd, size.kv_rank + size.rotary);
    NORM(plan, layer, "attn_kv_a_norm", size.kv_rank);
    STACK(plan, layer, "attn_k_b", size.plain, size.kv_rank, shape->heads)->class = GGS_SYNTH_APART;
    STACK(plan, layer, "attn_v_b", size.kv_rank, size.value, shape->heads);
    MATRIX(plan, layer, "attn_output", (uint64_t) size.value * shape->heads, shape->embd);
}

static void deepseek2_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    embedding(plan, shape);
    output_head(plan, shape);
    for (int layer = 0; layer < (int) shape->layers; layer++) {
        NORM(plan, layer, "attn_norm", shape->embd);
        latent_attention(plan, shape, layer);
        NORM(plan, layer, "ffn_norm", shape->embd);
        if (layer < (int) leading_dense_layers(shape)) {
            feed_forward(plan, shape, layer, "", dense_width(shape));
        } else {
            experts(plan, shape, layer);
            feed_forward(plan, shape, layer, "_shexp", shape->ff);
        }
    }
}

// Key-values prefixed by the architecture: "llama.block_count".
static void put_u32(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape, const char * key,
                    uint32_t value) {
    char name[96];
    snprintf(name, sizeof name, "%s.%s", shape->arch->name, key);
    ggs_synth_metadata_u32(metadata, name, value);
}

static void put_f32(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape, const char * key,
                    float value) {
    char name[96];
    snprintf(name, sizeof name, "%s.%s", shape->arch->name, key);
    ggs_synth_metadata_f32(metadata, name, value);
}

static void put_head_sizes(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape, uint32_t key,
                           uint32_t value) {
    put_u32(metadata, shape, "attention.key_length", key);
    put_u32(metadata, shape, "attention.value_length", value);
}

static void llama_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape) {
    put_f32(metadata, shape, "attention.layer_norm_rms_epsilon", 1e-5f);
    put_u32(metadata, shape, "rope.dimension_count", shape->head);
    put_f32(metadata, shape, "rope.freq_base", 10000.0f);
}

static void gpt2_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape) {
    put_f32(metadata, shape, "attention.layer_norm_epsilon", 1e-5f);
}

static void gemma3_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape) {
    put_f32(metadata, shape, "attention.layer_norm_rms_epsilon", 1e-6f);
    put_head_sizes(metadata, shape, shape->head, shape->head);
    put_f32(metadata, shape, "rope.freq_base", 1000000.0f);
    // Short enough that a prompt of a few sentences exceeds it.
    put_u32(metadata, shape, "attention.sliding_window", shape->context / 16);
}

static void qwen3moe_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape) {
    put_f32(metadata, shape, "attention.layer_norm_rms_epsilon", 1e-6f);
    put_head_sizes(metadata, shape, shape->head, shape->head);
    put_f32(metadata, shape, "rope.freq_base", 1000000.0f);
    put_u32(metadata, shape, "expert_feed_forward_length", shape->ff);
}

static void deepseek2_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape) {
    struct latent size = latent(shape);
    put_f32(metadata, shape, "attention.layer_norm_rms_epsilon", 1e-6f);
    if (size.q_rank > 0) put_u32(metadata, shape, "attention.q_lora_rank", size.q_rank);
    put_u32(metadata, shape, "attention.kv_lora_rank", size.kv_rank);
    put_head_sizes(metadata, shape, size.kv_rank + size.rotary, size.kv_rank);
    put_u32(metadata, shape, "attention.key_length_mla", size.plain + size.rotary);
    put_u32(metadata, shape, "attention.value_length_mla", size.value);
    put_u32(metadata, shape, "rope.dimension_count", size.rotary);
    put_f32(metadata, shape, "rope.freq_base", 10000.0f);
    put_u32(metadata, shape, "leading_dense_block_count", leading_dense_layers(shape));
    put_u32(metadata, shape, "expert_feed_forward_length", shape->ff);
    put_u32(metadata, shape, "expert_shared_count", 1);
    put_f32(metadata, shape, "expert_weights_scale", 1.0f);
}

#define SPM "ggml-vocab-llama-spm.gguf"
#define BPE "ggml-vocab-gpt-2.gguf"

static const struct ggs_synth_arch architectures[] = {
    // clang-format off
    {"llama",     SPM, GGS_SYNTH_EXPERTS_MAY,    false, false, llama_tensors,     llama_metadata},
    {"gpt2",      BPE, GGS_SYNTH_EXPERTS_NEVER,  true,  false, gpt2_tensors,      gpt2_metadata},
    {"gemma3",    SPM, GGS_SYNTH_EXPERTS_NEVER,  false, false, gemma3_tensors,    gemma3_metadata},
    {"qwen3moe",  SPM, GGS_SYNTH_EXPERTS_ALWAYS, false, false, qwen3moe_tensors,  qwen3moe_metadata},
    {"deepseek2", SPM, GGS_SYNTH_EXPERTS_ALWAYS, false, true,  deepseek2_tensors, deepseek2_metadata},
    // clang-format on
};

enum { ARCHITECTURES = sizeof(architectures) / sizeof(architectures[0]) };

const struct ggs_synth_arch * ggs_synth_arch_find(const char * name) {
    for (size_t i = 0; i < ARCHITECTURES; i++) {
        if (strcmp(architectures[i].name, name) == 0) return &architectures[i];
    }
    return NULL;
}

const char * ggs_synth_arch_names(char * text, size_t size) {
    size_t length = 0;
    text[0]       = '\0';
    for (size_t i = 0; i < ARCHITECTURES && length < size; i++)
        length += (size_t) snprintf(text + length, size - length, "%s%s",
                                    i == 0                   ? ""
                                    : i + 1 == ARCHITECTURES ? " and "
                                                             : ", ",
                                    architectures[i].name);
    return text;
}

static bool starts_with(const char * string, const char * start) {
    return strncmp(string, start, strlen(start)) == 0;
}

// Rules for all architectures:
// - Layers are scaled so that all of them together add about as much to the residual stream as the
//   embedding. The text then depends on the last token and on earlier ones, and does not
//   converge to one token.
// - Every second layer has its value and down projections at more bits, like common quantization
//   mixes.
void ggs_synth_arch_tensors(struct ggs_synth_plan * plan, const struct ggs_synth_shape * shape) {
    shape->arch->tensors(plan, shape);
    for (size_t i = 0; i < plan->count; i++) {
        struct ggs_synth_tensor * tensor = &plan->tensors[i];
        if (tensor->layer < 0 || tensor->class != GGS_SYNTH_MATRIX) continue;
        bool down   = starts_with(tensor->component, "ffn_down");
        bool output = strcmp(tensor->component, "attn_output") == 0;
        bool value  = strcmp(tensor->component, "attn_v") == 0;
        if (down || output) tensor->deviation /= sqrt(shape->layers);
        if (down || value) tensor->precise = tensor->layer % 2 == 0;
    }
}

void ggs_synth_arch_metadata(struct ggs_synth_metadata * metadata, const struct ggs_synth_shape * shape) {
    char     name[96];
    uint32_t ff = shape->arch->latent_attention ? dense_width(shape) : shape->ff;

    snprintf(name, sizeof name, "Synthetic %s (%s)", shape->preset, shape->arch->name);
    ggs_synth_metadata_string(metadata, "general.architecture", shape->arch->name);
    ggs_synth_metadata_string(metadata, "general.type", "model");
    ggs_synth_metadata_string(metadata, "general.name", name);
    ggs_synth_metadata_string(
        metadata, "general.description",
        "A synthetic model with random weights, written by ggscope-engine synth; its text means nothing.");
    ggs_synth_metadata_u32(metadata, "general.quantization_version", 2);

    put_u32(metadata, shape, "vocab_size", shape->vocabulary);
    put_u32(metadata, shape, "context_length", shape->context);
    put_u32(metadata, shape, "block_count", shape->layers);
    put_u32(metadata, shape, "embedding_length", shape->embd);
    put_u32(metadata, shape, "feed_forward_length", ff);
    put_u32(metadata, shape, "attention.head_count", shape->heads);
    put_u32(metadata, shape, "attention.head_count_kv", shape->kv_heads);
    if (shape->experts > 0) {
        put_u32(metadata, shape, "expert_count", shape->experts);
        put_u32(metadata, shape, "expert_used_count", shape->experts_used);
    }
    shape->arch->metadata(metadata, shape);
}
