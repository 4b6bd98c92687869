#include "trace/seal/observed.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

static void close_lanes(struct ggs_observed * observed) {
    for (size_t i = 0; i < observed->n_lanes; i++) ggs_mapping_close(&observed->lanes[i].stream.mapping);
    free(observed->lanes);
    observed->lanes   = NULL;
    observed->n_lanes = 0;
}

bool ggs_observed_lanes(struct ggs_observed * observed) {
    if (!observed->active) return true;
    close_lanes(observed);
    observed->lanes = calloc(observed->spool->n_lanes + 1, sizeof(*observed->lanes));
    if (observed->lanes == NULL) return false;
    observed->n_lanes = observed->spool->n_lanes;
    for (size_t i = 0; i < observed->n_lanes; i++) {
        const struct ggs_spool_stream * lane = &observed->spool->lanes[i];
        observed->lanes[i].stream            = (struct ggs_spool_stream){
                       .segments = lane->segments, .n_segments = lane->n_segments, .lane = lane->lane, .base = lane->base};
    }
    return true;
}

static void read_ahead(struct ggs_observed * observed) {
    observed->ahead_position = ggs_spool_stream_tell(&observed->spool->machine, &observed->ahead_sequence);
    observed->more           = ggs_spool_stream_record(&observed->spool->machine, &observed->ahead);
}

void ggs_observed_reopen(struct ggs_observed * observed) {
    if (!observed->active) return;
    ggs_spool_stream_seek(&observed->spool->machine, observed->ahead_sequence, observed->ahead_position);
    read_ahead(observed);
}

int ggs_observed_init(struct ggs_observed * observed, const struct ggs_clock * clock, struct ggs_error * error) {
    observed->active = observed->spool->machine.n_segments > 0;
    if (!observed->active) return 0;
    observed->clock = *clock;
    read_ahead(observed);
    return ggs_observed_lanes(observed) ? 0 : ggs_fail_memory(error);
}

void ggs_observed_release(struct ggs_observed * observed) {
    close_lanes(observed);
    free(observed->runs);
    *observed = (struct ggs_observed){0};
}

void ggs_observed_save(const struct ggs_observed * observed, size_t lane, struct ggs_part_lane * out) {
    if (!observed->active) {
        out->seen_sequence = UINT32_MAX;
        return;
    }
    const struct ggs_observed_lane * from = &observed->lanes[lane];
    uint32_t                         sequence;
    out->seen_position = ggs_spool_stream_tell(&from->stream, &sequence);
    out->seen_sequence = sequence;
    out->seen          = from->op;
}

void ggs_observed_load(struct ggs_observed * observed, size_t lane, const struct ggs_part_lane * saved) {
    if (!observed->active) return;
    struct ggs_observed_lane * to = &observed->lanes[lane];
    ggs_spool_stream_seek(&to->stream, (uint32_t) saved->seen_sequence, saved->seen_position);
    to->op = saved->seen;
}

// ---- threads and their ops ----

