#include "gguf/gguf-name.h"

#include "gguf/gguf.h"

#include <stdio.h>
#include <string.h>

#define INPUT     GGS_CATEGORY_INPUT
#define ATTENTION GGS_CATEGORY_ATTENTION
#define FFN       GGS_CATEGORY_FFN
#define NORM      GGS_CATEGORY_NORM
#define OUTPUT    GGS_CATEGORY_OUTPUT
#define OTHER     GGS_CATEGORY_OTHER

// The part of a name between "blk.N." and ".weight". A trailing '*' matches any ending. The first
// match counts, so patterns with '*' come last.
struct component {
    const char *      stem;
    const char *      title;
    enum ggs_category category;
    bool              experts;
};

static const struct component components[] = {
    {"token_embd", "Token Embeddings", INPUT, false},
    {"token_types", "Token Types", INPUT, false},
    {"position_embd", "Position Embeddings", INPUT, false},
    {"per_layer_token_embd", "Per-Layer Embeddings", INPUT, false},
    {"per_layer_model_proj", "Per-Layer Projection", INPUT, false},
    {"per_layer_proj_norm", "Per-Layer Projection Norm", NORM, false},
    {"token_embd_norm", "Token Embeddings Norm", NORM, false},

    {"output", "Output Projection", OUTPUT, false},
    {"output_norm", "Output Norm", NORM, false},
    {"cls", "Classifier", OUTPUT, false},
    {"cls.output", "Classifier Output", OUTPUT, false},
    {"cls.norm", "Classifier Norm", NORM, false},
    {"dense_2", "Dense 2", OUTPUT, false},
    {"dense_3", "Dense 3", OUTPUT, false},

    {"rope_freqs", "RoPE Frequencies", OTHER, false},
    {"rope_factors_long", "RoPE Factors Long", OTHER, false},
    {"rope_factors_short", "RoPE Factors Short", OTHER, false},
    {"attn_rot_embd", "RoPE Frequencies", OTHER, false},

    {"attn_q", "Attention Q", ATTENTION, false},
    {"attn_k", "Attention K", ATTENTION, false},
    {"attn_v", "Attention V", ATTENTION, false},
    {"attn_qkv", "Attention QKV", ATTENTION, false},
    {"attn_kv", "Attention KV", ATTENTION, false},
    {"attn_output", "Attention Output", ATTENTION, false},
    {"attn_o", "Attention Output", ATTENTION, false},
    {"attn_output_a", "Attention Output A", ATTENTION, false},
    {"attn_output_b", "Attention Output B", ATTENTION, false},
    {"attn_gate", "Attention Gate", ATTENTION, false},
    {"attn_sinks", "Attention Sinks", ATTENTION, false},
    {"attn_rel_b", "Attention Relative Bias", ATTENTION, false},
    {"attn_q_a", "Attention Q A", ATTENTION, false}, // multi-head latent attention: down (A) and up (B) projections
    {"attn_q_b", "Attention Q B", ATTENTION, false},
    {"attn_kv_a_mqa", "Attention KV A", ATTENTION, false},
    {"attn_kv_b", "Attention KV B", ATTENTION, false},
    {"attn_k_b", "Attention K B", ATTENTION, false},
    {"attn_v_b", "Attention V B", ATTENTION, false},
    {"cross_attn_q", "Cross Attention Q", ATTENTION, false},
    {"cross_attn_k", "Cross Attention K", ATTENTION, false},
    {"cross_attn_v", "Cross Attention V", ATTENTION, false},
    {"cross_attn_o", "Cross Attention Output", ATTENTION, false},
    {"cross_attn_rel_b", "Cross Attention Relative Bias", ATTENTION, false},
    {"vis_attn_qkv", "Vision Attention QKV", ATTENTION, false},
    {"vis_attn_output", "Vision Attention Output", ATTENTION, false},

    {"attn_norm", "Attention Norm", NORM, false},
    {"attn_norm_2", "Attention Norm 2", NORM, false},
    {"attn_q_norm", "Attention Q Norm", NORM, false},
    {"attn_k_norm", "Attention K Norm", NORM, false},
    {"attn_q_a_norm", "Attention Q A Norm", NORM, false},
    {"attn_kv_a_norm", "Attention KV A Norm", NORM, false},
    {"attn_output_norm", "Attention Output Norm", NORM, false},
    {"attn_sub_norm", "Attention Sub Norm", NORM, false},
    {"attn_compressor_norm", "Attention Compressor Norm", NORM, false},
    {"cross_attn_norm", "Cross Attention Norm", NORM, false},
    {"indexer.k_norm", "Indexer K Norm", NORM, false},
    {"indexer.q_norm", "Indexer Q Norm", NORM, false},
    {"indexer_compressor_norm", "Indexer Compressor Norm", NORM, false},
    {"post_attention_norm", "Post Attention Norm", NORM, false},
    {"ffn_norm", "FFN Norm", NORM, false},
    {"ffn_norm_exps", "FFN Norm of Experts", NORM, false}, // one vector for all experts
    {"ffn_sub_norm", "FFN Sub Norm", NORM, false},
    {"ffn_routed_norm", "FFN Routed Norm", NORM, false},
    {"pre_ffw_norm_2", "Pre FFN Norm 2", NORM, false},
    {"post_ffw_norm", "Post FFN Norm", NORM, false},
    {"post_ffw_norm_1", "Post FFN Norm 1", NORM, false},
    {"post_ffw_norm_2", "Post FFN Norm 2", NORM, false},
    {"post_norm", "Post Norm", NORM, false},
    {"layer_output_norm", "Layer Output Norm", NORM, false},
    {"ssm_norm", "SSM Norm", NORM, false},
    {"ssm_dt_norm", "SSM Dt Norm", NORM, false},
    {"ssm_b_norm", "SSM B Norm", NORM, false},
    {"ssm_c_norm", "SSM C Norm", NORM, false},
    {"time_mix_ln", "Time Mix Norm", NORM, false},

    {"ffn_up", "FFN Up", FFN, false},
    {"ffn_down", "FFN Down", FFN, false},
    {"ffn_gate", "FFN Gate", FFN, false},
    {"ffn_gate_up", "FFN Gate Up", FFN, false},
    {"ffn.act", "FFN Activation", FFN, false},
    {"ffn_up_exps", "FFN Up", FFN, true},
    {"ffn_down_exps", "FFN Down", FFN, true},
    {"ffn_gate_exps", "FFN Gate", FFN, true},
    {"ffn_gate_up_exps", "FFN Gate Up", FFN, true},
    {"ffn_up_chexps", "Chunk FFN Up", FFN, true},
    {"ffn_down_chexps", "Chunk FFN Down", FFN, true},
    {"ffn_gate_chexps", "Chunk FFN Gate", FFN, true},
    {"ffn_up_shexp", "Shared FFN Up", FFN, false},
    {"ffn_down_shexp", "Shared FFN Down", FFN, false},
    {"ffn_gate_shexp", "Shared FFN Gate", FFN, false},
    {"ffn_gate_inp", "Router", FFN, false},
    {"exp_probs_b", "Router", FFN, false},
    {"exp_probs_b_vl", "Router", FFN, false},
    {"ffn_gate_tid2eid", "Router", FFN, false},
    {"ffn_gate_inp_shexp", "Shared Router", FFN, false},
    {"ffn_latent_down", "FFN Latent Down", FFN, false},
    {"ffn_latent_up", "FFN Latent Up", FFN, false},
    {"ffn_routed_down", "FFN Routed Down", FFN, false},
    {"ffn_routed_up", "FFN Routed Up", FFN, false},
    {"vis_up", "Vision FFN Up", FFN, false},
    {"vis_down", "Vision FFN Down", FFN, false},
    {"vis_gate", "Vision FFN Gate", FFN, false},

    // whisper.cpp
    {"conv1", "Convolution 1", INPUT, false},
    {"conv2", "Convolution 2", INPUT, false},
    {"token_embedding", "Token Embeddings", INPUT, false},
    {"positional_embedding", "Position Embeddings", INPUT, false},
    {"attn.query", "Attention Q", ATTENTION, false},
    {"attn.key", "Attention K", ATTENTION, false},
    {"attn.value", "Attention V", ATTENTION, false},
    {"attn.out", "Attention Output", ATTENTION, false},
    {"attn_ln", "Attention Norm", NORM, false},
    {"cross_attn.query", "Cross Attention Q", ATTENTION, false},
    {"cross_attn.key", "Cross Attention K", ATTENTION, false},
    {"cross_attn.value", "Cross Attention V", ATTENTION, false},
    {"cross_attn.out", "Cross Attention Output", ATTENTION, false},
    {"cross_attn_ln", "Cross Attention Norm", NORM, false},
    {"mlp.0", "FFN Up", FFN, false},
    {"mlp.2", "FFN Down", FFN, false},
    {"mlp_ln", "FFN Norm", NORM, false},
    {"ln_post", "Output Norm", NORM, false},
    {"ln", "Output Norm", NORM, false},

    {"ssm_in", "SSM Input", OTHER, false},
    {"ssm_out", "SSM Output", OTHER, false},
    {"ssm_conv1d*", "SSM Convolution", OTHER, false},
    {"ssm_*", "SSM", OTHER, false},
    {"indexer*", "Attention Indexer", ATTENTION, false},
    {"attn_compressor_*", "Attention Compressor", ATTENTION, false},
    {"channel_mix_*", "Channel Mix", FFN, false},
    {"time_mix_*", "Time Mix", OTHER, false},
    {"shortconv.*", "Short Convolution", OTHER, false},
    {"nextn.*", "Next Token Prediction", OTHER, false},
    {"altup_*", "AltUp", OTHER, false},
    {"laurel_*", "LAuReL", OTHER, false},
    {"hc_*", "Hyper Connection", OTHER, false},
    {"output_hc_*", "Hyper Connection", OTHER, false},
    {"ple_*", "Per-Layer Embeddings", OTHER, false},
};

