#include "analyze/paging/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "base/stream-plan.h"
#include "gguf/gguf-name.h"
#include "gguf/gguf-split.h"
#include "gguf/gguf.h"

enum { SECTOR = 4096, BATCH = 512, PER_VALUE = 32, BASE = 16 << 20 };

static uint64_t hparam(const struct ggs_model * model, const char * key, uint64_t otherwise) {
    uint64_t value;
    return ggs_gguf_get_hparam(model->files[0], key, &value) ? value : otherwise;
}

// Estimates the KV cache in 16 bits, the buffers of a graph, and the libraries.
static uint64_t engine_bytes(const struct ggs_model * model, uint64_t context) {
    uint64_t layers = hparam(model, "block_count", 0), width = hparam(model, "embedding_length", 0);
    uint64_t heads = hparam(model, "attention.head_count", 1), kv = hparam(model, "attention.head_count_kv", heads);
    uint64_t head  = hparam(model, "attention.key_length", heads == 0 ? 0 : width / heads);
    uint64_t batch = context < BATCH ? context : BATCH;
    return BASE + batch * PER_VALUE * width + 4 * layers * kv * head * context;
}

// What a token uses: experts, and whole weights.
struct tally {
    struct ggs_stream_plan plan;
    uint64_t *             dense;
    uint64_t               dense_bytes, small_bytes, experts_bytes, used_bytes;
};

static void count(struct tally * t, const struct ggs_gguf_tensor * tensor, uint64_t used, bool table_used) {
    struct ggs_name name    = ggs_name_parse(tensor->name, tensor->name_length);
    uint64_t        experts = ggs_name_experts(&name, tensor);
    if (name.category == GGS_CATEGORY_INPUT && !table_used) return; // only single rows of it are read
    if (experts > 0 && used > 0) {
        uint64_t slot = tensor->size / experts + 2 * SECTOR;
        t->plan.one_slot_each += slot;
        t->plan.least_slots += slot * (used + 1);
        t->plan.all_slots += slot * experts;
        if (tensor->size > t->plan.largest_experts) t->plan.largest_experts = tensor->size;
        t->experts_bytes += tensor->size;
        t->used_bytes += tensor->size / experts * used;
    } else if (tensor->size < GGS_STREAM_SMALL) {
        t->small_bytes += tensor->size;
    } else {
        t->dense[t->plan.n_dense++] = tensor->size;
        t->dense_bytes += tensor->size;
    }
}

static bool has_output(const struct ggs_model * model) {
    for (size_t i = 0; i < model->n_files; i++) {
        for (size_t k = 0; k < model->files[i]->n_tensors; k++) {
            const struct ggs_gguf_tensor * tensor = &model->files[i]->tensors[k];
            if (tensor->name_length == 13 && memcmp(tensor->name, "output.weight", 13) == 0) return true;
        }
    }
    return false;
}

static void divide(struct ggs_stream_forecast * f, struct tally * t) {
    uint64_t all = t->dense_bytes + t->experts_bytes, reserve = ggs_stream_reserve(f->memory);
    f->token_bytes = t->dense_bytes + t->used_bytes + t->small_bytes;
    f->fits        = all + f->engine + reserve / 4 <= f->memory;
    if (f->fits) return;
    uint64_t taken = f->engine + reserve;
    t->plan.dense  = t->dense;
    f->too_little  = f->memory <= taken || !ggs_stream_plan(&t->plan, f->memory - taken);
    f->token_reads = t->dense_bytes + t->used_bytes;
    if (f->too_little) return;
    f->kept         = t->plan.kept < t->dense_bytes ? t->plan.kept : t->dense_bytes;
    f->ring         = t->plan.ring;
    f->slots        = t->experts_bytes == 0 ? 0 : t->plan.slots + t->plan.kept - f->kept;
    f->experts_held = t->plan.all_slots == 0 || t->plan.slots == 0 ? 0 : (double) f->slots / (double) t->plan.all_slots;
    if (f->experts_held > 1) f->experts_held = 1;
    f->token_reads = t->dense_bytes - f->kept + (uint64_t) ((double) t->used_bytes * (1 - f->experts_held));
}

bool ggs_stream_forecast(struct ggs_stream_forecast * f, const struct ggs_model * model, uint64_t memory,
                         uint64_t context) {
    struct tally t    = {.dense = malloc((model->n_tensors + 1) * sizeof(uint64_t))};
    uint64_t     used = hparam(model, "expert_used_count", 0);
    bool         tied = !has_output(model);
    *f                = (struct ggs_stream_forecast){.memory = memory, .engine = engine_bytes(model, context)};
    if (t.dense == NULL) return false;
    for (size_t i = 0; i < model->n_files; i++) {
        for (size_t k = 0; k < model->files[i]->n_tensors; k++) count(&t, &model->files[i]->tensors[k], used, tied);
    }
    divide(f, &t);
    free(t.dense);
    return true;
}
