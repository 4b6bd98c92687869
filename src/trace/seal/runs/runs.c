#include "trace/seal/runs/runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trace/seal/runs/device-runs.h"

int ggs_runs_init(struct ggs_runs * runs, struct ggs_error * error) {
    runs->newest_step = -1;
    runs->os_threads  = calloc(runs->spool->n_lanes + 1, sizeof(*runs->os_threads));
    runs->unmatched   = calloc(runs->spool->n_lanes + 1, sizeof(*runs->unmatched));
    return runs->os_threads == NULL || runs->unmatched == NULL ? ggs_fail_memory(error) : 0;
}

void ggs_runs_release(struct ggs_runs * runs) {
    free(runs->open);
    free(runs->os_threads);
    free(runs->unmatched);
    free(runs->nodes);
    free(runs->edges);
    free(runs->held);
    free(runs->begins);
    free(runs->queues);
}

// ---- what one run's lanes hold ----

// A run while its units are read.
struct pull {
    struct ggs_runs *             runs;
    struct ggs_run *              row;
    const struct ggs_seal_graph * graph; // NULL if unknown
    size_t                        lane;  // index in the spool
    uint64_t                      thread;
    struct ggs_lod_lane *         lod;
    struct ggs_node_edges *       before;  // of the thread's op before; NULL for none
    int64_t                       last_ns; // latest time seen
    uint64_t                      damaged; // op runs
    struct ggs_seal_batch         batch;   // what index data says of tokens; owned
};

static int64_t forward(int64_t from, int64_t to) {
    return to > from ? to - from : 0;
}

// Times of an op that has ended, from its unit.
static void set_times(struct ggs_clock * clock, struct ggs_op_run * row, const struct ggs_unit * unit) {
    uint64_t end     = unit->begin + unit->duration;
    int64_t  end_ns  = ggs_clock_ns(clock, end);
    row->duration_ns = (uint64_t) forward(row->begin_ns, end_ns);
    end_ns           = row->begin_ns + (int64_t) row->duration_ns;
    if (unit->wait != 0) row->wait_ns = (uint64_t) forward(end_ns, ggs_clock_ns(clock, end + unit->wait));
    if (unit->inner_wait != 0)
        row->inner_wait_ns = (uint64_t) forward(row->begin_ns, ggs_clock_ns(clock, unit->begin + unit->inner_wait));
}

// Between two ops all threads meet: none begins the second before all have ended the first. Read without a fence, which would cost more than
// all the rest of recording, a counter is up to a quarter of a microsecond ahead of the barrier that it was read after.
static void keep_order(struct pull * pull, struct ggs_op_run * row) {
    struct ggs_node_edges *edges = pull->runs->edges, *own = &edges[row->node];
    int64_t end_ns = row->begin_ns + (int64_t) row->duration_ns, wait_end_ns = end_ns + (int64_t) row->wait_ns;
    if (end_ns > own->next_ns) end_ns = own->next_ns;
    if (row->begin_ns > end_ns) row->begin_ns = end_ns;
    if (pull->before != NULL && row->begin_ns < pull->before->ended_ns) row->begin_ns = pull->before->ended_ns;
    row->duration_ns = (uint64_t) forward(row->begin_ns, end_ns);
    end_ns           = row->begin_ns + (int64_t) row->duration_ns;
    if (row->wait_ns > 0) row->wait_ns = (uint64_t) forward(end_ns, wait_end_ns);
    if (row->inner_wait_ns > row->duration_ns) row->inner_wait_ns = row->duration_ns;
    if (pull->before != NULL && row->begin_ns < pull->before->next_ns) pull->before->next_ns = row->begin_ns;
    if (end_ns > own->ended_ns) own->ended_ns = end_ns;
    pull->before = own;
}

// Writes an op run that is complete.
static void write_op(struct ggs_runs * runs, struct ggs_run * run, struct ggs_lod_lane * lane,
                     const struct ggs_op_run * row) {
    ggs_writer_append(runs->writer, GGS_TABLE_OP_RUNS, row);
    if (lane != NULL) ggs_lods_add(runs->lods, lane, row);
    run->op_runs++;
}

