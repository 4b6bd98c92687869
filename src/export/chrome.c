// The timeline as Chrome trace events: a JSON object with one event per line.
//
//     X a slice with its duration   B, E the ends of an enclosing slice   C a counter   M track names
//
// Times are microseconds in steps of 1/1024, rounded up. These are exact in binary, so ts + dur and
// the differences that readers compute are exact, and a slice ends exactly where its parent or the
// next slice says. Truncated to nanoseconds they equal the recording. An E event repeats the name
// and arguments of its B event, because some readers match them by these.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "export/formats.h"
#include "export/metadata.h"
#include "export/tracks.h"

// An open slice of a track.
struct open_slice {
    enum ggs_slice_kind kind;
    char                name[64];
    uint64_t            phase;
    struct ggs_run      run;
};

struct open_track {
    struct open_slice slices[2]; // token, graph run
    unsigned          n;
};

struct chrome {
    struct ggs_export * export;
    struct ggs_target   target;
    struct ggs_json     json;
    struct open_track * tracks; // by id
    uint64_t            n_tracks, capacity;
    uint64_t            groups; // bit set of groups whose name was written
};

static int result_of(struct chrome * c, struct ggs_error * error) {
    return ggs_target_result(&c->target, error);
}

static int64_t steps_of(int64_t ns) {
    return ns / 125 * 128 + (ns % 125 * 128 + 124) / 125;
}

static void put_time(struct ggs_json * json, const char * key, int64_t steps) {
    ggs_json_double(json, key, (double) steps / 1024);
}

// Each device is a process of the trace, so that its tracks are shown together under its name.
static void begin_event(struct chrome * c, const char * phase, const char * name, const struct ggs_track * track) {
    ggs_json_object_inline(&c->json, NULL);
    ggs_json_string(&c->json, "ph", phase);
    ggs_json_string(&c->json, "name", name);
    ggs_json_u64(&c->json, "pid", 1 + track->group);
    ggs_json_u64(&c->json, "tid", track->id);
}

static void put_named(struct chrome * c, const char * what, const struct ggs_track * track, const char * name) {
    begin_event(c, "M", what, track);
    ggs_json_object_inline(&c->json, "args");
    ggs_json_string(&c->json, "name", name);
    ggs_json_end(&c->json);
    ggs_json_end(&c->json);
}

static int put_track(void * context, const struct ggs_track * track, struct ggs_error * error) {
    struct chrome * c = context;
    if (track->group != 0 && (track->group >= 64 || (c->groups >> track->group & 1) == 0))
        put_named(c, "process_name", track, track->group_name);
    if (track->group < 64) c->groups |= 1ull << track->group;
    if (track->kind == GGS_TRACK_COUNTER) return result_of(c, error); // counters are identified by their name
    put_named(c, "thread_name", track, track->name);
    begin_event(c, "M", "thread_sort_index", track);
    ggs_json_object_inline(&c->json, "args");
    ggs_json_u64(&c->json, "sort_index", (uint64_t) track->kind * 10000 + track->id);
    ggs_json_end(&c->json);
    ggs_json_end(&c->json);
    return result_of(c, error);
}

static void put_op_arguments(struct chrome * c, const struct ggs_track_slice * slice) {
    const struct ggs_walk * walk = slice->walk;
    struct ggs_json *       json = &c->json;
    uint64_t                read = 0, written = 0, disk = 0;
    if (walk->op.layer >= 0) ggs_json_i64(json, "layer", walk->op.layer);
    if (walk->op.result != NULL) ggs_json_string(json, "tensor", ggs_tensor_name(c->export, walk->op.result));
    ggs_json_array_inline(json, "sources");
    for (unsigned i = 0; i < slice->accesses->n; i++) {
        const struct ggs_access * a = &slice->accesses->access[i];
        *(a->write ? &written : &read) += a->bytes;
        if (a->tensor->source == GGS_SOURCE_DISK) disk += a->bytes;
        if (!a->write) ggs_json_string(json, NULL, ggs_tensor_name(c->export, a->tensor));
    }
    ggs_json_end(json);
    ggs_json_u64(json, "bytes_read", read);
    ggs_json_u64(json, "bytes_written", written);
    ggs_json_u64(json, "bytes_disk", disk);
    ggs_json_u64(json, "run", walk->run.run);
    ggs_json_u64(json, "node", walk->op.node);
}

static void put_run_arguments(struct chrome * c, const struct ggs_run * run) {
    struct ggs_json * json = &c->json;
    ggs_json_u64(json, "graph", run->graph);
    ggs_json_u64(json, "nodes", run->nodes);
    ggs_json_u64(json, "executed", run->executed);
    ggs_json_u64(json, "threads", run->threads);
    ggs_json_string(json, "phase", ggs_word_phase(run->phase));
}

static void put_fault_arguments(struct ggs_json * json, const struct ggs_fault * fault) {
    if (fault->file != 0) {
        ggs_json_u64(json, "file", fault->file);
        ggs_json_u64(json, "file_offset", fault->file_offset);
    }
    if (fault->run != 0) {
        ggs_json_u64(json, "run", fault->run);
        ggs_json_u64(json, "node", fault->node);
    }
}

static void put_kernel_arguments(struct ggs_json * json, const struct ggs_kernel * kernel) {
    ggs_json_u64(json, "run", kernel->run);
    if (kernel->nodes > 0) ggs_json_u64(json, "node", kernel->node);
    if (kernel->bytes > 0) ggs_json_u64(json, "bytes", kernel->bytes);
    if (kernel->grid_x == 0) return;
    char text[96];
    snprintf(text, sizeof(text), "%" PRIu64 " x %" PRIu64 " x %" PRIu64, kernel->grid_x, kernel->grid_y,
             kernel->grid_z);
    ggs_json_string(json, "grid", text);
    snprintf(text, sizeof(text), "%" PRIu64 " x %" PRIu64 " x %" PRIu64, kernel->block_x, kernel->block_y,
             kernel->block_z);
    ggs_json_string(json, "block", text);
}

