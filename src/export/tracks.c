#include "export/tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lanes/devices.h"
#include "analyze/lanes/processes.h"
#include "analyze/ops/windows.h"
#include "analyze/walk/recent-runs.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

struct timeline {
    struct ggs_export * export;
    const struct ggs_tracks * out;
    struct ggs_track **       tracks;
    uint64_t                  n_tracks, tracks_capacity;
    struct ggs_track *        disk;
    uint64_t                  disk_bytes;
    struct ggs_device_list    devices;
    struct ggs_process_list   processes;
    char (*process_names)[160]; // with their hosts
};

// Tracks of the first process have no group. Those of another process form a group, like those of a
// device. Groups of devices come first.
static uint64_t group_of(const struct timeline * t, uint64_t process) {
    return process < 2 || process > t->processes.n ? 0 : t->export->trace.n_devices + process - 1;
}

static const char * group_name(const struct timeline * t, uint64_t group) {
    uint64_t devices = t->export->trace.n_devices;
    return group > devices && group - devices < t->processes.n ? t->process_names[group - devices]
                                                               : ggs_trace_device_name(&t->export->trace, group);
}

static int read_processes(struct timeline * t, struct ggs_error * error) {
    int status = ggs_process_list_names(&t->processes, &t->export->trace, error);
    if (status < 0) return status;
    t->process_names = calloc(t->processes.n + 1, sizeof(*t->process_names));
    if (t->process_names == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < t->processes.n; i++)
        snprintf(t->process_names[i], sizeof(*t->process_names), "%.60s, %s", t->processes.process[i].host,
                 t->processes.process[i].name);
    return 0;
}

// ---- tracks ----

// Finds or makes the track with this key. Keys are separate per group and kind.
static int find_track_of(struct timeline * t, uint64_t group, enum ggs_track_kind kind, int64_t a, int64_t b,
                         const char * name, struct ggs_track ** out, struct ggs_error * error) {
    for (uint64_t i = 0; i < t->n_tracks; i++) {
        struct ggs_track * track = t->tracks[i];
        if (track->group != group || track->kind != kind || track->key[0] != a || track->key[1] != b) continue;
        *out = track;
        return 0;
    }
    struct ggs_track * track = calloc(1, sizeof(*track));
    if (track == NULL || !ggs_array_push(t->tracks, t->n_tracks, t->tracks_capacity, track)) {
        free(track);
        return ggs_fail_memory(error);
    }
    *track = (struct ggs_track){.id         = t->n_tracks,
                                .kind       = kind,
                                .key        = {a, b},
                                .end_ns     = INT64_MIN,
                                .token      = -1,
                                .group      = group,
                                .group_name = group_name(t, group)};
    snprintf(track->name, sizeof(track->name), "%s", name);
    *out = track;
    return 0;
}

static int find_track(struct timeline * t, enum ggs_track_kind kind, int64_t a, int64_t b, const char * name,
                      struct ggs_track ** out, struct ggs_error * error) {
    return find_track_of(t, 0, kind, a, b, name, out, error);
}