static void pull_op(struct pull * pull, const struct ggs_unit * unit) {
    enum { KEPT = GGS_OP_RUN_ENDED | GGS_OP_RUN_FUSED | GGS_OP_RUN_EXTRA | GGS_OP_RUN_WAIT_UNSEEN };
    struct ggs_runs * runs = pull->runs;
    if (pull->graph != NULL && unit->node >= pull->graph->n_nodes) {
        pull->damaged++;
        return;
    }
    struct ggs_op_run row = {.run       = pull->row->run,
                             .node      = unit->node,
                             .thread    = pull->thread,
                             .os_thread = runs->os_threads[pull->lane],
                             .begin_ns  = ggs_clock_ns(runs->clock, unit->begin),
                             .flags     = unit->flags & KEPT,
                             .submit_ns = -1};
    if (unit->flags & GGS_OP_RUN_ENDED) set_times(runs->clock, &row, unit);
    int64_t end_ns = row.begin_ns + (int64_t) (row.duration_ns + row.wait_ns);
    if (unit->flags & GGS_OP_RUN_FUSED) row.absorbed = 1;
    if (end_ns > pull->last_ns) pull->last_ns = end_ns;
    // Old releases visit empty nodes too; nothing is computed there.
    if (pull->graph != NULL && (pull->graph->root->kinds[unit->node] & GGS_NODE_IS_EMPTY)) return;
    if (pull->graph != NULL) {
        runs->nodes[unit->node] |= GGS_NODE_WAS_EXECUTED;
        if (unit->flags & GGS_OP_RUN_ENDED) keep_order(pull, &row);
        uint32_t left = (uint32_t) row.absorbed;
        for (uint32_t i = unit->node + 1; left > 0 && i < pull->graph->n_nodes; i++) {
            if (pull->graph->root->kinds[i] & GGS_NODE_IS_EMPTY) continue;
            runs->nodes[i] |= GGS_NODE_WAS_ABSORBED;
            left--;
        }
    }
    if ((pull->row->flags & GGS_RUN_NO_WAITS) == 0)
        write_op(runs, pull->row, pull->lod, &row);
    else if (ggs_writer_reserve(runs->writer, runs->held, runs->held_capacity, runs->n_held + 1))
        runs->held[runs->n_held++] = row;
}

static void pull_index(struct pull * pull, const struct ggs_spool_index * unit, const void * payload, uint64_t length) {
    if (pull->graph != NULL && unit->node >= pull->graph->n_nodes) {
        pull->runs->damaged++;
        return;
    }
    bool             cut = (unit->flags & GGS_INDEX_CUT) != 0 || length > GGS_BYTES_MAX;
    struct ggs_index row = {.run    = pull->row->run,
                            .node   = unit->node,
                            .slot   = unit->source,
                            .width  = unit->width,
                            .flags  = cut ? GGS_INDEX_CUT : 0,
                            .ne     = {unit->ne[0], unit->ne[1], unit->ne[2], unit->ne[3]},
                            .data   = payload,
                            .length = length > GGS_BYTES_MAX ? GGS_BYTES_MAX : length};
    ggs_writer_append(pull->runs->writer, GGS_TABLE_INDEX, &row);
    if (pull->graph != NULL && !ggs_seal_batch_learn(&pull->batch, pull->graph->root, &row))
        ggs_writer_fail_memory(pull->runs->writer);
}

// Takes from a lane what belongs to the run. What belongs to none before it is counted.
static void pull_lane(struct pull * pull, struct ggs_spool_stream * lane) {
    const struct ggs_unit * unit;
    uint32_t                run = (uint32_t) pull->row->run;
    while ((unit = ggs_spool_stream_unit(lane)) != NULL) {
        if (unit->type == GGS_UNIT_THREAD) {
            pull->runs->os_threads[pull->lane] = unit->node;
        } else if (unit->run != run) {
            if (unit->run > run) {
                if (lane->gap) pull->row->flags |= GGS_RUN_PARTIAL; // what is missing may have been this run's
                return;
            }
            if (unit->type == GGS_UNIT_OP) pull->runs->unmatched[pull->lane]++;
        } else if (unit->type == GGS_UNIT_OP) {
            pull_op(pull, unit);
        } else {
            const struct ggs_spool_index * index = ggs_spool_stream_index(lane);
            pull_index(pull, index, index + 1, index->bytes);
            if (pull->runs->keep != NULL) ggs_part_keep_index(pull->runs->keep, index, index + 1);
        }
        if (lane->gap && unit->type != GGS_UNIT_THREAD && unit->run == run) {
            pull->row->flags |= GGS_RUN_PARTIAL;
            lane->gap = false;
        }
        ggs_spool_stream_skip(lane);
    }
}

