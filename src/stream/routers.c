#include "stream/routers.h"

#include <stdio.h>

#include "stream/disk/files.h"
#include "stream/weights.h"

// A matrix that nothing here computes with may be mapped nowhere. Weights are told apart by their addresses: it gets one that no mapping has.
static const char * address_of(int file, uint64_t offset) {
    return (const char *) ((uintptr_t) (file + 1) << 48 | offset);
}

static bool find_in(int file, void * gguf) {
    bool any = false;
    for (uint32_t i = 0; i < ggs_expert_groups(); i++) {
        struct ggs_expert_group * g = ggs_expert_group_at(i);
        char                      name[64];
        if (g->router != NULL || g->layer < 0) continue;
        snprintf(name, sizeof(name), "blk.%d.ffn_gate_inp.weight", g->layer);
        int64_t  tensor = ggs_engine.gguf_find(gguf, name);
        uint64_t bytes  = g->n_experts * g->n_inputs * sizeof(float);
        if (tensor < 0 || ggs_engine.gguf_type(gguf, tensor) != 0) continue;
        uint64_t offset = ggs_engine.gguf_data(gguf) + ggs_engine.gguf_offset(gguf, tensor);
        if (offset + bytes > ggs_files_get(file)->size) continue;
        g->router = ggs_weight_at(address_of(file, offset), bytes, file, offset);
        if (g->router != NULL) any = g->router->is_router = true;
    }
    return any;
}

bool ggs_routers_find(void) {
    const struct abi_functions * f       = &ggs_engine;
    bool                         missing = false, any = false;
    for (uint32_t i = 0; i < ggs_expert_groups(); i++) {
        struct ggs_expert_group * g = ggs_expert_group_at(i);
        missing |= g->router == NULL && g->layer >= 0;
    }
    if (!missing || f->gguf_open == NULL || f->gguf_free == NULL || f->gguf_find == NULL || f->gguf_type == NULL ||
        f->gguf_offset == NULL || f->gguf_data == NULL)
        return false;
    for (int file = 0; file < GGS_STREAM_FILES; file++) {
        const struct ggs_stream_file * mapped = ggs_files_get(file);
        char                           path[64];
        if (mapped->mappings == 0 || mapped->plain < 0 || mapped->direct < 0) continue;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", mapped->plain);
        void * gguf = f->gguf_open(path, (struct abi_gguf_params){true, NULL});
        if (gguf == NULL) continue;
        any |= find_in(file, gguf);
        f->gguf_free(gguf);
    }
    return any;
}
