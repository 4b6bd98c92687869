#include "trace/seal/runs/runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trace/seal/runs/device-runs.h"
#include "trace/seal/runs/run-values.h"

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
    free(runs->positions);
    free(runs->held);
    free(runs->begins);
    free(runs->queues);
    free(runs->left_out);
}

// ---- units of one run ----

// A run whose units are being read.
struct pull {
    struct ggs_runs *             runs;
    struct ggs_run *              row;
    const struct ggs_seal_graph * graph; // NULL if unknown
    const struct ggs_device *     device;
    size_t                        lane;   // index in the spool
    int64_t                       values; // slot with values only; -1 for none
    uint64_t                      thread;
    struct ggs_lod_lane *         lod;
    struct ggs_node_edges *       before;  // of the thread's previous op; NULL for none
    int64_t                       last_ns; // latest time seen
    uint64_t                      damaged; // op runs
    struct ggs_seal_batch         batch;   // tokens in index data; owned
};

static int64_t forward(int64_t from, int64_t to) {
    return to > from ? to - from : 0;
}

// Sets the times of an ended op from its unit.
static void set_times(struct ggs_clock * clock, struct ggs_op_run * row, const struct ggs_unit * unit) {
    uint64_t end     = unit->begin + unit->duration;
    int64_t  end_ns  = ggs_clock_ns(clock, end);
    row->duration_ns = (uint64_t) forward(row->begin_ns, end_ns);
    end_ns           = row->begin_ns + (int64_t) row->duration_ns;
    if (unit->wait != 0) row->wait_ns = (uint64_t) forward(end_ns, ggs_clock_ns(clock, end + unit->wait));
    if (unit->inner_wait != 0)
        row->inner_wait_ns = (uint64_t) forward(row->begin_ns, ggs_clock_ns(clock, unit->begin + unit->inner_wait));
}

// All threads meet between two ops: none begins the second before all have ended the first. The
// counter is read without a fence, which would cost more than the rest of recording, so a reading
// can be up to 0.25 us ahead of the barrier before it.
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

// Writes a complete op run.
static void write_op(struct ggs_runs * runs, struct ggs_run * run, struct ggs_lod_lane * lane,
                     const struct ggs_op_run * row) {
    ggs_writer_append(runs->writer, GGS_TABLE_OP_RUNS, row);
    if (lane != NULL) ggs_lods_add(runs->lods, lane, row);
    run->op_runs++;
}

