#include "record/memory/copies.h"

#include <string.h>

#include "gguf/gguf-split.h"
#include "gguf/gguf-type.h"
#include "gguf/gguf.h"

static bool is_among(const char * name, const char * const * names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

static bool is_named(const struct ggs_gguf_tensor * tensor, const char * name) {
    return tensor->name_length == strlen(name) && memcmp(tensor->name, name, tensor->name_length) == 0;
}

// For a matrix whose kernels use tiles: its bytes in that layout, 0 if it is not converted.
static uint64_t tile_bytes(const struct ggs_gguf_tensor * tensor, const struct ggs_gguf_type * type) {
    static const struct {
        const char * name;
        uint32_t     divides, more; // the row must be a multiple; extra bytes per block
    } tiled[] = {{"q4_0", 32, 0},  {"q4_1", 32, 0},  {"q8_0", 32, 4},    {"q4_K", 256, 4},
                 {"q5_K", 256, 4}, {"q6_K", 256, 0}, {"iq4_xs", 256, 2}, {"f16", 16, 0}};
    if (tensor->n_dims != 2 || tensor->ne[1] % 32 != 0) return 0;
    for (size_t i = 0; i < sizeof(tiled) / sizeof(tiled[0]); i++) {
        if (strcmp(type->name, tiled[i].name) != 0 || tensor->ne[0] % tiled[i].divides != 0) continue;
        return tensor->size + tensor->size / type->block_bytes * tiled[i].more;
    }
    return 0;
}

// The bytes of the engine's copy of a weight, 0 if it makes none.
static uint64_t copy_bytes(const struct ggs_gguf_tensor * tensor, const struct ggs_cpu_layouts * layouts) {
    static const char * const    usual[] = {"q4_0", "q4_K", "iq4_nl", "mxfp4"};
    const struct ggs_gguf_type * type    = ggs_type_find(tensor->type);
    if (type == NULL || tensor->n_dims < 2) return 0;
    uint64_t tiled = layouts->tiles ? tile_bytes(tensor, type) : 0;
    if (tiled > 0) return tiled;
    bool repacked =
        tensor->ne[1] % 8 == 0 && ((layouts->repack && is_among(type->name, usual, sizeof(usual) / sizeof(usual[0]))) ||
                                   (layouts->wide && strcmp(type->name, "q2_K") == 0));
    return repacked ? tensor->size : 0;
}

static bool has_output(const struct ggs_model * model) {
    for (size_t i = 0; i < model->n_files; i++) {
        for (size_t k = 0; k < model->files[i]->n_tensors; k++) {
            if (is_named(&model->files[i]->tensors[k], "output.weight")) return true;
        }
    }
    return false;
}

void ggs_copies_find(struct ggs_copies * copies, const struct ggs_model * model, char * const * command,
                     const struct ggs_cpu_layouts * layouts) {
    *copies = (struct ggs_copies){.model_bytes = model->size};
    for (; *command != NULL; command++) {
        if (strcmp(*command, "--no-mmap") == 0) copies->no_mmap = true;
        if (strcmp(*command, "--no-repack") == 0 || strcmp(*command, "-nr") == 0) copies->no_repack = true;
    }
    bool untied = has_output(model);
    for (size_t i = 0; i < model->n_files; i++) {
        const struct ggs_gguf * file = model->files[i];
        for (size_t k = 0; k < file->n_tensors; k++) {
            const struct ggs_gguf_tensor * tensor = &file->tensors[k];
            // The embedding is looked up. A model without an output of its own also multiplies with
            // it.
            bool     looked_up = untied && is_named(tensor, "token_embd.weight");
            uint64_t copied    = copies->no_repack || looked_up ? 0 : copy_bytes(tensor, layouts);
            copies->bytes += copied > 0 ? copied : copies->no_mmap ? tensor->size : 0;
        }
    }
}
