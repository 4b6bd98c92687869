#include "analyze/memory/buffer-heat.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

enum { STRETCHES_MOST = 1 << 14, LEAST_BYTES = 1 << 12 };

static uint64_t stretches_of(const struct ggs_buffer_heat * heat, const struct ggs_buffer * buffer) {
    return buffer->size / heat->stretch_bytes + 1;
}

int ggs_buffer_heat_init(struct ggs_buffer_heat * heat, const struct ggs_trace * trace, struct ggs_error * error) {
    uint64_t n = trace->n_buffers, all;
    *heat      = (struct ggs_buffer_heat){.n_buffers = n, .stretch_bytes = LEAST_BYTES};
    for (;; heat->stretch_bytes *= 2) { // sizes are untrusted: detects a large sum before it overflows
        all = 0;
        for (uint64_t i = 0; i < n && all <= STRETCHES_MOST + n; i++) all += stretches_of(heat, &trace->buffers[i]);
        if (all <= STRETCHES_MOST + n || heat->stretch_bytes > UINT64_MAX / 4) break;
    }
    heat->sums    = calloc(all + 1, sizeof(*heat->sums));
    heat->first   = calloc(n + 1, sizeof(*heat->first));
    heat->sets    = calloc(n + 1, sizeof(*heat->sets));
    heat->touched = calloc(n + 1, sizeof(*heat->touched));
    if (heat->sums == NULL || heat->first == NULL || heat->sets == NULL || heat->touched == NULL)
        return ggs_fail_memory(error);
    for (uint64_t i = 0; i < n; i++) heat->first[i + 1] = heat->first[i] + stretches_of(heat, &trace->buffers[i]);
    return 0;
}

void ggs_buffer_heat_release(struct ggs_buffer_heat * heat) {
    for (uint64_t i = 0; heat->sets != NULL && i < heat->n_buffers; i++) ggs_intervals_release(&heat->sets[i]);
    free(heat->sets);
    free(heat->sums);
    free(heat->first);
    free(heat->touched);
    free(heat->stretch);
    *heat = (struct ggs_buffer_heat){0};
}

// Spreads a range over its stretches.
static void spread(struct ggs_buffer_heat * heat, uint64_t buffer, uint64_t begin, uint64_t length, uint64_t times) {
    uint64_t * sums = heat->sums + heat->first[buffer];
    uint64_t   n = heat->first[buffer + 1] - heat->first[buffer], each = heat->stretch_bytes, end = begin + length;
    for (uint64_t i = begin / each; i < n && i * each < end; i++) {
        uint64_t from = i * each > begin ? i * each : begin, to = (i + 1) * each < end ? (i + 1) * each : end;
        sums[i] += times * (to - from);
    }
}

int ggs_buffer_heat_add(struct ggs_buffer_heat * heat, uint64_t buffer, const struct ggs_access * access,
                        uint64_t times, struct ggs_error * error) {
    uint64_t base = access->tensor->buffer_offset;
    if (base > UINT64_MAX / 4) return 0; // damaged
    if (!ggs_intervals_add_ranges(&heat->sets[buffer], base, access->ranges, access->n_ranges))
        return ggs_fail_memory(error);
    for (uint32_t i = 0; i < access->n_ranges; i++) {
        uint64_t length = access->ranges[i].length < access->bytes ? access->ranges[i].length : access->bytes;
        spread(heat, buffer, base + access->ranges[i].offset, length, times);
    }
    return 0;
}

int ggs_buffer_heat_end(struct ggs_buffer_heat * heat, const struct ggs_trace * trace, struct ggs_error * error) {
    uint64_t each = heat->stretch_bytes;
    for (uint64_t b = 0; b < heat->n_buffers; b++) {
        heat->touched[b] = ggs_intervals_bytes(&heat->sets[b]);
        for (uint64_t i = heat->first[b]; i < heat->first[b + 1]; i++) {
            uint64_t offset = (i - heat->first[b]) * each;
            if (heat->sums[i] == 0) continue;
            struct ggs_buffer_stretch row = {trace->buffers[b].buffer, offset,
                                             ggs_intervals_inside(&heat->sets[b], offset, offset + each),
                                             heat->sums[i]};
            if (!ggs_array_push(heat->stretch, heat->n, heat->capacity, row)) return ggs_fail_memory(error);
        }
    }
    return 0;
}