static bool is_new(const struct ggs_track * track) {
    return track->end_ns == INT64_MIN;
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int announce(struct timeline * t, struct ggs_track * track, struct ggs_error * error) {
    if (!is_new(track)) return 0;
    track->end_ns = INT64_MIN + 1;
    return t->out->track(t->out->context, track, error);
}

// Returns the first track of a device that is free at that time: concurrent slices go to different
// tracks.
static int free_track(struct timeline * t, uint64_t device, enum ggs_track_kind kind, int64_t key, const char * name,
                      int64_t ns, struct ggs_track ** out, struct ggs_error * error) {
    enum { MOST = 64 };
    char other[80];
    int  status = 0;
    for (int64_t i = 0; status == 0 && i < MOST; i++) {
        snprintf(other, sizeof(other), "%.40s, at the same time", name);
        status = find_track_of(t, device, kind, key, i, i == 0 ? name : other, out, error);
        if (status == 0 && (*out)->end_ns <= ns) break;
    }
    return status < 0 ? status : announce(t, *out, error);
}

// The device of a run, 0 for the CPU.
static uint64_t device_of(const struct timeline * t, const struct ggs_run * run) {
    return ggs_trace_is_device(&t->export->trace, run->device) ? run->device : 0;
}

// ---- counters and tokens ----

struct event {
    int64_t  ns;
    uint64_t size;
    bool     end;
};

static int by_time(const void * a, const void * b) {
    const struct event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (int) y->end - (int) x->end;
}

// The buffers in a device's memory, or the host's (0).
static int write_buffers(struct timeline * t, uint64_t device, struct ggs_error * error) {
    const struct ggs_trace * trace  = &t->export->trace;
    struct event *           events = malloc((2 * trace->n_buffers + 1) * sizeof(*events));
    struct ggs_track *       track;
    uint64_t                 n = 0, bytes = 0;
    if (events == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * b = &trace->buffers[i];
        if (b->file != 0 || b->device != device) continue; // a mapped file is not the program's own memory
        events[n++] = (struct event){b->begin_ns, b->size, false};
        if (b->end_ns >= 0) events[n++] = (struct event){b->end_ns, b->size, true};
    }
    qsort(events, n, sizeof(*events), by_time);
    if (n == 0 && device != 0) {
        free(events);
        return 0;
    }
    const char * name   = device == 0 ? "buffer bytes" : "memory";
    int          status = find_track_of(t, device, GGS_TRACK_COUNTER, 0, 0, name, &track, error);
    if (status == 0) status = announce(t, track, error);
    for (uint64_t i = 0; status == 0 && i < n; i++) {
        bytes = events[i].end ? bytes - events[i].size : bytes + events[i].size;
        if (i + 1 < n && events[i + 1].ns == events[i].ns) continue; // one value per time
        status = t->out->count(t->out->context, track, events[i].ns, bytes, error);
    }
    free(events);
    return status;
}

static int write_tokens(struct timeline * t, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    struct ggs_track *  track;
    char                name[64];
    int                 status = ggs_export_steps(t->export, &cursor, error);
    while (status >= 0 && (status = ggs_export_next_step(t->export, cursor, &step, error)) > 0) {
        bool tokenless = t->export->trace.tokenless;
        snprintf(name, sizeof(name), tokenless ? "steps, scheduler %" PRIu64 : "tokens, context %" PRIu64,
                 step.context);
        status = find_track_of(t, group_of(t, step.process), GGS_TRACK_TOKENS, (int64_t) step.context, 0, name, &track,
                               error);
        if (status == 0) status = announce(t, track, error);
        if (status < 0) break;
        snprintf(name, sizeof(name), tokenless ? "step %" PRId64 : "token %" PRId64, step.step);
        int64_t                begin = later(step.begin_ns, track->end_ns), end = later(step.end_ns, begin);
        struct ggs_track_slice slice = {
            .kind = GGS_SLICE_TOKEN, .name = name, .begin_ns = begin, .end_ns = end, .step = &step};
        if (status == 0) status = t->out->leaf(t->out->context, track, &slice, error);
        track->end_ns = end;
    }
    ggs_cursor_close(cursor);
    return status;
}

static int write_windows(struct timeline * t, struct ggs_error * error) {
    struct ggs_windows windows;
    int                status = ggs_windows_read(&windows, &t->export->trace, error);
    for (uint64_t i = 0; status == 0 && i < windows.n; i++) {
        const struct ggs_window * row  = &windows.window[i];
        bool                      mark = row->kind == GGS_WINDOW_MARK;
        struct ggs_track *        track;
        status = find_track(t, GGS_TRACK_WINDOWS, mark, 0, mark ? "marks" : "windows", &track, error);
        if (status == 0) status = announce(t, track, error);
        if (status < 0) break;
        const char *           text  = ggs_reader_string(t->export->trace.reader, row->text);
        int64_t                begin = later(row->begin_ns, track->end_ns), end = later(row->end_ns, begin);
        struct ggs_track_slice slice = {.kind     = GGS_SLICE_WINDOW,
                                        .name     = mark ? ggs_export_valid(t->export, text) : "recorded",
                                        .begin_ns = begin,
                                        .end_ns   = end};
        status                       = t->out->leaf(t->out->context, track, &slice, error);
        track->end_ns                = end;
    }
    ggs_windows_release(&windows);
    return status;
}

// ---- faults and block requests ----

// True if the step is among the requested ones.
static bool in_steps(const struct ggs_export * export, int64_t step) {
    const struct ggs_export_options * o = export->options;
    return (!o->steps || (step >= o->first_step && step <= o->last_step)) && ggs_trace_has_step(&export->trace, step);
}

// Threads fault concurrently: each slice goes to the first free track.
static int fault_track(struct timeline * t, int64_t begin_ns, struct ggs_track ** out, struct ggs_error * error) {
    enum { MOST = 64 };
    char name[64];
    int  status = 0;
    for (int64_t i = 0; status == 0 && i < MOST; i++) {
        snprintf(name, sizeof(name), "page faults %" PRId64, i);
        status = find_track(t, GGS_TRACK_FAULTS, i, 0, name, out, error);
        if (status == 0 && (*out)->end_ns <= begin_ns) break;
    }
    return status < 0 ? status : announce(t, *out, error);
}

static int write_faults(struct timeline * t, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_fault    fault;
    struct ggs_track *  track  = NULL;
    int                 status = ggs_cursor_open(&cursor, t->export->trace.reader, GGS_TABLE_FAULTS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &fault, error)) > 0) {
        if (!in_steps(t->export, fault.step)) continue;
        status = fault_track(t, fault.begin_ns, &track, error);
        if (status < 0) break;
        int64_t                begin = later(fault.begin_ns, track->end_ns);
        int64_t                end   = later(fault.begin_ns + (int64_t) fault.duration_ns, begin);
        struct ggs_track_slice slice = {.kind     = GGS_SLICE_FAULT,
                                        .name     = fault.kind == GGS_FAULT_MAJOR ? "major fault" : "minor fault",
                                        .begin_ns = begin,
                                        .end_ns   = end,
                                        .fault    = &fault};
        status                       = t->out->leaf(t->out->context, track, &slice, error);
        track->end_ns                = end;
    }
    ggs_cursor_close(cursor);
    return status;
}

