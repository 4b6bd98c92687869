#include "analyze/machine/block-requests.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/time-bins.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

enum { SECTOR = 512 };

static void add(struct ggs_request_sum * sum, const struct ggs_block_request * request) {
    sum->requests++;
    sum->bytes += request->bytes;
}

// ---- groups ----

// Returns the group with this index, made if it is the next one; NULL if out of memory.
static struct ggs_request_group * group_at(struct ggs_request_group ** groups, uint64_t * n, uint64_t * capacity,
                                           uint64_t index) {
    while (*n <= index) {
        struct ggs_request_group group = {.name = "", .order = (int64_t) *n};
        if (!ggs_array_push(*groups, *n, *capacity, group)) return NULL;
    }
    return &(*groups)[index];
}

static bool add_weight(struct ggs_request_totals * t, const char * name, const struct ggs_block_request * request) {
    uint32_t number = ggs_names_number(t->names, name, strlen(name)); // equals the number of its group
    if (number == UINT32_MAX) return false;
    struct ggs_request_group * group = group_at(&t->by_weight, &t->n_by_weight, &t->capacity_by_weight, number);
    if (group == NULL) return false;
    group->name = ggs_names_text(t->names, number);
    add(&group->sum, request);
    return true;
}

static bool add_token(struct ggs_request_totals * t, uint64_t steps, const struct ggs_block_request * request) {
    if (request->step < 0 || (uint64_t) request->step > steps) return true;
    struct ggs_request_group * group =
        group_at(&t->by_token, &t->n_by_token, &t->capacity_by_token, (uint64_t) request->step);
    if (group != NULL) add(&group->sum, request);
    return group != NULL;
}

static int by_bytes(const void * a, const void * b) {
    const struct ggs_request_group *x = a, *y = b;
    if (x->sum.bytes != y->sum.bytes) return x->sum.bytes > y->sum.bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

// ---- over time ----

// Bins double in width when there are too many.
static void add_time(struct ggs_request_totals * t, const struct ggs_block_request * request) {
    if (t->bin_ns == 0) {
        t->bin_ns       = 1000000;
        t->bin_begin_ns = request->begin_ns;
    }
    uint64_t since = request->begin_ns > t->bin_begin_ns ? (uint64_t) (request->begin_ns - t->bin_begin_ns) : 0;
    while (since / t->bin_ns >= GGS_REQUEST_BINS) {
        for (unsigned i = 0; i < GGS_REQUEST_BINS / 2; i++) t->bins[i] = t->bins[2 * i] + t->bins[2 * i + 1];
        memset(t->bins + GGS_REQUEST_BINS / 2, 0, sizeof(t->bins) / 2);
        t->n_bins = (t->n_bins + 1) / 2;
        t->bin_ns *= 2;
    }
    uint64_t at = since / t->bin_ns;
    t->bins[at] += request->bytes;
    if (at >= t->n_bins) t->n_bins = at + 1;
}

// ---- the whole ----

struct pass {
    struct ggs_request_totals * totals;
    struct ggs_where *          where;
    const struct ggs_trace *    trace;
    uint64_t                    steps;
    uint64_t                    device, sector; // end of the last read of the model
};

static int add_read(struct pass * pass, const struct ggs_block_request * request, const struct ggs_whereabouts * where,
                    struct ggs_error * error) {
    struct ggs_request_totals * t = pass->totals;
    add(&t->model, request);
    add(&t->stages[where->stage], request);
    if (request->device == pass->device && request->sector == pass->sector) t->sequential += request->bytes;
    pass->device = request->device;
    pass->sector = request->sector + request->bytes / SECTOR;
    ggs_histogram_add(&t->sizes, request->bytes);
    if (request->duration_ns > 0) ggs_histogram_add(&t->latencies, request->duration_ns);
    add_time(t, request);
    bool good =
        add_weight(t, where->weight == NULL ? "" : where->weight, request) && add_token(t, pass->steps, request);
    return good ? 0 : ggs_fail_memory(error);
}

static int add_request(struct pass * pass, const struct ggs_block_request * r, const struct ggs_totals_range * range,
                       struct ggs_error * error) {
    struct ggs_whereabouts where;
    int  status = ggs_where_find(pass->where, r->begin_ns, r->run, r->node, r->file, r->file_offset, &where, error);
    bool steps  = range->first_step != INT64_MIN || range->last_step != INT64_MAX;
    if (status < 0) return status;
    if (!ggs_trace_has_step(pass->trace, r->step)) return 0;
    if (steps && (r->step < range->first_step || r->step > range->last_step)) return 0;
    struct ggs_where_event event = {r->begin_ns, r->duration_ns, r->file, r->file_offset};
    if (!ggs_where_fits(&where, &event, pass->trace->filter)) return 0;
    if (r->write) {
        add(&pass->totals->writes, r);
    } else if (r->file == 0) {
        add(&pass->totals->other, r);
    } else {
        return add_read(pass, r, &where, error);
    }
    return 0;
}

int ggs_request_totals_compute(struct ggs_request_totals * totals, struct ggs_trace * trace,
                               const struct ggs_totals_range * range, struct ggs_error * error) {
    struct ggs_cursor *      cursor = NULL;
    struct ggs_block_request request;
    struct pass pass = {.totals = totals, .trace = trace, .steps = ggs_reader_rows(trace->reader, GGS_TABLE_STEPS)};
    *totals          = (struct ggs_request_totals){.names = ggs_names_new()};
    int status       = totals->names == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = ggs_trace_lost(trace, GGS_LOSS_BLOCK_REQUESTS, &totals->lost, error);
    if (status == 0) status = ggs_where_open(&pass.where, trace, error);
    if (status == 0) status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_BLOCK_REQUESTS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &request, error)) > 0)
        status = add_request(&pass, &request, range, error);
    ggs_cursor_close(cursor);
    ggs_where_close(pass.where);
    if (status < 0) {
        ggs_request_totals_release(totals);
        return status;
    }
    if (totals->n_by_weight > 1) qsort(totals->by_weight, totals->n_by_weight, sizeof(*totals->by_weight), by_bytes);
    return 0;
}

void ggs_request_totals_release(struct ggs_request_totals * totals) {
    free(totals->by_token);
    free(totals->by_weight);
    ggs_names_free(totals->names);
    *totals = (struct ggs_request_totals){0};
}

int ggs_request_timeline(struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, struct ggs_request_bin * bins,
                         uint64_t n, struct ggs_error * error) {
    struct ggs_cursor *      cursor = NULL;
    struct ggs_block_request request;
    if (n == 0 || begin_ns < 0 || end_ns <= begin_ns)
        return ggs_fail(error, GGS_USAGE, "the timeline is empty: its end must be after its begin");
    memset(bins, 0, n * sizeof(*bins));
    struct ggs_time_bins model  = {begin_ns, end_ns, n, &bins->model, sizeof(*bins)};
    struct ggs_time_bins other  = {begin_ns, end_ns, n, &bins->other, sizeof(*bins)};
    int                  status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_BLOCK_REQUESTS, error);
    if (status == 0) ggs_cursor_times(cursor, begin_ns, end_ns);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &request, error)) > 0) {
        uint64_t at = ggs_time_bin(begin_ns, end_ns, n, request.begin_ns);
        if (request.write != 0) continue;
        if (at < n) bins[at].requests++;
        ggs_time_bins_add(request.file != 0 ? &model : &other, request.begin_ns,
                          ggs_time_after(request.begin_ns, request.duration_ns), (double) request.bytes);
    }
    ggs_cursor_close(cursor);
    return status;
}
