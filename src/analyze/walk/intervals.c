#include "analyze/walk/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/access.h"
#include "base/array.h"
#include "base/search.h"

void ggs_intervals_release(struct ggs_intervals * set) {
    free(set->data);
    *set = (struct ggs_intervals){0};
}

// Returns the first interval that ends at or behind `at`.
static uint64_t find(const struct ggs_intervals * set, uint64_t at) {
    return ggs_search(set->n, i, set->data[i].end < at);
}

bool ggs_intervals_add(struct ggs_intervals * set, uint64_t begin, uint64_t end) {
    if (begin >= end) return true;
    uint64_t first = find(set, begin), last = first;
    while (last < set->n && set->data[last].begin <= end) { // merges all that touch
        if (set->data[last].begin < begin) begin = set->data[last].begin;
        if (set->data[last].end > end) end = set->data[last].end;
        last++;
    }
    if (first == last) {
        if (!ggs_array_reserve(set->data, set->capacity, set->n + 1)) return false;
        memmove(set->data + first + 1, set->data + first, (set->n - first) * sizeof(*set->data));
        set->n++;
    } else {
        memmove(set->data + first + 1, set->data + last, (set->n - last) * sizeof(*set->data));
        set->n -= last - first - 1;
    }
    set->data[first] = (struct ggs_interval){begin, end};
    return true;
}

enum { FEW = 64 }; // added one by one

bool ggs_intervals_add_ranges(struct ggs_intervals * set, uint64_t base, const struct ggs_range * ranges, uint64_t n) {
    if (n <= FEW) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t begin = base + ranges[i].offset;
            if (!ggs_intervals_add(set, begin, begin + ranges[i].length)) return false;
        }
        return true;
    }
    struct ggs_interval * merged = malloc((set->n + n) * sizeof(*merged));
    uint64_t              used = 0, old = 0, fresh = 0;
    if (merged == NULL) return false;
    while (old < set->n || fresh < n) {
        struct ggs_interval next = {0};
        if (fresh < n) {
            next.begin = base + ranges[fresh].offset;
            next.end   = next.begin + ranges[fresh].length;
        }
        if (fresh == n || (old < set->n && set->data[old].begin <= next.begin))
            next = set->data[old++];
        else
            fresh++;
        if (next.begin >= next.end) continue;
        if (used > 0 && next.begin <= merged[used - 1].end) { // they touch
            if (next.end > merged[used - 1].end) merged[used - 1].end = next.end;
        } else {
            merged[used++] = next;
        }
    }
    uint64_t capacity = set->n + n;
    free(set->data);
    *set = (struct ggs_intervals){merged, used, capacity};
    return true;
}

uint64_t ggs_intervals_bytes(const struct ggs_intervals * set) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < set->n; i++) sum += set->data[i].end - set->data[i].begin;
    return sum;
}

uint64_t ggs_intervals_inside(const struct ggs_intervals * set, uint64_t begin, uint64_t end) {
    uint64_t sum = 0;
    for (uint64_t i = find(set, begin); i < set->n && set->data[i].begin < end; i++) {
        if (set->data[i].end <= begin) continue;
        uint64_t from = set->data[i].begin > begin ? set->data[i].begin : begin;
        uint64_t to   = set->data[i].end < end ? set->data[i].end : end;
        sum += to - from;
    }
    return sum;
}

void ggs_intervals_of_models(const struct ggs_intervals * sets, const struct ggs_trace * trace, uint64_t * touched,
                             uint64_t * bytes) {
    *touched = *bytes = 0;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (!trace->models[i]) continue;
        uint64_t size = trace->files[i].size, all = ggs_intervals_bytes(&sets[i]);
        *bytes += size == 0 ? all : size; // 0: missing when the trace was sealed
        *touched += size == 0 ? all : ggs_intervals_inside(&sets[i], 0, size);
    }
}

uint64_t ggs_intervals_besides(const struct ggs_intervals * sets, const struct ggs_intervals * others,
                               const struct ggs_trace * trace) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        for (uint64_t k = 0; trace->models[i] && k < sets[i].n; k++) {
            const struct ggs_interval * part = &sets[i].data[k];
            sum += part->end - part->begin - ggs_intervals_inside(&others[i], part->begin, part->end);
        }
    }
    return sum;
}