static int write_requests(struct timeline * t, struct ggs_error * error) {
    struct ggs_cursor *      cursor = NULL;
    struct ggs_block_request request;
    struct ggs_track *       track = NULL;
    uint64_t                 bytes = 0;
    int status                     = ggs_cursor_open(&cursor, t->export->trace.reader, GGS_TABLE_BLOCK_REQUESTS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &request, error)) > 0) {
        if (request.write != 0 || request.file == 0 || !in_steps(t->export, request.step)) continue;
        status = find_track(t, GGS_TRACK_COUNTER, 2, 0, "bytes requested from disk", &track, error);
        if (status == 0) status = announce(t, track, error);
        if (status < 0) break;
        bytes += request.bytes;
        track->end_ns = later(request.begin_ns, track->end_ns);
        status        = t->out->count(t->out->context, track, track->end_ns, bytes, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

// ---- kernels and transfers of devices ----

static int write_kernels(struct timeline * t, struct ggs_error * error) {
    struct ggs_cursor *    cursor = NULL;
    struct ggs_recent_runs runs   = {0};
    struct ggs_kernel      kernel;
    const struct ggs_run * run;
    struct ggs_track *     track;
    int                    status = ggs_recent_runs_open(&runs, &t->export->trace, error);
    if (status == 0) status = ggs_cursor_open(&cursor, t->export->trace.reader, GGS_TABLE_KERNELS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &kernel, error)) > 0) {
        status = ggs_recent_runs_find(&runs, kernel.run, &run, error);
        if (status < 0) break;
        if (run == NULL || !in_steps(t->export, run->step)) continue;
        status = free_track(t, device_of(t, run), GGS_TRACK_KERNELS, 0, "kernels", kernel.begin_ns, &track, error);
        if (status < 0) break;
        struct ggs_track_slice slice = {.kind     = GGS_SLICE_KERNEL,
                                        .name     = ggs_reader_string(t->export->trace.reader, kernel.name),
                                        .begin_ns = kernel.begin_ns,
                                        .end_ns   = ggs_time_after(kernel.begin_ns, kernel.duration_ns),
                                        .kernel   = &kernel};
        status                       = t->out->leaf(t->out->context, track, &slice, error);
        track->end_ns                = slice.end_ns;
    }
    ggs_cursor_close(cursor);
    ggs_recent_runs_close(&runs);
    return status;
}

static int write_transfer(struct timeline * t, const struct ggs_transfer * transfer, uint64_t device, bool in,
                          struct ggs_error * error) {
    struct ggs_track *     track;
    struct ggs_track_slice slice = {.kind     = GGS_SLICE_TRANSFER,
                                    .name     = ggs_reader_string(t->export->trace.reader, transfer->name),
                                    .begin_ns = transfer->begin_ns,
                                    .end_ns   = ggs_time_after(transfer->begin_ns, transfer->duration_ns),
                                    .transfer = transfer};
    int                    status =
        free_track(t, device, GGS_TRACK_TRANSFERS, in, in ? "to it" : "from it", slice.begin_ns, &track, error);
    if (status == 0) status = t->out->leaf(t->out->context, track, &slice, error);
    if (status == 0) track->end_ns = slice.end_ns;
    return status;
}

