#include "analyze/walk/weights.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/names.h"
#include "base/error.h"
#include "gguf/gguf.h"

void ggs_weights_release(struct ggs_weights * weights) {
    ggs_names_free(weights->owned);
    free(weights->weight);
    *weights = (struct ggs_weights){0};
}

// Reads are counted by the trace's tensors; several of them can be the same weight, seen by different graphs.
static void add_reads(struct ggs_weight * weight, struct ggs_trace * trace, const struct ggs_totals * totals,
                      uint64_t file, uint64_t begin, uint64_t end) {
    for (uint64_t i = 0; i < trace->n_tensors && i < totals->pattern.n_uses; i++) {
        const struct ggs_tensor * t      = &trace->tensors[i];
        bool                      disk   = t->source == GGS_SOURCE_DISK;
        uint64_t                  offset = disk ? t->file_offset : t->origin_offset;
        if ((disk ? t->file : t->origin_file) != file || offset < begin || offset >= end) continue;
        weight->reads += totals->pattern.uses[i].reads;
        weight->bytes += totals->pattern.uses[i].bytes;
    }
}

static int add_file(struct ggs_weights * weights, struct ggs_trace * trace, const struct ggs_totals * totals,
                    uint64_t file, const struct ggs_gguf * gguf, struct ggs_error * error) {
    struct ggs_weight * more = realloc(weights->weight, (weights->n + gguf->n_tensors + 1) * sizeof(*more));
    if (more == NULL) return ggs_fail_memory(error);
    weights->weight = more;
    uint32_t path   = ggs_names_number(weights->owned, gguf->path, strlen(gguf->path));
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct ggs_gguf_tensor * t    = &gguf->tensors[i];
        uint32_t                       name = ggs_names_number(weights->owned, t->name, t->name_length);
        if (path == UINT32_MAX || name == UINT32_MAX) return ggs_fail_memory(error);
        struct ggs_weight * weight = &more[weights->n++];
        *weight                    = (struct ggs_weight){
                               .name    = ggs_names_text(weights->owned, name),
                               .file    = ggs_names_text(weights->owned, path),
                               .size    = t->size,
                               .touched = ggs_intervals_inside(&totals->touched[file - 1], t->offset, t->offset + t->size)};
        add_reads(weight, trace, totals, file, t->offset, t->offset + t->size);
    }
    return 0;
}

static int by_use(const void * a, const void * b) {
    const struct ggs_weight *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    uint64_t cold_x = x->size - x->touched, cold_y = y->size - y->touched;
    if (cold_x != cold_y) return cold_x > cold_y ? -1 : 1;
    return strcmp(x->name, y->name);
}

int ggs_weights_list(struct ggs_weights * weights, struct ggs_trace * trace, const struct ggs_totals * totals,
                     struct ggs_error * error) {
    *weights   = (struct ggs_weights){.owned = ggs_names_new()};
    int status = weights->owned == NULL ? ggs_fail_memory(error) : 0;
    for (uint64_t i = 0; status == 0 && i < trace->n_files; i++) {
        struct ggs_gguf * gguf;
        if (trace->files[i].gguf == 0) continue;
        if (ggs_gguf_open(&gguf, ggs_reader_string(trace->reader, trace->files[i].path), NULL) < 0) {
            weights->unread++;
            continue;
        }
        status = add_file(weights, trace, totals, i + 1, gguf, error);
        ggs_gguf_free(gguf);
    }
    if (status < 0) {
        ggs_weights_release(weights);
        return status;
    }
    if (weights->n > 0) qsort(weights->weight, weights->n, sizeof(*weights->weight), by_use);
    return 0;
}