static void begin_arguments(struct chrome * c, enum ggs_slice_kind kind) {
    static const char * const categories[GGS_SLICES] = {"token", "graph run", "op",       "wait",
                                                        "fault", "kernel",    "transfer", "window"};
    ggs_json_string(&c->json, "cat", categories[kind]);
    ggs_json_object_inline(&c->json, "args");
}

static void put_arguments(struct chrome * c, const struct ggs_track_slice * slice) {
    begin_arguments(c, slice->kind);
    if (slice->kind == GGS_SLICE_OP) put_op_arguments(c, slice);
    if (slice->kind == GGS_SLICE_RUN) put_run_arguments(c, &slice->walk->run);
    if (slice->kind == GGS_SLICE_FAULT) put_fault_arguments(&c->json, slice->fault);
    if (slice->kind == GGS_SLICE_KERNEL) put_kernel_arguments(&c->json, slice->kernel);
    if (slice->kind == GGS_SLICE_TRANSFER) {
        ggs_json_u64(&c->json, "bytes", slice->transfer->bytes);
        ggs_json_bool(&c->json, "async", slice->transfer->async != 0);
    }
    if (slice->kind == GGS_SLICE_TOKEN) ggs_json_string(&c->json, "phase", ggs_word_phase(ggs_slice_phase(slice)));
    ggs_json_end(&c->json);
}

static int put_begin(void * context, const struct ggs_track * track, const struct ggs_track_slice * slice,
                     struct ggs_error * error) {
    struct chrome * c = context;
    if (!ggs_array_reserve(c->tracks, c->capacity, track->id + 1)) return ggs_fail_memory(error);
    while (c->n_tracks <= track->id) c->tracks[c->n_tracks++].n = 0;
    struct open_track * open = &c->tracks[track->id];
    if (open->n < 2) {
        struct open_slice * kept = &open->slices[open->n++];
        *kept = (struct open_slice){.kind = slice->kind, .phase = ggs_slice_phase(slice), .run = slice->walk->run};
        snprintf(kept->name, sizeof(kept->name), "%s", slice->name);
    }
    begin_event(c, "B", slice->name, track);
    put_time(&c->json, "ts", steps_of(slice->begin_ns));
    put_arguments(c, slice);
    ggs_json_end(&c->json);
    return result_of(c, error);
}

static int put_end(void * context, const struct ggs_track * track, int64_t ns, struct ggs_error * error) {
    struct chrome *     c    = context;
    struct open_track * open = track->id < c->n_tracks ? &c->tracks[track->id] : NULL;
    if (open == NULL || open->n == 0) return 0;
    const struct open_slice * slice = &open->slices[--open->n];
    begin_event(c, "E", slice->name, track);
    put_time(&c->json, "ts", steps_of(ns));
    begin_arguments(c, slice->kind);
    if (slice->kind == GGS_SLICE_RUN) put_run_arguments(c, &slice->run);
    if (slice->kind == GGS_SLICE_TOKEN) ggs_json_string(&c->json, "phase", ggs_word_phase(slice->phase));
    ggs_json_end(&c->json);
    ggs_json_end(&c->json);
    return result_of(c, error);
}

static int put_leaf(void * context, const struct ggs_track * track, const struct ggs_track_slice * slice,
                    struct ggs_error * error) {
    struct chrome * c = context;
    begin_event(c, "X", slice->name, track);
    put_time(&c->json, "ts", steps_of(slice->begin_ns));
    put_time(&c->json, "dur", steps_of(slice->end_ns) - steps_of(slice->begin_ns));
    put_arguments(c, slice);
    ggs_json_end(&c->json);
    return result_of(c, error);
}

static int put_count(void * context, const struct ggs_track * track, int64_t ns, uint64_t value,
                     struct ggs_error * error) {
    struct chrome * c = context;
    begin_event(c, "C", track->name, track);
    put_time(&c->json, "ts", steps_of(ns));
    ggs_json_object_inline(&c->json, "args");
    ggs_json_u64(&c->json, track->percent ? "percent" : "bytes", value);
    ggs_json_end(&c->json);
    ggs_json_end(&c->json);
    return result_of(c, error);
}

int ggs_export_chrome(struct ggs_export * export, struct ggs_error * error) {
    struct chrome * c = calloc(1, sizeof(*c));
    if (c == NULL) return ggs_fail_memory(error);
    c->export  = export;
    int status = ggs_export_open(export, &c->target, NULL, error);
    if (status == 0) {
        const struct ggs_tracks timeline = {put_track, put_begin, put_end, put_leaf, put_count, c};
        const char *            model    = ggs_metadata_text(export->facts, "model");
        ggs_json_init(&c->json, ggs_target_json, &c->target, true);
        ggs_json_object(&c->json, NULL);
        ggs_json_string(&c->json, "experiment_id", export->id);
        ggs_json_string(&c->json, "displayTimeUnit", "ns");
        ggs_json_array(&c->json, "traceEvents");
        const struct ggs_track process = {0};
        put_named(c, "process_name", &process, model == NULL ? "engine" : model);
        status = ggs_tracks_write(export, &timeline, error);
        ggs_json_end(&c->json);
        ggs_json_end(&c->json);
        if (status == 0) ggs_json_finish(&c->json); // failures are kept in the target
        status = ggs_export_close(export, &c->target, status, error);
    }
    free(c->tracks);
    free(c);
    return status;
}