static void enter_op(struct ggs_observed * observed, struct ggs_observed_lane * lane, const struct ggs_unit * unit,
                     int64_t begin_ns) {
    lane->op.os_thread = lane->op.next_thread;
    lane->op.run       = unit->run;
    lane->op.node      = unit->node;
    lane->op.begin_ns  = begin_ns;
    lane->op.end_ns    = INT64_MAX; // if it was cut off
    lane->op.exact     = (unit->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
    if ((unit->flags & GGS_OP_RUN_ENDED) != 0)
        lane->op.end_ns = ggs_clock_ns(&observed->clock, unit->begin + unit->duration);
}

// Moves to the last op that began at `ns` or before.
static void advance(struct ggs_observed * observed, struct ggs_observed_lane * lane, int64_t ns) {
    const struct ggs_unit * unit;
    while ((unit = ggs_spool_stream_unit(&lane->stream)) != NULL) {
        if (unit->type == GGS_UNIT_THREAD) {
            lane->op.next_thread = unit->node;
        } else if (unit->type == GGS_UNIT_OP) {
            int64_t begin_ns = ggs_clock_ns(&observed->clock, unit->begin);
            if (begin_ns > ns) return;
            enter_op(observed, lane, unit, begin_ns);
        }
        ggs_spool_stream_skip(&lane->stream);
    }
}

static const struct ggs_observed_run * find_run(const struct ggs_observed * observed, uint64_t run) {
    size_t i = ggs_search(observed->n_runs, at, observed->runs[at].run < run);
    return i < observed->n_runs && observed->runs[i].run == run ? &observed->runs[i] : NULL;
}

// True if the lane is inside an op. Without a hooked barrier an op lasts until the next one or the
// end of its run.
static bool computes(const struct ggs_observed * observed, const struct ggs_observed_lane * lane, int64_t ns) {
    if (lane->op.run == 0 || lane->op.begin_ns > ns) return false;
    if (ns < lane->op.end_ns && lane->op.end_ns != INT64_MAX) return true;
    const struct ggs_observed_run * run = find_run(observed, lane->op.run);
    if (run == NULL || ns > run->end_ns) return false;
    return lane->op.end_ns == INT64_MAX || (run->bounded && !lane->op.exact);
}

// Finds what the record's thread computed at that time, and what the first computing thread did.
static struct ggs_part_place find_lanes(struct ggs_observed * observed, uint64_t os_thread, int64_t ns) {
    struct ggs_part_place found = {0};
    for (size_t i = 0; i < observed->n_lanes; i++) {
        struct ggs_observed_lane * lane = &observed->lanes[i];
        advance(observed, lane, ns);
        if (!computes(observed, lane, ns)) continue;
        if (found.run == 0 && lane->op.os_thread == os_thread) found.run = lane->op.run, found.node = lane->op.node;
        if (found.any_run == 0) found.any_run = lane->op.run, found.any_node = lane->op.node;
    }
    return found;
}

// Called once per record, in their order.
static struct ggs_part_place locate(struct ggs_observed * observed, uint64_t os_thread, int64_t ns) {
    if (observed->part != NULL) return ggs_part_next_placement(observed->part);
    struct ggs_part_place found = find_lanes(observed, os_thread, ns);
    if (observed->keep != NULL) ggs_part_keep_placement(observed->keep, found);
    return found;
}

// The newest run in progress. There are few at any time.
static const struct ggs_observed_run * run_at(const struct ggs_observed * observed, int64_t ns) {
    enum { REACH = 64 };
    for (size_t i = observed->n_runs, n = 0; i-- > 0 && n < REACH; n++)
        if (observed->runs[i].begin_ns <= ns && ns <= observed->runs[i].end_ns) return &observed->runs[i];
    return NULL;
}

struct place {
    uint64_t run, node;
    int64_t  step;
};

static struct place place_of(const struct ggs_observed * observed, const struct ggs_part_place * found, int64_t ns,
                             bool any) {
    bool                            own   = found->run != 0 || !any;
    uint64_t                        at    = own ? found->run : found->any_run;
    const struct ggs_observed_run * run   = at == 0 ? NULL : find_run(observed, at);
    struct place                    place = {0, 0, -1};
    if (run != NULL) {
        place = (struct place){run->run, own ? found->node : found->any_node, run->step};
    } else if ((run = run_at(observed, ns)) != NULL) {
        place.step = run->step; // between ops, or on a helper thread
    }
    return place;
}

// ---- records ----

static int64_t since_start(const struct ggs_observed * observed, uint64_t monotonic_ns) {
    uint64_t start = observed->clock.start_ns;
    return monotonic_ns <= start ? 0 : (int64_t) ((monotonic_ns - start) & INT64_MAX);
}

static uint64_t span(uint64_t begin_ns, uint64_t end_ns) {
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void write_fault(struct ggs_observed * observed, const struct ggs_journal_fault * fault) {
    if (fault->pid != observed->pid) return; // another process
    int64_t               ns    = since_start(observed, fault->begin_ns);
    struct ggs_part_place found = locate(observed, fault->os_thread, ns);
    struct place          place = place_of(observed, &found, ns, false);
    struct ggs_fault      row   = {.begin_ns    = ns,
                                   .duration_ns = span(fault->begin_ns, fault->end_ns),
                                   .kind        = fault->kind <= GGS_FAULT_MAJOR ? fault->kind : GGS_FAULT_OPEN,
                                   .os_thread   = fault->os_thread,
                                   .address     = fault->address,
                                   .run         = place.run,
                                   .node        = place.node,
                                   .step        = place.step};
    row.file                    = ggs_places_recorded(observed->places, fault->address, ns, &row.file_offset);
    ggs_writer_append(observed->writer, GGS_TABLE_FAULTS, &row);
}

// A thread without a CPU stays at its op: it returns to what it computed when it left.
static void write_off_cpu(struct ggs_observed * observed, const struct ggs_journal_off_cpu * span_) {
    if (span_->pid != observed->pid) return;
    int64_t               ns    = since_start(observed, span_->end_ns);
    struct ggs_part_place found = locate(observed, span_->os_thread, ns);
    struct place          place = place_of(observed, &found, ns, false);
    struct ggs_off_cpu    row   = {.begin_ns    = since_start(observed, span_->begin_ns),
                                   .duration_ns = span(span_->begin_ns, span_->end_ns),
                                   .kind        = span_->kind < GGS_OFF_CPU_COUNT ? span_->kind : 0,
                                   .os_thread   = span_->os_thread,
                                   .cpu         = span_->cpu,
                                   .other       = span_->other < GGS_OTHER_COUNT ? span_->other : GGS_OTHER_UNSEEN,
                                   .run         = place.run,
                                   .node        = place.node,
                                   .step        = place.step};
    row.name = ggs_writer_string(observed->writer, span_->name, strnlen(span_->name, sizeof(span_->name)));
    ggs_writer_append(observed->writer, GGS_TABLE_OFF_CPU, &row);
}

// A request may cover separate pieces of one or several files: a row for each.
static void write_request(struct ggs_observed * observed, const struct ggs_journal_request * request) {
    enum { SECTOR = 512, MOST_BYTES = 256 << 20 }; // no disk accepts more
    const struct ggs_seal_options * options = observed->options;
    const char * const *            paths   = (const char * const *) observed->places->paths;
    uint64_t                        done    = 0, offset;
    int64_t                         ns      = since_start(observed, request->begin_ns);
    struct ggs_part_place           found   = locate(observed, request->os_thread, ns);
    if (options->disk == NULL) return;
    if (request->bytes > MOST_BYTES || request->sector > UINT64_MAX / SECTOR / 2) {
        observed->damaged++;
        return;
    }
    offset = request->sector * SECTOR;
    while (done < request->bytes) {
        struct ggs_disk_piece piece = {0};
        enum ggs_disk_place   where = options->disk(options->disk_context, paths, observed->places->n_files,
                                                    request->device, offset + done, &piece);
        if (where == GGS_DISK_FOREIGN || piece.length == 0) return;
        bool     ours  = where == GGS_DISK_FILE && piece.file < observed->places->n_files;
        uint64_t bytes = piece.length < request->bytes - done ? piece.length : request->bytes - done;
        // Requests of other programs are not attributed to ops.
        struct place             place = place_of(observed, &found, ns, ours && request->write == 0);
        struct ggs_block_request row   = {.begin_ns    = ns,
                                          .duration_ns = span(request->begin_ns, request->end_ns),
                                          .device      = request->device,
                                          .sector      = (offset + done) / SECTOR,
                                          .bytes       = bytes,
                                          .write       = request->write != 0,
                                          .os_thread   = request->os_thread,
                                          .file        = ours ? piece.file + 1 : 0,
                                          .file_offset = ours ? piece.offset : 0,
                                          .run         = place.run,
                                          .node        = place.node,
                                          .step        = ours || place.run != 0 ? place.step : -1,
                                          .process     = place.run != 0 ? observed->writer->process : 0};
        ggs_writer_append(observed->writer, GGS_TABLE_BLOCK_REQUESTS, &row);
        done += bytes;
    }
}

static void write_record(struct ggs_observed * observed, const struct ggs_record * record) {
    const struct ggs_journal_loss * loss = record->body;
    struct ggs_loss                 row;
    switch (record->type) {
        case GGS_JOURNAL_FAULT:
            write_fault(observed, record->body);
            break;
        case GGS_JOURNAL_REQUEST:
            write_request(observed, record->body);
            break;
        case GGS_JOURNAL_OFF_CPU:
            write_off_cpu(observed, record->body);
            break;
        case GGS_JOURNAL_LOSS:
            row = (struct ggs_loss){.reason = loss->reason,
                                    .lane   = GGS_SPOOL_MACHINE,
                                    .count  = loss->count,
                                    .end_ns = since_start(observed, record->ticks)};
            ggs_writer_append(observed->writer, GGS_TABLE_LOSSES, &row);
            break;
        default:
            observed->damaged++;
    }
}

// ---- runs ----

void ggs_observed_run(struct ggs_observed * observed, const struct ggs_run * run) {
    if (!observed->active) return;
    if (!ggs_array_push(observed->runs, observed->n_runs, observed->capacity,
                        (struct ggs_observed_run){run->run, run->step, run->begin_ns, run->end_ns,
                                                  (run->flags & GGS_RUN_NO_WAITS) != 0}))
        ggs_writer_fail_memory(observed->writer);
}

// Drops runs that ended before any record that can still come.
static void forget(struct ggs_observed * observed, int64_t ns) {
    size_t n = 0;
    while (n < observed->n_runs && observed->runs[n].end_ns < ns) n++;
    if (n == 0) return;
    memmove(observed->runs, observed->runs + n, (observed->n_runs - n) * sizeof(*observed->runs));
    observed->n_runs -= n;
}

void ggs_observed_emit(struct ggs_observed * observed, int64_t ns) {
    if (!observed->active) return;
    while (observed->more && observed->writer->status == 0) {
        if (ns != INT64_MAX && since_start(observed, observed->ahead.ticks) >= ns) break;
        write_record(observed, &observed->ahead);
        read_ahead(observed);
    }
    if (ns == INT64_MAX) return;
    // Records are in time order, so earlier ops are not needed.
    for (size_t i = 0; observed->part == NULL && i < observed->n_lanes; i++) advance(observed, &observed->lanes[i], ns);
    forget(observed, ns);
}