// Transfers belong to no step, so they are written only if all steps are.
static int write_transfers(struct timeline * t, struct ggs_error * error) {
    const struct ggs_trace * trace  = &t->export->trace;
    struct ggs_cursor *      cursor = NULL;
    struct ggs_transfer      transfer;
    if (t->export->options->steps || !ggs_device_list_has_other(&t->devices)) return 0;
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TRANSFERS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &transfer, error)) > 0) {
        uint64_t from = ggs_trace_buffer_device(trace, transfer.from_buffer),
                 to   = ggs_trace_buffer_device(trace, transfer.to_buffer);
        if (from == to) continue;
        if (to != 0) status = write_transfer(t, &transfer, to, true, error);
        if (status >= 0 && from != 0) status = write_transfer(t, &transfer, from, false, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

// The utilisation of each device, from the ops of the walk. Omitted if some graph runs have no op
// times.
static int write_busy(struct timeline * t, struct ggs_error * error) {
    const struct ggs_device_list * list  = &t->devices;
    uint64_t                       width = ggs_time_between(list->begin_ns, list->end_ns) / GGS_DEVICE_BINS + 1;
    struct ggs_track *             track;
    int                            status = 0;
    for (uint64_t i = 0; status == 0 && i < list->n; i++) {
        const struct ggs_device_totals * d = &list->device[i];
        if (d->row.type == GGS_DEVICE_CPU || d->ops == 0 || !ggs_device_is_timed(d)) continue;
        status = find_track_of(t, i + 1, GGS_TRACK_COUNTER, 1, 0, "busy", &track, error);
        if (status < 0) break;
        track->percent = true;
        status         = announce(t, track, error);
        for (int64_t k = 0; status == 0 && k < GGS_DEVICE_BINS; k++) {
            double   share   = (double) d->bins[k] / (double) width;
            uint64_t percent = share >= 1 ? 100 : (uint64_t) (100 * share + 0.5);
            status = t->out->count(t->out->context, track, ggs_time_after(list->begin_ns, (uint64_t) k * width),
                                   percent, error);
        }
    }
    return status;
}

// ---- runs ----

static int close_token(struct timeline * t, struct ggs_track * track, struct ggs_error * error) {
    if (track->token < 0) return 0;
    track->token = -1;
    return t->out->end(t->out->context, track, track->token_end_ns, error);
}

// Opens the run's slice on a thread's track, nested in the slice of its token.
static int begin_run(struct timeline * t, struct ggs_track * track, const struct ggs_walk * walk, int64_t begin,
                     struct ggs_error * error) {
    char                   name[64];
    struct ggs_track_slice slice  = {.kind = GGS_SLICE_RUN, .name = name, .begin_ns = begin, .walk = walk};
    int                    status = 0;
    if (track->token != walk->run.step) status = close_token(t, track, error);
    if (status == 0 && track->token < 0 && walk->run.step >= 0) {
        struct ggs_track_slice token = {.kind = GGS_SLICE_TOKEN, .name = name, .begin_ns = begin, .walk = walk};
        snprintf(name, sizeof(name), walk->trace->tokenless ? "step %" PRId64 : "token %" PRId64, walk->run.step);
        track->token = walk->run.step;
        status       = t->out->begin(t->out->context, track, &token, error);
    }
    snprintf(name, sizeof(name), "graph run %" PRIu64, walk->run.run);
    return status < 0 ? status : t->out->begin(t->out->context, track, &slice, error);
}

// Writes one thread's share of an op and the wait after it, clipped to [the track's last end, the
// run's end]. An op shorter than the clock's resolution gets 1 ns: readers take a slice of no
// length that is followed immediately for one without an end.
static int write_op_run(struct timeline * t, struct ggs_track * track, const struct ggs_walk * walk,
                        const struct ggs_access_list * accesses, const struct ggs_op_run * r, int64_t run_end,
                        struct ggs_error * error) {
    int64_t                begin = sooner(later(r->begin_ns, track->end_ns), run_end);
    int64_t                end   = sooner(later(r->begin_ns + (int64_t) r->duration_ns, begin + 1), run_end);
    int64_t                wait  = sooner(end + (int64_t) r->wait_ns, run_end);
    struct ggs_track_slice op    = {.kind     = GGS_SLICE_OP,
                                    .name     = walk->op.name,
                                    .begin_ns = begin,
                                    .end_ns   = end,
                                    .walk     = walk,
                                    .accesses = accesses};
    struct ggs_track_slice waits = {
        .kind = GGS_SLICE_WAIT, .name = "wait", .begin_ns = end, .end_ns = wait, .walk = walk};
    int status = t->out->leaf(t->out->context, track, &op, error);
    if (status == 0 && wait > end) status = t->out->leaf(t->out->context, track, &waits, error);
    track->end_ns = wait;
    return status;
}

static int count_disk(struct timeline * t, const struct ggs_walk * walk, const struct ggs_access_list * accesses,
                      struct ggs_error * error) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < accesses->n; i++) {
        const struct ggs_access * a = &accesses->access[i];
        if (!a->write && a->tensor->source == GGS_SOURCE_DISK) bytes += a->bytes;
    }
    if (bytes == 0) return 0;
    t->disk_bytes += bytes;
    t->disk->end_ns = later(walk->op.end_ns, t->disk->end_ns); // concurrent runs are walked one after the other
    return t->out->count(t->out->context, t->disk, t->disk->end_ns, t->disk_bytes, error);
}

