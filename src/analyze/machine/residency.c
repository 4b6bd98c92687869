#include "analyze/machine/residency.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"

struct pass {
    struct ggs_resident_list * list;
    struct ggs_trace *         trace;
    const struct ggs_totals *  totals;
    uint64_t                   page;
    uint64_t                   capacity;
    bool *                     counted; // by file - 1: its size is in the sum
};

void ggs_resident_release(struct ggs_resident_list * list) {
    free(list->snapshot);
    *list = (struct ggs_resident_list){0};
}

// Bytes of [begin, end), which starts at a page, in pages that the set touches.
static uint64_t in_touched_pages(const struct ggs_intervals * set, uint64_t begin, uint64_t end, uint64_t page) {
    uint64_t first_inside = ggs_search(set->n, at, set->data[at].end <= begin), sum = 0;
    for (uint64_t i = first_inside; i < set->n && set->data[i].begin < end && begin < end; i++) {
        uint64_t first = set->data[i].begin / page * page, behind = (set->data[i].end - 1) / page * page + page;
        if (first < begin) first = begin;
        if (behind > end) behind = end;
        if (first < behind) sum += behind - first;
        if (behind > begin) begin = behind; // the next may be in the same page
    }
    return sum;
}

static struct ggs_resident * snapshot_of(struct pass * pass, const struct ggs_residency * row) {
    struct ggs_resident_list * list = pass->list;
    if (list->n > 0 && list->snapshot[list->n - 1].snapshot == row->snapshot) return &list->snapshot[list->n - 1];
    struct ggs_resident fresh = {
        .snapshot = row->snapshot, .moment = row->moment, .step = row->step, .ns = row->begin_ns};
    return ggs_array_push(list->snapshot, list->n, pass->capacity, fresh) ? &list->snapshot[list->n - 1] : NULL;
}

static int add_row(struct pass * pass, const struct ggs_residency * row, struct ggs_error * error) {
    struct ggs_resident * snapshot = snapshot_of(pass, row);
    if (snapshot == NULL) return ggs_fail_memory(error);
    if (row->file == 0 || row->file > pass->trace->n_files) return 0;
    uint64_t file = row->file - 1, size = pass->trace->files[file].size;
    if (!pass->counted[file]) pass->list->bytes += size;
    pass->counted[file] = true;
    if (row->page >= UINT64_MAX / pass->page || row->pages > UINT64_MAX / pass->page - row->page) return 0;
    uint64_t begin = row->page * pass->page, end = begin + row->pages * pass->page;
    if (size > begin && end > size) end = size; // the last page extends beyond the file
    snapshot->bytes += end - begin;
    snapshot->untouched += end - begin - in_touched_pages(&pass->totals->touched[file], begin, end, pass->page);
    return 0;
}

int ggs_resident_list(struct ggs_resident_list * list, struct ggs_trace * trace, const struct ggs_totals * totals,
                      struct ggs_error * error) {
    *list                       = (struct ggs_resident_list){0};
    struct pass          pass   = {.list = list, .trace = trace, .totals = totals, .page = ggs_trace_page_size(trace)};
    struct ggs_cursor *  cursor = NULL;
    struct ggs_residency row;
    pass.counted = calloc(trace->n_files + 1, sizeof(*pass.counted));
    int status   = pass.counted == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RESIDENCY, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) status = add_row(&pass, &row, error);
    ggs_cursor_close(cursor);
    free(pass.counted);
    if (status < 0) ggs_resident_release(list);
    return status;
}

const struct ggs_resident * ggs_resident_last(const struct ggs_resident_list * list, uint64_t moment) {
    for (uint64_t i = list->n; i > 0; i--) {
        if (list->snapshot[i - 1].moment == moment) return &list->snapshot[i - 1];
    }
    return NULL;
}
