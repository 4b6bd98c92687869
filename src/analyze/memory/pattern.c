#include "analyze/memory/pattern.h"

#include <stdlib.h>

#include "base/error.h"

int ggs_pattern_init(struct ggs_pattern * pattern, const struct ggs_trace * trace, struct ggs_error * error) {
    *pattern      = (struct ggs_pattern){.n_uses = trace->n_tensors, .n_files = trace->n_files};
    pattern->uses = calloc(trace->n_tensors + 1, sizeof(*pattern->uses));
    pattern->last = calloc(trace->n_files + 1, sizeof(*pattern->last));
    return pattern->uses == NULL || pattern->last == NULL ? ggs_fail_memory(error) : 0;
}

static void release_work(struct ggs_pattern * pattern) {
    for (uint64_t i = 0; pattern->last != NULL && i < pattern->n_files; i++) ggs_last_reads_release(&pattern->last[i]);
    free(pattern->last);
    pattern->last = NULL;
    ggs_quantiles_release(&pattern->jump_lengths);
    ggs_quantiles_release(&pattern->reuse_distances);
}

void ggs_pattern_release(struct ggs_pattern * pattern) {
    release_work(pattern);
    free(pattern->uses);
    *pattern = (struct ggs_pattern){0};
}

static unsigned bin_of(uint64_t value) {
    unsigned bin = value == 0 ? 0 : 64 - (unsigned) __builtin_clzll(value);
    return bin < GGS_PATTERN_BINS ? bin : GGS_PATTERN_BINS - 1;
}

static bool count_jump(struct ggs_pattern * pattern, uint64_t file, uint64_t begin, uint64_t length) {
    if (pattern->reads == 0) return true;
    if (file != pattern->file) {
        pattern->jumps++, pattern->jumps_strict++, pattern->jumps_between_files++;
        return true;
    }
    bool     ahead    = begin >= pattern->end;
    uint64_t distance = ahead ? begin - pattern->end : pattern->end - begin;
    if (distance == 0) pattern->sequential_strict += length;
    if (distance > 0) pattern->jumps_strict++, pattern->jump_bins[bin_of(distance)]++;
    if (ahead && distance <= pattern->gap) {
        pattern->sequential += length;
        return true;
    }
    pattern->jumps++;
    return ggs_quantiles_add(&pattern->jump_lengths, distance, 1);
}

static bool count_reuse(void * context, uint64_t bytes, uint64_t distance) {
    struct ggs_pattern * pattern = context;
    if (distance == 0) {
        pattern->first_bytes += bytes;
        return true;
    }
    pattern->reuse_bins[bin_of(distance)] += bytes;
    return ggs_quantiles_add(&pattern->reuse_distances, distance, bytes);
}

bool ggs_pattern_read(struct ggs_pattern * pattern, uint64_t tensor, uint64_t file, uint64_t begin, uint64_t length) {
    if (tensor == 0 || tensor > pattern->n_uses || file == 0 || file > pattern->n_files) return true;
    if (length > UINT64_MAX - begin) return true; // a damaged trace
    struct ggs_tensor_use * use = &pattern->uses[tensor - 1];
    if (!count_jump(pattern, file, begin, length)) return false;
    if (!ggs_last_reads_put(&pattern->last[file - 1], begin, begin + length, pattern->bytes, count_reuse, pattern))
        return false;
    pattern->reads++;
    pattern->bytes += length;
    pattern->file = file;
    pattern->end  = begin + length;
    use->reads++;
    use->bytes += length;
    return true;
}

void ggs_pattern_end(struct ggs_pattern * pattern) {
    pattern->jump_median  = ggs_quantiles_at(&pattern->jump_lengths, 50);
    pattern->jump_90      = ggs_quantiles_at(&pattern->jump_lengths, 90);
    pattern->reuse_median = ggs_quantiles_at(&pattern->reuse_distances, 50);
    pattern->reuse_90     = ggs_quantiles_at(&pattern->reuse_distances, 90);
    pattern->is_rounded   = pattern->jump_lengths.is_rounded || pattern->reuse_distances.is_rounded;
    release_work(pattern);
}