static const char * const categories[GGS_CATEGORIES] = {
    [INPUT] = "input", [ATTENTION] = "attention", [FFN] = "ffn",
    [NORM] = "norm",   [OUTPUT] = "output",       [OTHER] = "other",
};

const char * ggs_category_name(uint64_t category) {
    return category < GGS_CATEGORIES ? categories[category] : "?";
}

// A part of a name that is trimmed at both ends.
struct piece {
    const char * data;
    size_t       length;
};

static bool skip(struct piece * piece, const char * prefix) {
    size_t length = strlen(prefix);
    if (piece->length < length || memcmp(piece->data, prefix, length) != 0) return false;
    piece->data += length;
    piece->length -= length;
    return true;
}

static bool drop(struct piece * piece, const char * suffix) {
    size_t length = strlen(suffix);
    if (piece->length <= length || memcmp(piece->data + piece->length - length, suffix, length) != 0) return false;
    piece->length -= length;
    return true;
}

// Parses data[0..length) as decimal digits; -1 if it is empty, has other characters or may overflow
// an int.
static int number(const char * data, size_t length) {
    int value = 0;
    if (length == 0 || length > 9) return -1;
    for (size_t i = 0; i < length; i++) {
        if (data[i] < '0' || data[i] > '9') return -1;
        value = 10 * value + (data[i] - '0');
    }
    return value;
}