// Writes the ops of a device's queue, each as a slice of its own: a queue has no threads to enclose
// them.
static int write_device_ops(struct timeline * t, struct ggs_walk * walk, uint64_t device, struct ggs_error * error) {
    int status = 0;
    while (status == 0 && ggs_walk_op(walk)) {
        const struct ggs_access_list * accesses;
        status = ggs_walk_accesses(walk, &accesses, error);
        for (uint64_t i = 0; status == 0 && i < walk->op.n_op_runs; i++) {
            const struct ggs_op_run * r = &walk->op.op_runs[i];
            struct ggs_track *        track;
            char                      name[48];
            if (r->thread == 0)
                snprintf(name, sizeof(name), "queue");
            else
                snprintf(name, sizeof(name), "queue %" PRIu64, r->thread);
            status = free_track(t, device, GGS_TRACK_THREAD, (int64_t) r->thread, name, r->begin_ns, &track, error);
            if (status < 0) break;
            struct ggs_track_slice op = {.kind     = GGS_SLICE_OP,
                                         .name     = walk->op.name,
                                         .begin_ns = r->begin_ns,
                                         .end_ns   = ggs_time_after(r->begin_ns, r->duration_ns),
                                         .walk     = walk,
                                         .accesses = accesses};
            status                    = t->out->leaf(t->out->context, track, &op, error);
            track->end_ns             = op.end_ns;
        }
        ggs_device_list_op(&t->devices, &walk->run, &walk->op);
        if (status == 0) status = count_disk(t, walk, accesses, error);
    }
    return status;
}

enum { MOST_THREADS = 1024 };

static int thread_track(struct timeline * t, const struct ggs_walk * walk, const struct ggs_op_run * r,
                        struct ggs_track ** lanes, struct ggs_error * error) {
    if (r->thread >= MOST_THREADS || lanes[r->thread] != NULL) return 0;
    char         name[96];
    const char * backend = ggs_reader_string(walk->trace->reader, walk->run.backend);
    if (walk->run.slot > 0 && t->processes.n < 2) {
        snprintf(name, sizeof(name), "%.48s thread %" PRIu64 ", %" PRId64, backend, r->thread, walk->run.slot);
    } else {
        snprintf(name, sizeof(name), "%.48s thread %" PRIu64, backend, r->thread);
    }
    struct ggs_track * track;
    int status = find_track_of(t, group_of(t, walk->run.process), GGS_TRACK_THREAD, walk->run.slot, (int64_t) r->thread,
                               name, &track, error);
    if (status < 0) return status;
    if (is_new(track)) track->os_thread = r->os_thread;
    status           = announce(t, track, error);
    lanes[r->thread] = track;
    int64_t begin    = later(walk->run.begin_ns, track->end_ns);
    if (status == 0) status = begin_run(t, track, walk, begin, error);
    track->end_ns = begin;
    return status;
}

