#include <stdlib.h>
#include <string.h>

#include "analyze/paging/pin.h"
#include "base/array.h"
#include "base/checked.h"
#include "base/error.h"
#include "gguf/gguf-name.h"

struct listing {
    struct ggs_paging_weight * weight;
    uint64_t                   n, capacity;
};

static int by_place(const void * a, const void * b) {
    const struct ggs_paging_weight *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->size > y->size ? -1 : x->size < y->size;
}

static bool add(struct listing * list, const struct ggs_paging_weight * weight) {
    return ggs_array_push(list->weight, list->n, list->capacity, *weight);
}

static bool add_tensor(struct listing * list, struct ggs_trace * trace, const struct ggs_tensor * t, bool experts) {
    struct ggs_paging_weight weight = {
        .name = ggs_reader_string(trace->reader, t->name), .expert = -1, .size = ggs_trace_extent(trace, t)};
    uint64_t end, file;
    if (!ggs_trace_origin(t, &file, &weight.offset)) return true;
    weight.file = file - 1;
    if (weight.size == 0 || !ggs_add(weight.offset, weight.size, &end)) return true;
    uint64_t size = experts ? ggs_trace_expert_bytes(t, weight.name, weight.size) : 0;
    if (size == 0) return add(list, &weight);
    uint64_t n       = weight.size / size;
    weight.size      = size;
    weight.n_experts = n;
    for (weight.expert = 0; weight.expert < (int64_t) n; weight.expert++) {
        if (!add(list, &weight)) return false;
        weight.offset += size;
    }
    return true;
}

// Drops duplicates from several graphs, and parts of weights that are listed as a whole.
static void drop_repeated(struct listing * list) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < list->n; i++) {
        const struct ggs_paging_weight *w = &list->weight[i], *last = kept == 0 ? NULL : &list->weight[kept - 1];
        if (last != NULL && last->file == w->file && w->offset < last->offset + last->size) continue;
        list->weight[kept++] = *w;
    }
    list->n = kept;
}

// Assigns each block that ops read to the weight that contains its first byte, or to the next one.
// The first page of a long block does not count: it may be shared with a weight that is not read.
static void assign_blocks(struct listing * list, const struct ggs_paging_sequence * sequence) {
    uint64_t file = 0, w = 0;
    for (uint32_t block = 0; block < sequence->n_blocks && w < list->n; block++) {
        if (!sequence->touched[block]) continue;
        while (sequence->begin[block] >= sequence->first_page[file + 1]) file++;
        uint64_t at = (sequence->begin[block] - sequence->first_page[file]) * sequence->page;
        if (ggs_block_pages(sequence, block) > 1) at += sequence->page;
        while (w < list->n && (list->weight[w].file < file ||
                               (list->weight[w].file == file && list->weight[w].offset + list->weight[w].size <= at)))
            w++;
        if (w == list->n || list->weight[w].file != file) continue;
        struct ggs_paging_weight * weight = &list->weight[w];
        if (weight->n_blocks == 0) weight->first_block = block;
        weight->n_blocks = block + 1 - weight->first_block;
        weight->pages += ggs_block_pages(sequence, block);
    }
}

int ggs_paging_weights_list(struct ggs_paging_weights * weights, struct ggs_trace * trace,
                            const struct ggs_paging_sequence * sequence, bool experts, struct ggs_error * error) {
    struct listing list = {0};
    *weights            = (struct ggs_paging_weights){0};
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        uint64_t                  file, offset;
        if (!ggs_trace_origin(t, &file, &offset) || !trace->models[file - 1] || t->view != 0) continue;
        if (add_tensor(&list, trace, t, experts)) continue;
        free(list.weight);
        return ggs_fail_memory(error);
    }
    if (list.n > 0) qsort(list.weight, list.n, sizeof(*list.weight), by_place);
    drop_repeated(&list);
    assign_blocks(&list, sequence);
    for (uint64_t i = 0; i < list.n; i++) {
        struct ggs_paging_weight * w     = &list.weight[i];
        uint64_t                   pages = (w->offset + w->size - 1) / sequence->page - w->offset / sequence->page + 1;
        if (w->n_blocks == 0) continue;
        if (w->pages < pages) w->pages = pages;
        list.weight[weights->n++] = *w;
    }
    weights->weight = list.weight;
    return 0;
}

void ggs_paging_weights_release(struct ggs_paging_weights * weights) {
    free(weights->weight);
    *weights = (struct ggs_paging_weights){0};
}