// Drops the prefix of models with an encoder and a decoder.
static void skip_side(struct piece * piece) {
    static const char * const sides[] = {"enc.", "dec.", "encoder.", "decoder."};
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
        if (skip(piece, sides[i])) return;
}

static int skip_layer(struct piece * piece) {
    struct piece rest = *piece;
    skip_side(&rest);
    if (!skip(&rest, "blk.") && !skip(&rest, "blocks.") && !skip(&rest, "layers.")) return -1;
    const char * dot   = memchr(rest.data, '.', rest.length);
    int          layer = dot == NULL ? -1 : number(rest.data, (size_t) (dot - rest.data));
    if (layer < 0) return -1;
    rest.length -= (size_t) (dot + 1 - rest.data);
    rest.data = dot + 1;
    *piece    = rest;
    return layer;
}

// "ffn_down.3" is the tensor of one expert: removes and returns its number, -1 if there is none.
static int drop_expert(struct piece * piece) {
    struct piece rest = *piece;
    if (!skip(&rest, "ffn_")) return -1;
    const char * dot = memchr(rest.data, '.', rest.length);
    if (dot == NULL) return -1;
    int expert = number(dot + 1, (size_t) (rest.data + rest.length - (dot + 1)));
    if (expert >= 0) piece->length = (size_t) (dot - piece->data);
    return expert;
}