static int write_ops(struct timeline * t, struct ggs_walk * walk, struct ggs_track ** lanes, struct ggs_error * error) {
    int status = 0;
    while (status == 0 && ggs_walk_op(walk)) {
        const struct ggs_access_list * accesses;
        status = ggs_walk_accesses(walk, &accesses, error);
        for (uint64_t i = 0; status == 0 && i < walk->op.n_op_runs; i++) {
            const struct ggs_op_run * r = &walk->op.op_runs[i];
            status                      = thread_track(t, walk, r, lanes, error);
            if (status < 0 || r->thread >= MOST_THREADS) continue;
            struct ggs_track * track = lanes[r->thread];
            status = write_op_run(t, track, walk, accesses, r, later(walk->run.end_ns, track->end_ns), error);
        }
        if (status == 0) status = count_disk(t, walk, accesses, error);
    }
    for (unsigned i = 0; i < MOST_THREADS; i++) {
        if (lanes[i] == NULL) continue;
        lanes[i]->end_ns       = later(walk->run.end_ns, lanes[i]->end_ns);
        lanes[i]->token_end_ns = lanes[i]->end_ns;
        if (status == 0) status = t->out->end(t->out->context, lanes[i], lanes[i]->end_ns, error);
    }
    return status;
}

static int write_run(struct timeline * t, struct ggs_walk * walk, struct ggs_error * error) {
    struct ggs_track * lanes[MOST_THREADS] = {0};
    struct ggs_track * track;
    char               name[96];
    uint64_t           device = device_of(t, &walk->run);
    int                status = 0;
    ggs_device_list_run(&t->devices, &walk->run);
    if (device != 0) {
        status = free_track(t, device, GGS_TRACK_BACKEND, 0, "graph runs", walk->run.begin_ns, &track, error);
    } else {
        const char * backend = ggs_reader_string(walk->trace->reader, walk->run.backend);
        snprintf(name, sizeof(name), "%.64s%s", backend,
                 walk->run.slot > 0 && t->processes.n < 2 ? ", at the same time" : "");
        status = find_track_of(t, group_of(t, walk->run.process), GGS_TRACK_BACKEND, (int64_t) walk->run.backend,
                               walk->run.slot, name, &track, error);
        if (status == 0) status = announce(t, track, error);
    }
    if (status < 0) return status;
    snprintf(name, sizeof(name), "graph run %" PRIu64, walk->run.run);
    int64_t                begin = later(walk->run.begin_ns, track->end_ns), end = later(walk->run.end_ns, begin);
    struct ggs_track_slice slice = {
        .kind = GGS_SLICE_RUN, .name = name, .begin_ns = begin, .end_ns = end, .walk = walk};
    status        = t->out->leaf(t->out->context, track, &slice, error);
    track->end_ns = end;
    if (status < 0 || walk->graph == NULL) return status;
    return device != 0 ? write_device_ops(t, walk, device, error) : write_ops(t, walk, lanes, error);
}

int ggs_tracks_write(struct ggs_export * export, const struct ggs_tracks * timeline, struct ggs_error * error) {
    struct timeline   t      = {.export = export, .out = timeline};
    struct ggs_walk * walk   = NULL;
    int               status = ggs_device_list_begin(&t.devices, &export->trace, error);
    if (status == 0) status = read_processes(&t, error);
    for (uint64_t i = 0; status == 0 && i <= t.devices.n; i++) status = write_buffers(&t, i, error);
    if (status == 0) status = find_track(&t, GGS_TRACK_COUNTER, 1, 0, "bytes read from disk", &t.disk, error);
    if (status == 0) status = announce(&t, t.disk, error);
    if (status == 0) status = write_windows(&t, error);
    if (status == 0) status = write_tokens(&t, error);
    if (status == 0) status = write_faults(&t, error);
    if (status == 0) status = write_requests(&t, error);
    if (status == 0) status = write_kernels(&t, error);
    if (status == 0) status = write_transfers(&t, error);
    if (status == 0) status = ggs_export_walk(export, &walk, error);
    while (walk != NULL && status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        status = write_run(&t, walk, error);
        if (status >= 0) ggs_export_step(export);
    }
    if (status == 0) status = write_busy(&t, error);
    ggs_device_list_release(&t.devices);
    ggs_process_list_release(&t.processes);
    for (uint64_t i = 0; i < t.n_tracks; i++) {
        if (status == 0) status = close_token(&t, t.tracks[i], error);
        free(t.tracks[i]);
    }
    free(t.tracks);
    free(t.process_names);
    ggs_walk_close(walk);
    return status;
}
