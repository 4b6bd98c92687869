#include "stream/weights/routers.h"

#include <stdio.h>

#include "stream/core.h"

static bool find_in(struct ggs_stream * s, const struct ggs_stream_file * file, void * gguf) {
    const struct abi_functions * f   = s->engine;
    bool                         any = false;
    for (size_t i = 0; i < s->weights.n_groups; i++) {
        struct ggs_expert_group * g = s->weights.groups[i];
        char                      name[64];
        if (g->router != NULL || g->layer < 0) continue;
        snprintf(name, sizeof(name), "blk.%d.ffn_gate_inp.weight", g->layer);
        int64_t  tensor = f->gguf_find(gguf, name);
        uint64_t bytes  = g->n_experts * g->n_inputs * sizeof(float);
        if (tensor < 0 || f->gguf_type(gguf, tensor) != 0) continue;
        uint64_t offset = f->gguf_data(gguf) + f->gguf_offset(gguf, tensor);
        if (offset + bytes > file->size) continue;
        g->router = ggs_weight_table_at(&s->weights, file, offset, bytes);
        if (g->router != NULL) any = g->router->is_router = true;
    }
    return any;
}

bool ggs_routers_find(struct ggs_stream * s) {
    const struct abi_functions *   f       = s->engine;
    bool                           missing = false, any = false;
    const struct ggs_stream_file * file;
    for (size_t i = 0; i < s->weights.n_groups; i++)
        missing |= s->weights.groups[i]->router == NULL && s->weights.groups[i]->layer >= 0;
    if (!missing || f->gguf_open == NULL || f->gguf_free == NULL || f->gguf_find == NULL || f->gguf_type == NULL ||
        f->gguf_offset == NULL || f->gguf_data == NULL)
        return false;
    for (size_t i = 0; (file = ggs_files_at(&s->files, i)) != NULL; i++) {
        char path[64];
        if (file->plain < 0 || file->direct < 0) continue;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file->plain);
        void * gguf = f->gguf_open(path, (struct abi_gguf_params){true, NULL});
        if (gguf == NULL) continue;
        any |= find_in(s, file, gguf);
        f->gguf_free(gguf);
    }
    return any;
}