// ---- runs of engines whose barrier was not seen ----

static int by_node(const void * a, const void * b) {
    const struct ggs_node_begin *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

// When the first thread began the node, which is one of them.
static int64_t first_begin(const struct ggs_runs * runs, uint64_t node) {
    return runs->begins[ggs_search(runs->n_held, at, runs->begins[at].node < node)].begin_ns;
}

// The end of an op was not seen on this thread: all waits that were seen are inside it, and it ended before any thread began the
// next one (`bound_ns`; -1 if the run was interrupted before that).
static void set_bound(struct ggs_op_run * row, int64_t bound_ns) {
    row->inner_wait_ns += row->wait_ns;
    row->wait_ns     = 0;
    row->duration_ns = bound_ns < 0 ? 0 : (uint64_t) forward(row->begin_ns, bound_ns);
    row->flags |= GGS_OP_RUN_WAIT_UNSEEN | GGS_OP_RUN_END_BOUND | GGS_OP_RUN_ENDED;
    if (bound_ns < 0) row->flags &= ~(uint64_t) (GGS_OP_RUN_END_BOUND | GGS_OP_RUN_ENDED);
}

static void write_held(struct ggs_runs * runs, struct ggs_run * run, const struct ggs_device * device) {
    size_t n     = runs->n_held;
    runs->n_held = 0;
    if (n == 0 || !ggs_writer_reserve(runs->writer, runs->begins, runs->begins_capacity, n)) return;
    for (size_t i = 0; i < n; i++)
        runs->begins[i] = (struct ggs_node_begin){runs->held[i].node, runs->held[i].begin_ns};
    runs->n_held = n;
    qsort(runs->begins, n, sizeof(*runs->begins), by_node);
    for (size_t i = 0; i < n; i++) {
        struct ggs_op_run * row   = &runs->held[i];
        bool                last  = i + 1 == n || runs->held[i + 1].thread != row->thread;
        int64_t             bound = run->flags & GGS_RUN_INTERRUPTED ? -1 : run->end_ns;
        if (!last) bound = first_begin(runs, runs->held[i + 1].node);
        if ((row->flags & GGS_OP_RUN_WAIT_UNSEEN) == 0)
            set_bound(row, bound);
        else if (bound >= 0 && row->begin_ns + (int64_t) row->duration_ns > bound) // counters of cores differ by 0.1 us
            row->duration_ns = (uint64_t) forward(row->begin_ns, bound);
        if (row->inner_wait_ns > row->duration_ns) row->inner_wait_ns = row->duration_ns;
        write_op(runs, run, ggs_lods_lane(runs->lods, device, run->slot, row->thread), row);
    }
    runs->n_held = 0;
}

// ---- coverage ----

static void cover(struct pull * pull) {
    const struct ggs_seal_graph * root = pull->graph->root;
    struct ggs_run *              row  = pull->row;
    row->nodes                         = root->n_nodes;
    for (uint32_t i = 0; i < root->n_nodes; i++) {
        uint8_t seen = pull->runs->nodes[i], kind = root->kinds[i];
        if (seen & GGS_NODE_WAS_EXECUTED)
            row->executed++;
        else if (seen & GGS_NODE_WAS_ABSORBED)
            row->absorbed++;
        else if (kind & GGS_NODE_IS_EMPTY)
            row->empty++;
        else if (seen & GGS_NODE_WAS_SKIPPED)
            row->skipped++;
        // A release that has compute flags has them on in most nodes; without any the flag means nothing.
        else if (pull->runs->graphs->computes && !(kind & GGS_NODE_IS_COMPUTE))
            row->skipped++;
        else if (row->flags & (GGS_RUN_INTERRUPTED | GGS_RUN_PARTIAL) || row->status != 0)
            row->cut++;
        else if (row->flags & GGS_RUN_OPAQUE)
            row->opaque++;
        else
            row->unseen++;
    }
    if (row->unseen == 0 || !pull->runs->lossy) return;
    // Something was lost, and it is not known whose: no hook can be blamed.
    row->cut += row->unseen;
    row->unseen = 0;
    row->flags |= GGS_RUN_PARTIAL;
}

// ---- writing ----

static bool prepare_nodes(struct ggs_runs * runs, const struct ggs_seal_graph * graph) {
    if (graph == NULL || graph->n_nodes == 0) return true;
    if (!ggs_writer_reserve(runs->writer, runs->nodes, runs->nodes_capacity, graph->n_nodes)) return false;
    memset(runs->nodes, 0, graph->n_nodes);
    if (!ggs_writer_reserve(runs->writer, runs->edges, runs->edges_capacity, graph->n_nodes)) return false;
    for (uint32_t i = 0; i < graph->n_nodes; i++) runs->edges[i] = (struct ggs_node_edges){INT64_MIN, INT64_MAX};
    return true;
}

// ---- what is sealed already ----

// Takes from the part what pull_lane would take from the lanes.
static void take_sealed(struct pull * pull) {
    struct ggs_runs *   runs = pull->runs;
    struct ggs_part_run sealed;
    const uint8_t *     nodes, *index;
    if (!ggs_part_take_run(runs->part, pull->row->run, &sealed, &nodes, &index)) return;
    ggs_writer_skip(runs->writer, sealed.op_runs);
    pull->row->op_runs += sealed.op_runs;
    pull->row->flags |= sealed.flags & GGS_RUN_PARTIAL;
    pull->last_ns = sealed.last_ns;
    pull->damaged = sealed.damaged;
    if (pull->graph != NULL && sealed.nodes == pull->graph->n_nodes) memcpy(runs->nodes, nodes, sealed.nodes);
    for (uint64_t i = 0; i < sealed.index; i++) {
        struct ggs_spool_index unit;
        memcpy(&unit, index, sizeof(unit));
        pull_index(pull, &unit, index + sizeof(unit), unit.bytes);
        index += sizeof(unit) + (unit.bytes + 7ull) / 8 * 8;
    }
}

static void keep_sealed(struct pull * pull) {
    struct ggs_part_run run = {.run     = pull->row->run,
                               .op_runs = pull->row->op_runs,
                               .last_ns = pull->last_ns,
                               .flags   = pull->row->flags & GGS_RUN_PARTIAL,
                               .damaged = pull->damaged,
                               .nodes   = pull->graph == NULL ? 0 : pull->graph->n_nodes};
    ggs_part_keep_run(pull->runs->keep, run, pull->runs->nodes);
}

static void write_run(struct ggs_runs * runs, struct ggs_open_run * open) {
    struct ggs_run * row  = &open->row;
    struct pull      pull = {.runs = runs, .row = row, .graph = ggs_graphs_get(runs->graphs, row->graph)};
    if (!prepare_nodes(runs, pull.graph)) return;
    const struct ggs_device * device = ggs_devices_get(runs->devices, row->device);
    row->first_op_run                = ggs_writer_next_row(runs->writer, GGS_TABLE_OP_RUNS);
    pull.last_ns                     = row->begin_ns;
    for (size_t i = 0; row->slot >= 0 && i < runs->spool->n_lanes; i++) {
        if (runs->spool->lanes[i].slot != (uint64_t) row->slot) continue;
        pull.lane   = i;
        pull.thread = runs->spool->lanes[i].thread;
        pull.before = NULL;
        pull.lod    = ggs_lods_lane(runs->lods, device, row->slot, pull.thread);
        if (runs->part == NULL) pull_lane(&pull, &runs->spool->lanes[i]);
    }
    write_held(runs, row, device);
    if (runs->part != NULL) take_sealed(&pull);
    if (runs->keep != NULL) keep_sealed(&pull);
    runs->damaged += pull.damaged;
    ggs_device_ops_write(runs, open, pull.graph);
    if (row->flags & GGS_RUN_INTERRUPTED) {
        row->flags &= ~(uint64_t) GGS_RUN_OPAQUE;
        row->end_ns = pull.last_ns;
    }
    if (row->flags & GGS_RUN_OPAQUE) {
        struct ggs_lod_lane * lane  = ggs_lods_lane(runs->lods, device, -1, 0);
        struct ggs_op_run     whole = {
                .run = row->run, .begin_ns = row->begin_ns, .duration_ns = (uint64_t) forward(row->begin_ns, row->end_ns)};
        if (lane != NULL) ggs_lods_add(runs->lods, lane, &whole);
    }
    if (row->lost > 0) row->flags |= GGS_RUN_PARTIAL;
    if (pull.graph != NULL) cover(&pull);
    if (!open->placed) {
        if (pull.graph != NULL) ggs_seal_batch_guess(&pull.batch, pull.graph->root);
        ggs_steps_run_alone(runs->steps, row, open->scheduler, &pull.batch);
    }
    ggs_writer_append(runs->writer, GGS_TABLE_RUNS, row);
    ggs_observed_run(runs->observed, row);
    runs->newest_step = row->step;
    runs->count++;
    runs->unseen += row->unseen;
    if (row->flags & GGS_RUN_INTERRUPTED) runs->interrupted++;
    ggs_seal_batch_release(&pull.batch);
    if (open->device != NULL) free(open->device->ops);
    free(open->device);
    free(open->work);
    if (runs->part != NULL) {
        if (runs->part->runs_left == 0) ggs_runs_end_block(runs);
    } else if (ggs_writer_checkpoint(runs->writer)) {
        ggs_lods_choose(runs->lods);
        if (runs->whole != NULL) runs->whole(runs->whole_context);
    }
}

static void write_front(struct ggs_runs * runs) {
    size_t n = 0;
    while (n < runs->n_open && runs->open[n].done) write_run(runs, &runs->open[n++]);
    if (n == 0) return;
    memmove(runs->open, runs->open + n, (runs->n_open - n) * sizeof(*runs->open));
    runs->n_open -= n;
}

// ---- the journal's side ----

struct ggs_open_run * ggs_runs_find(struct ggs_runs * runs, uint64_t run) {
    for (size_t i = runs->n_open; i-- > 0;)
        if (runs->open[i].row.run == run && !runs->open[i].done) return &runs->open[i];
    return NULL;
}

static void interrupt(struct ggs_open_run * open) {
    open->done = true;
    open->row.flags |= GGS_RUN_INTERRUPTED;
}

void ggs_runs_begin(struct ggs_runs * runs, const struct ggs_journal_run * run, const char * backend, size_t length,
                    uint64_t scheduler) {
    if (run->run <= runs->last || run->run > UINT32_MAX) { // numbers ascend
        runs->damaged++;
        return;
    }
    for (size_t i = 0; i < runs->n_open; i++)
        if (!runs->open[i].done && !runs->open[i].submitted && run->os_thread != 0 &&
            runs->open[i].row.os_thread == run->os_thread)
            interrupt(&runs->open[i]);
    if (!ggs_writer_reserve(runs->writer, runs->open, runs->capacity, runs->n_open + 1)) return;
    int64_t               ns   = ggs_clock_ns(runs->clock, run->ticks);
    struct ggs_open_run * open = &runs->open[runs->n_open++];
    *open                      = (struct ggs_open_run){.scheduler = scheduler,
                                                       .row       = {.run      = run->run,
                                                                     .graph    = run->graph,
                                                                     .schedule = run->schedule,
                                                                     .decode   = run->decode,
                                                                     .step     = -1,
                                                                     .backend  = ggs_writer_string(runs->writer, backend, length),
                                                                     .device  = ggs_devices_number(runs->devices, backend, length, run->host != 0),
                                                                     .context = -1,
                                                                     .host    = run->host != 0,
                                                                     .begin_ns  = ns,
                                                                     .end_ns    = ns,
                                                                     .slot      = -1,
                                                                     .os_thread = run->os_thread,
                                                                     .flags     = GGS_RUN_OPAQUE}};
    runs->last                 = run->run;
    ggs_devices_seen(runs->devices, open->row.device, GGS_SEEN_GRAPHS);
    open->placed = ggs_steps_run(runs->steps, &open->row);
    write_front(runs);
}

void ggs_runs_threads(struct ggs_runs * runs, uint64_t run, uint64_t threads, uint64_t slot, uint64_t flags) {
    struct ggs_open_run * open = ggs_runs_find(runs, run);
    if (open == NULL) return;
    open->row.threads = threads;
    open->row.flags &= ~(uint64_t) GGS_RUN_OPAQUE;
    open->row.flags |= flags & GGS_RUN_NO_WAITS;
    if (slot > UINT16_MAX) { // there was no lane for it
        open->row.flags |= GGS_RUN_PARTIAL;
        return;
    }
    for (size_t i = 0; i < runs->n_open; i++)
        if (!runs->open[i].done && &runs->open[i] != open && runs->open[i].row.slot == (int64_t) slot)
            interrupt(&runs->open[i]);
    open->row.slot = (int64_t) slot;
}

void ggs_runs_lost(struct ggs_runs * runs, uint64_t run, uint64_t count) {
    struct ggs_open_run * open = run == 0 ? NULL : ggs_runs_find(runs, run);
    if (open != NULL) open->row.lost += count;
}

void ggs_runs_end(struct ggs_runs * runs, const struct ggs_journal_run_end * end) {
    struct ggs_open_run * open = ggs_runs_find(runs, end->run);
    if (open == NULL) return;
    int64_t ns = ggs_clock_ns(runs->clock, end->ticks);
    if (ns > open->row.end_ns) open->row.end_ns = ns;
    open->row.status = end->status;
    if (end->graph != 0) open->row.graph = end->graph;
    open->row.flags |= end->flags & GGS_RUN_NO_WAITS;
    // A backend of a device has only submitted it; its DEVICE_RUN follows, unless it failed.
    open->submitted = (open->row.flags & GGS_RUN_OPAQUE) && !open->row.host && end->status == 0;
    if (open->submitted)
        ggs_steps_submitted(runs->steps, &open->row);
    else
        ggs_runs_done(runs, open);
}

void ggs_runs_done(struct ggs_runs * runs, struct ggs_open_run * open) {
    int64_t ns = open->row.end_ns;
    open->done = true;
    write_front(runs);
    // Runs that are still to come begin later than this one ended.
    ggs_observed_tell(runs->observed, runs->n_open > 0 ? runs->open[0].row.begin_ns : ns);
}

void ggs_runs_finish(struct ggs_runs * runs, int64_t ns, bool ended) {
    for (size_t i = 0; i < runs->n_open; i++) {
        struct ggs_open_run * open = &runs->open[i];
        if (open->submitted) {
            open->done = true;
            // Of a program that was killed nothing says that the device did any of it.
            open->row.flags |= ended ? GGS_RUN_RESULTS_UNSEEN : GGS_RUN_RESULTS_UNSEEN | GGS_RUN_INTERRUPTED;
        } else if (!open->done) {
            interrupt(open);
        }
    }
    write_front(runs);
    while (runs->part != NULL) ggs_runs_end_block(runs); // of a journal that tells of fewer runs: damage
    for (size_t i = 0; i < runs->spool->n_lanes; i++) {
        struct ggs_spool_stream * lane = &runs->spool->lanes[i];
        const struct ggs_unit *   unit;
        for (; (unit = ggs_spool_stream_unit(lane)) != NULL; ggs_spool_stream_skip(lane))
            if (unit->type == GGS_UNIT_OP) runs->unmatched[i]++;
        const uint64_t counts[GGS_LOSS_COUNT] = {
            [GGS_LOSS_RING]      = lane->missing * (GGS_SPOOL_SEGMENT / GGS_SPOOL_UNIT - 2),
            [GGS_LOSS_UNMATCHED] = runs->unmatched[i],
            [GGS_LOSS_DAMAGED]   = lane->damaged,
        };
        runs->lost += counts[GGS_LOSS_RING] + counts[GGS_LOSS_UNMATCHED];
        for (unsigned reason = 0; reason < GGS_LOSS_COUNT; reason++) {
            struct ggs_loss loss = {.reason = reason, .lane = lane->lane, .count = counts[reason], .end_ns = ns};
            if (loss.count > 0) ggs_writer_append(runs->writer, GGS_TABLE_LOSSES, &loss);
        }
    }
}
