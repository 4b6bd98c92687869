#include "analyze/ops/overview.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/ops/step-totals.h"
#include "base/array.h"
#include "base/error.h"
#include "base/search.h"

void ggs_overview_release(struct ggs_overview * overview) {
    free(overview->lanes);
    free(overview->lanes_by_slot);
    free(overview->run);
    *overview = (struct ggs_overview){0};
}

// ---- lanes ----

enum { MOST_LANES = 4096 };

// Adds the lanes of a slot, or of a device that is seen as whole graphs, up to `threads` of them.
static int meet_lanes(struct ggs_overview * o, const struct ggs_run * run, uint64_t threads, struct ggs_error * error) {
    uint64_t                 known = 0;
    struct ggs_overview_lane lane  = {run->slot, 0, run->backend, run->process, run->device};
    if ((run->flags & GGS_RUN_OPAQUE) != 0)
        lane.slot = -1; // not the lane of a thread
    else if (run->slot < 0)
        return 0; // nothing of it was seen: a device still works on it in a live recording
    for (uint64_t i = 0; i < o->n_lanes; i++)
        known += o->lanes[i].slot == lane.slot && (lane.slot >= 0 || o->lanes[i].device == lane.device);
    if (threads <= known || threads - known > MOST_LANES - o->n_lanes) return 0;
    if (!ggs_array_reserve(o->lanes, o->lanes_capacity, o->n_lanes + threads - known)) return ggs_fail_memory(error);
    for (lane.thread = known; lane.thread < threads; lane.thread++) o->lanes[o->n_lanes++] = lane;
    return 0;
}

