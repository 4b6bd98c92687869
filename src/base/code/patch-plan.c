#include "base/code/patch-plan.h"

#include <string.h>

// Hooks with all arguments in registers, for functions that must preserve registers.
static const struct {
    const char * name;
    bool         returns;
} in_registers[] = {
    {"ggml_backend_buffer_free", false},
    {"ggml_backend_buffer_set_usage", false},
    {"ggml_backend_buft_alloc_buffer", true},
    {"ggml_backend_event_record", false},
    {"ggml_backend_event_synchronize", false},
    {"ggml_backend_event_wait", false},
    {"ggml_backend_free", false},
    {"ggml_backend_graph_compute", true},
    {"ggml_backend_graph_compute_async", true},
    {"ggml_backend_sched_graph_compute", true},
    {"ggml_backend_sched_graph_compute_async", true},
    {"ggml_backend_synchronize", false},
    {"ggml_backend_tensor_copy", false},
    {"ggml_backend_tensor_copy_async", false},
    {"ggml_backend_tensor_get", false},
    {"ggml_backend_tensor_get_async", false},
    {"ggml_backend_tensor_set", false},
    {"ggml_backend_tensor_set_async", false},
    {"ggml_compute_forward_rms_norm_mul_fused", false},
    {"ggml_cpu_extra_compute_forward", true},
    {"ggml_graph_compute", true},
    {"ggml_graph_next_uid", true},
    {"gguf_init_from_file", true},
    {"llama_get_embeddings", true},
    {"llama_get_embeddings_ith", true},
    {"llama_get_embeddings_seq", true},
    {"llama_get_logits", true},
    {"llama_get_logits_ith", true},
    {"llama_get_sampled_token_ith", true},
    {"llama_memory_clear", false},
    {"llama_memory_seq_add", false},
    {"llama_memory_seq_cp", false},
    {"llama_memory_seq_div", false},
    {"llama_memory_seq_keep", false},
    {"llama_memory_seq_rm", true},
    {"llama_sampler_sample", true},
    {"llama_set_warmup", false},
};

static enum ggs_shape shape_of(const char * function) {
    for (size_t i = 0; i < sizeof(in_registers) / sizeof(in_registers[0]); i++)
        if (strcmp(in_registers[i].name, function) == 0)
            return in_registers[i].returns ? GGS_SHAPE_RETURNS : GGS_SHAPE_VOID;
    return GGS_SHAPE_OTHER;
}

static bool is_engine(const char * function) {
    return strncmp(function, "ggml_", 5) == 0 || strncmp(function, "gguf_", 5) == 0 ||
           strncmp(function, "llama_", 6) == 0;
}

// ggml_is_empty is left out: only device backends call it for every node, and its many callers rely
// on its registers.
static bool is_wanted(const char * function, bool openmp) {
    return is_engine(function) && strcmp(function, "ggml_is_empty") != 0 &&
           !(openmp && strcmp(function, "ggml_barrier") == 0);
}

const struct ggs_code_function * ggs_code_find(const struct ggs_code * code, const char * name) {
    const struct ggs_code_function * found = NULL;
    for (size_t i = 0; i < code->n_functions; i++) {
        const struct ggs_code_function * function = &code->functions[i];
        if (strcmp(function->name, name) != 0) continue;
        if (found != NULL && found->address != function->address) return NULL;
        found = function;
    }
    return found;
}

static const char * decide(struct ggs_patch * patch, const struct ggs_code * code) {
    const struct ggs_code_function * function = patch->function;
    patch->shape                              = shape_of(function->name);
    patch->entry                              = (struct ggs_code_entry){.function = function->address};
    if (ggs_code_find(code, function->name) == NULL) return "there are two of that name";
    if (function->vague) return "clang may have changed its arguments when it optimised the whole program";
    ggs_entry_examine(&patch->entry, code, function->address, function->size);
    if (patch->entry.refused != NULL || !patch->entry.preserve || patch->shape != GGS_SHAPE_OTHER ||
        strcmp(function->name, "ggml_barrier") == 0) // it has a hook that preserves registers
        return patch->entry.refused;
    return "its callers may rely on registers that it leaves alone";
}

size_t ggs_patch_plan(struct ggs_patch patches[GGS_PATCHES_MOST], const struct ggs_code * code,
                      ggs_is_hooked * is_hooked, void * context, bool openmp) {
    struct ggs_code_entry entries[GGS_PATCHES_MOST];
    size_t                n = 0;
    for (size_t i = 0; i < code->n_functions && n < GGS_PATCHES_MOST; i++) {
        const char * name = code->functions[i].name;
        if (!is_wanted(name, openmp) || !is_hooked(context, name)) continue;
        patches[n]         = (struct ggs_patch){.function = &code->functions[i]};
        patches[n].refused = decide(&patches[n], code);
        n++;
    }
    for (size_t i = 0; i < n; i++) entries[i] = patches[i].entry;
    ggs_entries_check(entries, n, code);
    for (size_t i = 0; i < n; i++)
        if (patches[i].refused == NULL) patches[i].refused = entries[i].refused;
    return n;
}

// Functions that ggml-abi.c calls. Link-time optimisation leaves few of them, and other engines
// differ.
static const char * const asked[] = {
    "ggml_op_name",
    "ggml_type_name",
    "ggml_type_size",
    "ggml_blck_size",
    "ggml_graph_n_nodes",
    "ggml_graph_node",
    "ggml_backend_name",
    "ggml_backend_buffer_get_base",
    "ggml_backend_buffer_get_size",
    "ggml_backend_buffer_get_type",
    "ggml_backend_buffer_is_host",
    "ggml_backend_buft_name",
    "ggml_init",
    "ggml_free",
    "ggml_new_tensor_4d",
    "ggml_set_name",
    "ggml_view_1d",
    "ggml_scale",
    "ggml_set_input",
    "ggml_get_data",
};

const char * ggs_engine_asked(size_t i) {
    return i < sizeof(asked) / sizeof(asked[0]) ? asked[i] : NULL;
}

const char * ggs_patch_plan_lacks(const struct ggs_patch * patches, size_t n, const struct ggs_code * code,
                                  const char ** reason) {
    const char * name;
    for (size_t i = 0; i < n; i++) {
        *reason = patches[i].refused;
        if (strcmp(patches[i].function->name, GGS_ENGINE_MARKER) == 0 && *reason != NULL) return GGS_ENGINE_MARKER;
    }
    *reason = "link-time optimisation has left none";
    for (size_t i = 0; (name = ggs_engine_asked(i)) != NULL; i++) {
        const struct ggs_code_function * function = ggs_code_find(code, name);
        if (function == NULL || function->vague) return name;
    }
    return ggs_code_find(code, GGS_ENGINE_MARKER) == NULL ? GGS_ENGINE_MARKER : NULL;
}
