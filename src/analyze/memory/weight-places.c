#include "analyze/memory/weight-places.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

struct weight {
    uint64_t file, begin, end, buffer; // buffer 0: mapped
};

static int by_place(const void * a, const void * b) {
    const struct weight *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static void count_copy(struct ggs_weight_places * places, const struct ggs_trace * trace,
                       const struct weight * weight) {
    const struct ggs_buffer * buffer = ggs_trace_buffer(trace, weight->buffer);
    const char *              type   = buffer == NULL ? "" : ggs_reader_string(trace->reader, buffer->type);
    unsigned                  i      = 0;
    places->copied += weight->end - weight->begin;
    while (i < places->n && strcmp(places->buffer[i], type) != 0) i++;
    if (i == GGS_WEIGHT_PLACES_BUFFERS) return;
    if (i == places->n) places->buffer[places->n++] = type;
    places->bytes[i] += weight->end - weight->begin;
    for (; i > 0 && places->bytes[i] > places->bytes[i - 1]; i--) {
        uint64_t     bytes = places->bytes[i];
        const char * name  = places->buffer[i];
        places->bytes[i] = places->bytes[i - 1], places->bytes[i - 1] = bytes;
        places->buffer[i] = places->buffer[i - 1], places->buffer[i - 1] = name;
    }
}

int ggs_weight_places_find(struct ggs_weight_places * places, const struct ggs_trace * trace,
                           struct ggs_error * error) {
    struct weight * weights = malloc((trace->n_tensors + 1) * sizeof(*weights));
    uint64_t        n = 0, last_file = 0, last_end = 0;
    *places = (struct ggs_weight_places){0};
    if (weights == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        struct weight *           w = &weights[n];
        if (t->view != 0 || !ggs_trace_origin(t, &w->file, &w->begin) || !trace->models[w->file - 1]) continue;
        if (!ggs_add(w->begin, ggs_trace_extent(trace, t), &w->end)) continue;
        w->buffer = t->source == GGS_SOURCE_DISK ? 0 : t->buffer;
        n++;
    }
    if (n > 1) qsort(weights, n, sizeof(*weights), by_place);
    for (uint64_t i = 0; i < n; i++) { // a weight in several graphs counts once
        const struct weight * w = &weights[i];
        if (w->file == last_file && w->begin < last_end) continue;
        if (w->buffer == 0)
            places->mapped += w->end - w->begin;
        else
            count_copy(places, trace, w);
        last_file = w->file, last_end = w->end;
    }
    free(weights);
    return 0;
}
