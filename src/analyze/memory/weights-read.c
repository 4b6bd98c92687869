#include "analyze/memory/weights-read.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void ggs_weights_release(struct ggs_weights * weights) {
    ggs_model_map_release(&weights->map);
    free(weights->weight);
    free(weights->cold);
    *weights = (struct ggs_weights){0};
}

// Reads are counted by tensor of the trace; several tensors can be the same weight in different
// graphs. `places`: by place of the map, the weight + 1.
static void add_reads(struct ggs_weights * weights, const struct ggs_trace * trace, const struct ggs_totals * totals,
                      const uint64_t * places) {
    for (uint64_t i = 0; i < trace->n_tensors && i < totals->pattern.n_uses; i++) {
        uint64_t file, offset;
        if (!ggs_trace_origin(&trace->tensors[i], &file, &offset)) continue;
        int64_t place = ggs_model_map_find(&weights->map, file, offset);
        if (place < 0 || places[place] == 0) continue;
        weights->weight[places[place] - 1].reads += totals->pattern.uses[i].reads;
        weights->weight[places[place] - 1].bytes += totals->pattern.uses[i].bytes;
    }
}

static void add_place(struct ggs_weights * weights, struct ggs_trace * trace, const struct ggs_totals * totals,
                      const struct ggs_model_place * place, uint64_t * number) {
    if (place->n_dims == 0) return;
    const struct ggs_intervals * touched = &totals->touched[place->file - 1];
    struct ggs_weight_totals     weight  = {.name = place->name,
                                            .file = ggs_reader_string(trace->reader, trace->files[place->file - 1].path),
                                            .size = place->bytes,
                                            .touched =
                                                ggs_intervals_inside(touched, place->offset, place->offset + place->bytes)};
    uint64_t may = ggs_intervals_inside(&totals->unknown[place->file - 1], place->offset, place->offset + place->bytes);
    weight.unknown                = may < weight.size - weight.touched ? may : weight.size - weight.touched;
    weights->weight[weights->n++] = weight;
    *number                       = weights->n;
    weights->bytes += weight.size;
    weights->touched += weight.touched;
    if (weight.unknown > 0) {
        weights->unknown++;
        weights->unknown_bytes += weight.unknown;
    } else if (weight.touched == 0) {
        weights->never++;
        weights->never_bytes += weight.size;
    } else if (weight.touched < weight.size) {
        weights->partial++;
        weights->untouched_bytes += weight.size - weight.touched;
    }
}

static int by_cold(const void * a, const void * b) {
    const struct ggs_weight_totals *x = *(const struct ggs_weight_totals *const *) a,
                                   *y = *(const struct ggs_weight_totals *const *) b;
    uint64_t cold_x = x->size - x->touched, cold_y = y->size - y->touched;
    if (cold_x != cold_y) return cold_x > cold_y ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_use(const void * a, const void * b) {
    const struct ggs_weight_totals *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return by_cold(&x, &y);
}

int ggs_weights_list(struct ggs_weights * weights, struct ggs_trace * trace, const struct ggs_totals * totals,
                     struct ggs_error * error) {
    *weights   = (struct ggs_weights){0};
    int status = ggs_model_map_make(&weights->map, trace, error);
    if (status < 0) return status;
    const struct ggs_model_map * map    = &weights->map;
    uint64_t *                   places = calloc(map->n + 1, sizeof(*places));
    weights->weight                     = calloc(map->n + 1, sizeof(*weights->weight));
    weights->cold                       = malloc((map->n + 1) * sizeof(const struct ggs_weight_totals *));
    weights->unread                     = map->from_trace;
    if (places == NULL || weights->weight == NULL || weights->cold == NULL) {
        free(places);
        ggs_weights_release(weights);
        return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < map->n; i++) add_place(weights, trace, totals, &map->places[i], &places[i]);
    add_reads(weights, trace, totals, places);
    free(places);
    if (weights->n > 1) qsort(weights->weight, weights->n, sizeof(*weights->weight), by_use);
    for (uint64_t i = 0; i < weights->n; i++)
        if (weights->weight[i].touched + weights->weight[i].unknown < weights->weight[i].size)
            weights->cold[weights->n_cold++] = &weights->weight[i];
    if (weights->n_cold > 1) qsort(weights->cold, weights->n_cold, sizeof(const struct ggs_weight_totals *), by_cold);
    return 0;
}
