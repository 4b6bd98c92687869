#include "analyze/memory/pattern.h"

#include <stdlib.h>

#include "base/error.h"

int ggs_pattern_init(struct ggs_pattern * pattern, const struct ggs_trace * trace, struct ggs_error * error) {
    *pattern      = (struct ggs_pattern){.n_uses = trace->n_tensors};
    pattern->uses = calloc(trace->n_tensors + 1, sizeof(*pattern->uses));
    return pattern->uses == NULL ? ggs_fail_memory(error) : 0;
}

void ggs_pattern_release(struct ggs_pattern * pattern) {
    free(pattern->uses);
    *pattern = (struct ggs_pattern){0};
}

static unsigned bin_of(uint64_t value) {
    unsigned bin = value == 0 ? 0 : 64 - (unsigned) __builtin_clzll(value);
    return bin < GGS_PATTERN_BINS ? bin : GGS_PATTERN_BINS - 1;
}

void ggs_pattern_read(struct ggs_pattern * pattern, uint64_t tensor, uint64_t file, uint64_t begin, uint64_t length) {
    if (tensor == 0 || tensor > pattern->n_uses) return;
    struct ggs_tensor_use * use = &pattern->uses[tensor - 1];
    if (pattern->reads > 0 && file == pattern->file && begin == pattern->end) {
        pattern->sequential += length;
    } else if (pattern->reads > 0) {
        uint64_t distance = begin > pattern->end ? begin - pattern->end : pattern->end - begin;
        pattern->jumps++;
        pattern->jump_bins[file == pattern->file ? bin_of(distance) : GGS_PATTERN_BINS - 1]++;
    }
    if (use->last == 0) {
        pattern->first_bytes += length;
    } else {
        pattern->reuse_bins[bin_of(pattern->bytes - use->last)] += length;
    }
    pattern->reads++;
    pattern->bytes += length;
    pattern->file = file;
    pattern->end  = begin + length;
    use->reads++;
    use->bytes += length;
    use->last = pattern->bytes;
}

uint64_t ggs_pattern_quantile(const uint64_t bins[GGS_PATTERN_BINS], double share) {
    uint64_t all = 0, sum = 0;
    for (unsigned i = 0; i < GGS_PATTERN_BINS; i++) all += bins[i];
    for (unsigned i = 0; i < GGS_PATTERN_BINS && all > 0; i++) {
        sum += bins[i];
        if ((double) sum >= share * (double) all && bins[i] > 0) return i == 0 ? 0 : 1ull << i;
    }
    return 0;
}