static int by_lane(const void * a, const void * b) {
    const struct ggs_overview_lane *x = a, *y = b;
    uint64_t                        slot_x = (uint64_t) x->slot, slot_y = (uint64_t) y->slot; // -1 comes last
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (slot_x != slot_y) return slot_x < slot_y ? -1 : 1;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

static bool is_before(const struct ggs_overview_lane * lane, int64_t slot, uint64_t thread) {
    if (lane->slot != slot) return (uint64_t) lane->slot < (uint64_t) slot;
    return lane->thread < thread;
}

// Sorts the lanes, of which a recording has about as many as threads.
static int sort_lanes(struct ggs_overview * o, struct ggs_error * error) {
    o->lanes_by_slot = malloc((o->n_lanes + 1) * sizeof(*o->lanes_by_slot));
    if (o->lanes_by_slot == NULL) return ggs_fail_memory(error);
    if (o->n_lanes > 0) qsort(o->lanes, o->n_lanes, sizeof(*o->lanes), by_lane);
    for (uint32_t i = 0; i < o->n_lanes; i++) {
        uint32_t at = i;
        for (; at > 0; at--) {
            const struct ggs_overview_lane * before = &o->lanes[o->lanes_by_slot[at - 1]];
            if (!is_before(&o->lanes[i], before->slot, before->thread)) break;
            o->lanes_by_slot[at] = o->lanes_by_slot[at - 1];
        }
        o->lanes_by_slot[at] = i;
    }
    return 0;
}

int ggs_overview_lane(const struct ggs_overview * o, int64_t slot, uint64_t thread) {
    uint64_t i = ggs_search(o->n_lanes, at, is_before(&o->lanes[o->lanes_by_slot[at]], slot, thread));
    if (i == o->n_lanes) return -1;
    const struct ggs_overview_lane * lane = &o->lanes[o->lanes_by_slot[i]];
    return lane->slot == slot && lane->thread == thread ? (int) o->lanes_by_slot[i] : -1;
}

int ggs_overview_whole(const struct ggs_overview * o, uint64_t device) {
    for (uint64_t i = 0; i < o->n_lanes; i++)
        if (o->lanes[i].slot < 0 && o->lanes[i].device == device) return (int) i;
    return -1;
}

const char * ggs_overview_lane_device(const struct ggs_trace * trace, const struct ggs_overview_lane * lane) {
    bool known = lane->device != 0 && lane->device <= trace->n_devices;
    if (known && trace->devices[lane->device - 1].type != GGS_DEVICE_CPU)
        return ggs_reader_string(trace->reader, trace->devices[lane->device - 1].name);
    return lane->slot < 0 ? ggs_reader_string(trace->reader, lane->backend) : NULL;
}

// ---- runs ----

static int add_run(struct ggs_overview * o, const struct ggs_run * run, struct ggs_error * error) {
    bool     opaque  = (run->flags & GGS_RUN_OPAQUE) != 0;
    bool     first   = (run->flags & GGS_RUN_FIRST_THREAD) != 0;
    uint64_t threads = opaque || first || run->slot < 0 ? 1 : run->threads;
    o->run[o->runs]  = (struct ggs_overview_run){o->rows, (uint32_t) run->run, (uint32_t) run->graph};
    o->interrupted_runs += (run->flags & GGS_RUN_INTERRUPTED) != 0;
    o->runs_without_waits += (run->flags & GGS_RUN_NO_WAITS) != 0;
    o->runs_of_first_thread += first;
    o->unseen += run->unseen;
    o->ops += run->executed;
    o->rows += run->executed + run->absorbed + (run->op_runs == 0 ? run->opaque : 0);
    if (run->threads > o->threads) o->threads = run->threads;
    o->runs++;
    return meet_lanes(o, run, threads, error);
}

static int walk_runs(struct ggs_overview * o, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    uint64_t            rows   = ggs_reader_rows(trace->reader, GGS_TABLE_RUNS);
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    o->run = calloc(rows + 1, sizeof(*o->run));
    if (o->run == NULL) status = ggs_fail_memory(error);
    while (status >= 0 && o->runs < rows && (status = ggs_cursor_next(cursor, &run, error)) > 0)
        status = add_run(o, &run, error);
    ggs_cursor_close(cursor);
    return status < 0 ? status : sort_lanes(o, error);
}

const struct ggs_overview_run * ggs_overview_find(const struct ggs_overview * o, uint64_t run) {
    uint64_t i = ggs_search(o->runs, at, o->run[at].run < run);
    return i < o->runs && o->run[i].run == run ? &o->run[i] : NULL;
}

const struct ggs_overview_run * ggs_overview_at(const struct ggs_overview * o, uint64_t row) {
    if (row >= o->rows) return NULL;
    return &o->run[ggs_search(o->runs, at, o->run[at].first_row <= row) - 1];
}

// ---- the rest ----

static int add_steps(struct ggs_overview * o, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_step_totals s      = {0};
    int                    status = ggs_step_totals_compute(&s, trace, INT64_MIN, INT64_MAX, error);
    o->steps = s.steps, o->warmup_steps = s.warmup_steps, o->generate_steps = s.generate_steps;
    o->prompt_tokens = s.prompt_tokens, o->generated_tokens = s.generated_tokens, o->generate_ns = s.generate_ns;
    o->between_ns     = s.between_ns;
    o->decoded_tokens = s.decoded_tokens, o->drafting_ns = s.drafting_ns;
    o->slowest_step = s.slowest_step, o->slowest_ns = s.slowest_ns;
    return status;
}

int ggs_overview_compute(struct ggs_overview * overview, struct ggs_trace * trace, struct ggs_error * error) {
    *overview  = (struct ggs_overview){.slowest_step = -1};
    int status = walk_runs(overview, trace, error);
    if (status == 0) status = add_steps(overview, trace, error);
    if (status == 0) status = ggs_trace_lost(trace, 0, &overview->lost, error);
    if (status == 0) status = ggs_trace_span(trace, &overview->begin_ns, &overview->end_ns, error);
    overview->op_runs = ggs_reader_rows(trace->reader, GGS_TABLE_OP_RUNS);
    if (status < 0) ggs_overview_release(overview);
    return status;
}

void ggs_overview_lane_name(const struct ggs_trace * trace, const struct ggs_overview_lane * lane, char * label,
                            size_t size) {
    struct ggs_cursor * cursor;
    struct ggs_lane     row;
    const char *        name = "";
    if (ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LANES, NULL) == 0) {
        while (name[0] == '\0' && ggs_cursor_next(cursor, &row, NULL) > 0) {
            if (row.slot == lane->slot && (lane->slot < 0 ? row.device == lane->device : row.queue == lane->thread))
                name = ggs_reader_string(trace->reader, row.name);
        }
        ggs_cursor_close(cursor);
    }
    const char * backend = ggs_reader_string(trace->reader, lane->backend);
    if (name[0] != '\0')
        snprintf(label, size, "%.150s", name);
    else if (lane->slot < 0)
        snprintf(label, size, "%.100s", backend[0] == '\0' ? "whole graphs" : backend);
    else
        snprintf(label, size, "%.100s thread %llu", backend, (unsigned long long) lane->thread);
}