static void pull_op(struct pull * pull, const struct ggs_unit * unit) {
    enum {
        KEPT = GGS_OP_RUN_ENDED | GGS_OP_RUN_FUSED | GGS_OP_RUN_EXTRA | GGS_OP_RUN_WAIT_UNSEEN | GGS_OP_RUN_INNER_UNSEEN
    };
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

// Handles a unit with a payload. The lane of values is the slot's last one, so the tokens in index
// data are known.
static void pull_payload(struct pull * pull, const struct ggs_spool_index * unit, const void * payload) {
    if (unit->type == GGS_UNIT_INDEX)
        pull_index(pull, unit, payload, unit->bytes);
    else
        ggs_run_values_write(pull->runs, pull->row, pull->graph, &pull->batch, unit, payload);
}

// ---- excluded runs ----

void ggs_runs_leave_out(struct ggs_runs * runs, uint64_t run) {
    struct ggs_run_range * newest = runs->n_left_out == 0 ? NULL : &runs->left_out[runs->n_left_out - 1];
    if (newest != NULL && run == newest->last + 1)
        newest->last = run;
    else if (ggs_writer_reserve(runs->writer, runs->left_out, runs->left_out_capacity, runs->n_left_out + 1))
        runs->left_out[runs->n_left_out++] = (struct ggs_run_range){run, run};
}

static bool is_left_out(const struct ggs_runs * runs, uint64_t run) {
    for (size_t i = 0; i < runs->n_left_out; i++)
        if (run >= runs->left_out[i].first && run <= runs->left_out[i].last) return true;
    return false;
}

// Reads the run's units from a lane. Units before them that belong to no run are counted.
static void pull_lane(struct pull * pull, struct ggs_spool_stream * lane) {
    const struct ggs_unit * unit;
    uint32_t                run = (uint32_t) pull->row->run;
    while ((unit = ggs_spool_stream_unit(lane)) != NULL) {
        if (unit->type == GGS_UNIT_THREAD) {
            pull->runs->os_threads[pull->lane] = unit->node;
        } else if (unit->run != run) {
            if (unit->run > run) {
                if (lane->gap) pull->row->flags |= GGS_RUN_PARTIAL; // perhaps its units
                return;
            }
            if (unit->type == GGS_UNIT_OP && !is_left_out(pull->runs, unit->run)) pull->runs->unmatched[pull->lane]++;
        } else if (unit->type == GGS_UNIT_OP) {
            pull_op(pull, unit);
        } else {
            const struct ggs_spool_index * index = ggs_spool_stream_index(lane);
            pull_payload(pull, index, index + 1);
            if (pull->runs->mode == GGS_RUNS_INTO_PART) ggs_part_keep_index(pull->runs->keep, index, index + 1);
        }
        if (lane->gap && unit->type != GGS_UNIT_THREAD && unit->run == run) {
            pull->row->flags |= GGS_RUN_PARTIAL;
            lane->gap = false;
        }
        ggs_spool_stream_skip(lane);
    }
}

// ---- runs without observed barriers ----

static int by_node(const void * a, const void * b) {
    const struct ggs_node_begin *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

// When the first thread began the node.
static int64_t first_begin(const struct ggs_runs * runs, uint64_t node) {
    return runs->begins[ggs_search(runs->n_held, at, runs->begins[at].node < node)].begin_ns;
}

// Completes an op whose end was not recorded on this thread. All its recorded waits are inside it,
// and it ended before any thread began the next op (`bound_ns`; -1 if the run was interrupted
// before).
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
        else if (bound >= 0 && row->begin_ns + (int64_t) row->duration_ns > bound) // cores differ
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
        // Releases with compute flags set them on most nodes. If no node has one, the flag carries
        // no information.
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
    // Records were lost and it is unknown which, so missing nodes are not counted as unseen.
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

// ---- sealed runs ----

// Reads from the part, like read_lanes from lanes.
static void read_sealed(struct pull * pull) {
    struct ggs_runs *   runs = pull->runs;
    struct ggs_part_run sealed;
    const uint8_t *     nodes, *index;
    if (!ggs_part_next_run(runs->part, pull->row->run, &sealed, &nodes, &index)) return;
    ggs_writer_skip(runs->writer, sealed.op_runs);
    pull->row->op_runs += sealed.op_runs;
    pull->row->flags |= sealed.flags & GGS_RUN_PARTIAL;
    pull->last_ns = sealed.last_ns;
    pull->damaged = sealed.damaged;
    if (pull->graph != NULL && sealed.nodes == pull->graph->n_nodes) memcpy(runs->nodes, nodes, sealed.nodes);
    for (uint64_t i = 0; i < sealed.index; i++) {
        struct ggs_spool_index unit;
        memcpy(&unit, index, sizeof(unit));
        pull_payload(pull, &unit, index + sizeof(unit));
        index += sizeof(unit) + (unit.bytes + 7ull) / 8 * 8;
    }
}

static void keep_run(struct pull * pull) {
    struct ggs_part_run run = {.run     = pull->row->run,
                               .op_runs = pull->row->op_runs,
                               .last_ns = pull->last_ns,
                               .flags   = pull->row->flags & GGS_RUN_PARTIAL,
                               .damaged = pull->damaged,
                               .nodes   = pull->graph == NULL ? 0 : pull->graph->n_nodes};
    ggs_part_keep_run(pull->runs->keep, run, pull->runs->nodes);
}

// ---- from lanes to rows ----

// Returns false if out of memory.
static bool begin_run(struct pull * pull, struct ggs_runs * runs, struct ggs_open_run * open) {
    struct ggs_run * row = &open->row;
    *pull                = (struct pull){.runs    = runs,
                                         .row     = row,
                                         .graph   = ggs_graphs_get(runs->graphs, row->graph),
                                         .device  = ggs_devices_get(runs->devices, row->device),
                                         .values  = open->values,
                                         .last_ns = row->begin_ns};
    if (!prepare_nodes(runs, pull->graph)) return false;
    row->first_op_run = ggs_writer_next_row(runs->writer, GGS_TABLE_OP_RUNS);
    return true;
}

// Returns the next lane of the run's slot, from pull->lane on; NULL after the last.
static struct ggs_spool_stream * next_lane(struct pull * pull) {
    const struct ggs_spool * spool = pull->runs->spool;
    bool                     whole = pull->row->slot >= 0;
    int64_t                  slot  = whole ? pull->row->slot : pull->values;
    while (slot >= 0 && pull->lane < spool->n_lanes) {
        struct ggs_spool_stream * lane = &spool->lanes[pull->lane];
        if (lane->slot == (uint64_t) slot && (whole || lane->thread == GGS_SPOOL_VALUES)) {
            pull->thread = lane->thread;
            pull->before = NULL;
            pull->lod    = NULL;
            if (lane->thread != GGS_SPOOL_VALUES)
                pull->lod = ggs_lods_lane(pull->runs->lods, pull->device, pull->row->slot, lane->thread);
            return lane;
        }
        pull->lane++;
    }
    return NULL;
}

static void read_lanes(struct pull * pull) {
    struct ggs_spool_stream * lane;
    for (; (lane = next_lane(pull)) != NULL; pull->lane++) pull_lane(pull, lane);
    write_held(pull->runs, pull->row, pull->device);
}

static void set_end(struct pull * pull) {
    struct ggs_run * row = pull->row;
    if (row->flags & GGS_RUN_INTERRUPTED) {
        row->flags &= ~(uint64_t) GGS_RUN_OPAQUE;
        row->end_ns = pull->last_ns;
    }
    if ((row->flags & GGS_RUN_OPAQUE) == 0) return;
    struct ggs_lod_lane * lane  = ggs_lods_lane(pull->runs->lods, pull->device, -1, 0);
    struct ggs_op_run     whole = {
            .run = row->run, .begin_ns = row->begin_ns, .duration_ns = (uint64_t) forward(row->begin_ns, row->end_ns)};
    if (lane != NULL) ggs_lods_add(pull->runs->lods, lane, &whole);
}

// Writes the row of a run after its lanes.
static void end_run(struct pull * pull, struct ggs_open_run * open) {
    struct ggs_runs * runs = pull->runs;
    struct ggs_run *  row  = pull->row;
    runs->damaged += pull->damaged;
    ggs_device_ops_write(runs, open, pull->graph);
    set_end(pull);
    if (row->lost > 0) row->flags |= GGS_RUN_PARTIAL;
    if (pull->graph != NULL) cover(pull);
    if (!open->placed) {
        if (pull->graph != NULL) ggs_seal_batch_guess(&pull->batch, pull->graph->root);
        ggs_steps_run_alone(runs->steps, row, open->scheduler, &pull->batch);
    }
    ggs_writer_append(runs->writer, GGS_TABLE_RUNS, row);
    ggs_observed_run(runs->observed, row);
    runs->newest_step = row->step;
    runs->count++;
    runs->unseen += row->unseen;
    if (row->flags & GGS_RUN_INTERRUPTED) runs->interrupted++;
    ggs_seal_batch_release(&pull->batch);
}

static void write_from_lanes(struct ggs_runs * runs, struct ggs_open_run * open) {
    struct pull pull;
    if (!begin_run(&pull, runs, open)) return;
    read_lanes(&pull);
    end_run(&pull, open);
    if (ggs_writer_checkpoint(runs->writer)) ggs_lods_choose(runs->lods);
}

static void write_into_part(struct ggs_runs * runs, struct ggs_open_run * open) {
    struct pull pull;
    if (!begin_run(&pull, runs, open)) return;
    read_lanes(&pull);
    keep_run(&pull);
    end_run(&pull, open);
    if (!ggs_writer_checkpoint(runs->writer)) return;
    ggs_lods_choose(runs->lods);
    runs->whole(runs->whole_context);
}

static void write_from_part(struct ggs_runs * runs, struct ggs_open_run * open) {
    struct pull pull;
    if (!begin_run(&pull, runs, open)) return;
    for (; next_lane(&pull) != NULL; pull.lane++) {} // registers lanes in order
    read_sealed(&pull);
    end_run(&pull, open);
    if (runs->part->runs_left == 0) ggs_runs_end_block(runs);
}

static void write_run(struct ggs_runs * runs, struct ggs_open_run * open) {
    static void (*const write[])(struct ggs_runs *, struct ggs_open_run *) = {
        [GGS_RUNS_FROM_LANES] = write_from_lanes,
        [GGS_RUNS_INTO_PART]  = write_into_part,
        [GGS_RUNS_FROM_PART]  = write_from_part,
    };
    write[runs->mode](runs, open);
    if (open->device != NULL) free(open->device->ops);
    free(open->device);
    free(open->work);
}

static void write_front(struct ggs_runs * runs) {
    size_t n = 0;
    while (n < runs->n_open && runs->open[n].done) write_run(runs, &runs->open[n++]);
    if (n == 0) return;
    memmove(runs->open, runs->open + n, (runs->n_open - n) * sizeof(*runs->open));
    runs->n_open -= n;
}

// ---- records of the journal ----

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
                                                       .values    = -1,
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
    if (threads == 0) { // a device
        open->values = slot <= UINT16_MAX ? (int64_t) slot : -1;
        return;
    }
    open->row.threads = threads;
    open->row.flags &= ~(uint64_t) GGS_RUN_OPAQUE;
    open->row.flags |= flags & (GGS_RUN_NO_WAITS | GGS_RUN_FIRST_THREAD);
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
    // A device's backend has only submitted the run. Its DEVICE_RUN follows unless the call failed.
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
    // All later runs begin after the end of this one.
    ggs_observed_emit(runs->observed, runs->n_open > 0 ? runs->open[0].row.begin_ns : ns);
}

// Counts the units left in lanes. In a live recording, units of runs that are not in the journal
// yet are not lost.
static void count_left(struct ggs_runs * runs) {
    uint64_t later = 0;
    for (size_t i = 0; i < runs->spool->n_lanes; i++) {
        struct ggs_spool_stream * lane = &runs->spool->lanes[i];
        const struct ggs_unit *   unit;
        for (; (unit = ggs_spool_stream_unit(lane)) != NULL && unit->run <= runs->last; ggs_spool_stream_skip(lane))
            if (unit->type == GGS_UNIT_OP && !is_left_out(runs, unit->run)) runs->unmatched[i]++;
        later += unit != NULL;
    }
    if (later == 0 || ggs_spool_goes_on(runs->spool)) return;
    for (size_t i = 0; i < runs->spool->n_lanes; i++) {
        struct ggs_spool_stream * lane = &runs->spool->lanes[i];
        const struct ggs_unit *   unit;
        for (; (unit = ggs_spool_stream_unit(lane)) != NULL; ggs_spool_stream_skip(lane))
            if (unit->type == GGS_UNIT_OP && !is_left_out(runs, unit->run)) runs->unmatched[i]++;
    }
}

void ggs_runs_finish(struct ggs_runs * runs, int64_t ns, bool ended) {
    for (size_t i = 0; i < runs->n_open; i++) {
        struct ggs_open_run * open = &runs->open[i];
        if (open->submitted) {
            open->done = true;
            // If the program was killed, nothing shows that the device computed any of it.
            open->row.flags |= ended ? GGS_RUN_RESULTS_UNSEEN : GGS_RUN_RESULTS_UNSEEN | GGS_RUN_INTERRUPTED;
        } else if (!open->done) {
            // The journal of a live recording may end before it names the run's lanes.
            if (open->row.slot < 0 && ggs_spool_goes_on(runs->spool)) ggs_runs_leave_out(runs, open->row.run);
            interrupt(open);
        }
    }
    write_front(runs);
    while (runs->mode == GGS_RUNS_FROM_PART) ggs_runs_end_block(runs); // fewer runs: damage
    count_left(runs);
    for (size_t i = 0; i < runs->spool->n_lanes; i++) {
        const struct ggs_spool_stream * lane                   = &runs->spool->lanes[i];
        const uint64_t                  counts[GGS_LOSS_COUNT] = {
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
