#include "record/memory/copies.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "gguf/gguf-split.h"
#include "gguf/gguf-type.h"
#include "gguf/gguf.h"

// Weights that engines of 2025 and 2026 bring into a layout for the processor.
static bool can_repack(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return true;
#endif
}

static bool has_tiles(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & 1u << 25) != 0; // AMX-INT8
#else
    return false;
#endif
}

static bool is_among(const char * name, const char * const * names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

static bool is_repacked(const struct ggs_gguf_tensor * tensor) {
    static const char * const    usual[] = {"q4_0", "q2_K", "q4_K", "iq4_nl"};
    static const char * const    tiles[] = {"q4_0", "q4_1", "q8_0", "q4_K", "q5_K", "q6_K", "iq4_xs"};
    const struct ggs_gguf_type * type    = ggs_type_find(tensor->type);
    // The embedding is looked up in, not multiplied with.
    if (type == NULL || tensor->n_dims < 2 ||
        (tensor->name_length == 17 && memcmp(tensor->name, "token_embd.weight", 17) == 0))
        return false;
    return (can_repack() && is_among(type->name, usual, sizeof(usual) / sizeof(usual[0]))) ||
           (has_tiles() && is_among(type->name, tiles, sizeof(tiles) / sizeof(tiles[0])));
}

void ggs_copies_find(struct ggs_copies * copies, const struct ggs_model * model, char * const * command) {
    *copies = (struct ggs_copies){.model_bytes = model->size};
    for (; *command != NULL; command++) {
        if (strcmp(*command, "--no-mmap") == 0) copies->no_mmap = true;
        if (strcmp(*command, "--no-repack") == 0 || strcmp(*command, "-nr") == 0) copies->no_repack = true;
    }
    for (size_t i = 0; i < model->n_files; i++) {
        const struct ggs_gguf * file = model->files[i];
        for (size_t k = 0; k < file->n_tensors; k++) {
            const struct ggs_gguf_tensor * tensor = &file->tensors[k];
            if (copies->no_mmap || (!copies->no_repack && is_repacked(tensor))) copies->bytes += tensor->size;
        }
    }
}