static const struct component * find_component(const struct piece * stem) {
    for (size_t i = 0; i < sizeof components / sizeof components[0]; i++) {
        size_t length = strlen(components[i].stem);
        if (components[i].stem[length - 1] == '*') {
            if (stem->length >= length - 1 && memcmp(stem->data, components[i].stem, length - 1) == 0)
                return &components[i];
        } else if (stem->length == length && memcmp(stem->data, components[i].stem, length) == 0) {
            return &components[i];
        }
    }
    return NULL;
}

struct ggs_name ggs_name_parse(const char * name, size_t length) {
    struct piece    piece  = {name, length};
    struct ggs_name result = {.category = OTHER, .title = "Other", .expert = -1};
    result.layer           = skip_layer(&piece);
    if (result.layer < 0) skip_side(&piece);
    if (drop(&piece, ".weight")) {
        result.expert_dimension = 2; // [columns, rows, experts]
    } else if (drop(&piece, ".bias")) {
        result.expert_dimension = 1;            // [rows, experts]
    } else if (!drop(&piece, ".input_scale")) { // [experts]
        drop(&piece, ".scale");
    }
    int expert                     = drop_expert(&piece);
    result.component               = piece.data;
    result.component_length        = piece.length;
    const struct component * known = find_component(&piece);
    if (known == NULL) return result;
    result.category = known->category;
    result.title    = known->title;
    result.experts  = known->experts;
    result.expert   = expert;
    return result;
}

// Finds the layer in "Qcur-7" and "cache_k_l7".
static int graph_layer(const struct piece * piece) {
    size_t digits = 0;
    while (digits < piece->length && piece->data[piece->length - 1 - digits] >= '0' &&
           piece->data[piece->length - 1 - digits] <= '9') {
        digits++;
    }
    struct piece front = {piece->data, piece->length - digits};
    if (front.length == 0) return -1;
    struct piece cache  = front;
    bool         marked = front.length > 1 && front.data[front.length - 1] == '-';
    if (!marked) marked = skip(&cache, "cache_") && drop(&cache, "_l");
    return marked ? number(piece->data + front.length, digits) : -1;
}

int ggs_name_layer(const char * name, size_t length) {
    struct piece piece = {name, length};
    // A copy made by the scheduler: BACKEND#NAME#NUMBER.
    const char * hash = memchr(name, '#', length);
    const char * last = hash == NULL ? NULL : memrchr(name, '#', length);
    if (hash != last) piece = (struct piece){hash + 1, (size_t) (last - hash - 1)};
    // Operations on a tensor are appended to its name: "Qcur-7 (reshaped) (permuted)".
    const char * note = memmem(piece.data, piece.length, " (", 2);
    if (note != NULL) piece.length = (size_t) (note - piece.data);
    struct piece weight = piece;
    int          layer  = skip_layer(&weight);
    return layer >= 0 ? layer : graph_layer(&piece);
}

char * ggs_name_component(char * buffer, size_t size, const struct ggs_name * name, int64_t expert) {
    if (name->expert >= 0) expert = name->expert;
    if (!name->experts && name->expert < 0) {
        snprintf(buffer, size, "%s", name->title);
    } else if (expert < 0) {
        snprintf(buffer, size, "%s Experts", name->title);
    } else {
        snprintf(buffer, size, "%s Expert %lld", name->title, (long long) expert);
    }
    return buffer;
}

uint32_t ggs_name_experts(const struct ggs_name * name, const struct ggs_gguf_tensor * tensor) {
    if (!name->experts || !tensor->size_known || tensor->size == 0) return 0;
    // A dimension behind the experts would break the slices; no model has one.
    for (unsigned i = name->expert_dimension + 1; i < GGS_GGUF_DIMS_MAX; i++) {
        if (tensor->ne[i] != 1) return 0;
    }
    uint64_t experts = tensor->ne[name->expert_dimension];
    if (experts > GGS_EXPERTS_MAX || tensor->size % experts != 0) return 0;
    return (uint32_t) experts;
}
