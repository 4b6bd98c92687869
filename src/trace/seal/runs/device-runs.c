#include "trace/seal/runs/device-runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

// ---- queues ----

// Returns the number of a queue among those of its device: engines number them arbitrarily.
static uint64_t queue_number(struct ggs_runs * runs, uint64_t device, uint32_t queue) {
    uint64_t number = 0;
    for (size_t i = 0; i < runs->n_queues; i++) {
        if (runs->queues[i].device != device) continue;
        if (runs->queues[i].queue == queue) return number;
        number++;
    }
    if (!ggs_writer_reserve(runs->writer, runs->queues, runs->queues_capacity, runs->n_queues + 1)) return 0;
    runs->queues[runs->n_queues++] = (struct ggs_device_queue){device, queue};
    return number;
}

static struct ggs_lod_lane * lane_of(struct ggs_runs * runs, const struct ggs_run * row, uint64_t queue) {
    return ggs_lods_lane(runs->lods, ggs_devices_get(runs->devices, row->device),
                         GGS_DEVICE_SLOT + (int64_t) row->device, queue);
}

// ---- ops ----

// Counts nodes computed together with the one at ops[i]: later ones that the loop did not reach
// (or, in a replay, that have no kernels of their own), except for empty ones.
static uint64_t absorb(struct ggs_runs * runs, const struct ggs_device_ops * device, uint32_t i,
                       const struct ggs_seal_graph * graph) {
    bool     replayed = device->head.timed == GGS_DEVICE_REPLAYED;
    uint32_t next     = i + 1;
    while (replayed && next < device->head.ops && device->ops[next].end_ns == 0) next++;
    uint32_t end      = next < device->head.ops ? device->ops[next].node : graph->n_nodes;
    uint64_t absorbed = 0;
    for (uint32_t n = device->ops[i].node + 1; n < end && n < graph->n_nodes; n++) {
        uint8_t kind = graph->root->kinds[n];
        if ((kind & GGS_NODE_IS_EMPTY) || (runs->graphs->computes && !(kind & GGS_NODE_IS_COMPUTE))) continue;
        runs->nodes[n] |= GGS_NODE_WAS_ABSORBED;
        absorbed++;
    }
    return absorbed;
}

static int by_node(const void * a, const void * b) {
    const struct ggs_work *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

// Time between the op's begin and end in which none of its kernels ran; 0 if kernels were not
// recorded.
static uint64_t idle(const struct ggs_open_run * open, const struct ggs_op_run * op) {
    int64_t  end = op->begin_ns + (int64_t) op->duration_ns, until = op->begin_ns;
    uint64_t none = 0;
    size_t   at   = ggs_search(open->n_work, i, open->work[i].node < op->node);
    if (at == open->n_work || open->work[at].node != op->node) return 0;
    for (; at < open->n_work && open->work[at].node == op->node && until < end; at++) {
        int64_t from = open->work[at].begin_ns < end ? open->work[at].begin_ns : end;
        if (from > until) none += (uint64_t) (from - until);
        if (open->work[at].end_ns > until) until = open->work[at].end_ns;
    }
    return until < end ? none + (uint64_t) (end - until) : none;
}

static bool in_order(const struct ggs_device_ops * device, uint32_t n_nodes) {
    for (uint32_t i = 0; i < device->head.ops; i++) {
        if (device->ops[i].node >= n_nodes || (i > 0 && device->ops[i].node <= device->ops[i - 1].node)) return false;
    }
    return true;
}

// For ops without device times: when the host reached each, and how long it stayed.
static void write_submits(struct ggs_runs * runs, const struct ggs_open_run * open) {
    const struct ggs_device_ops * device = open->device;
    for (uint32_t i = 0; i < device->head.ops; i++) {
        uint64_t until = i + 1 < device->head.ops ? device->ops[i + 1].submit : device->head.submitted;
        int64_t  begin = ggs_clock_ns(runs->clock, device->ops[i].submit), end = ggs_clock_ns(runs->clock, until);
        struct ggs_submit row = {.run       = open->row.run,
                                 .node      = device->ops[i].node,
                                 .submit_ns = begin,
                                 .host_ns   = until != 0 && end > begin ? (uint64_t) (end - begin) : 0};
        ggs_writer_append(runs->writer, GGS_TABLE_SUBMITS, &row);
    }
}

void ggs_device_ops_write(struct ggs_runs * runs, struct ggs_open_run * open, const struct ggs_seal_graph * graph) {
    struct ggs_device_ops * device = open->device;
    struct ggs_run *        row    = &open->row;
    if (device == NULL || graph == NULL) return;
    if (!in_order(device, graph->n_nodes)) {
        runs->damaged++;
        return;
    }
    if (device->head.timed == GGS_DEVICE_UNTIMED) {
        write_submits(runs, open);
        return;
    }
    if (open->n_work > 0) qsort(open->work, open->n_work, sizeof(*open->work), by_node);
    int64_t covered = 0; // a queue runs one op at a time; overlapping kernels are divided
    ggs_devices_seen(runs->devices, row->device, GGS_SEEN_OPS);
    row->flags &= ~(uint64_t) GGS_RUN_OPAQUE;
    row->slot    = GGS_DEVICE_SLOT + (int64_t) row->device;
    row->threads = 1;
    for (uint32_t i = 0; i < device->head.ops; i++) {
        const struct ggs_journal_device_op * op = &device->ops[i];
        if (op->end_ns == 0) {
            // The loop reached it and recorded nothing, so there was nothing to do. In a replay it
            // was fused.
            if (device->head.timed == GGS_DEVICE_TIMED) runs->nodes[op->node] |= GGS_NODE_WAS_SKIPPED;
            continue;
        }
        int64_t begin = ggs_clock_since_start(runs->clock, op->begin_ns),
                end   = ggs_clock_since_start(runs->clock, op->end_ns);
        if (begin < covered) begin = covered;
        if (end < begin) end = begin;
        covered                 = end;
        uint64_t          queue = queue_number(runs, row->device, op->queue);
        struct ggs_op_run run   = {.run         = row->run,
                                   .node        = op->node,
                                   .thread      = queue,
                                   .begin_ns    = begin,
                                   .duration_ns = (uint64_t) (end - begin),
                                   .flags       = GGS_OP_RUN_ENDED | GGS_OP_RUN_WAIT_UNSEEN,
                                   .submit_ns   = ggs_clock_ns(runs->clock, op->submit),
                                   .absorbed    = absorb(runs, device, i, graph)};
        run.inner_wait_ns       = idle(open, &run);
        if (open->n_work == 0) run.flags |= GGS_OP_RUN_INNER_UNSEEN; // Vulkan: no kernels
        if (run.absorbed > 0) run.flags |= GGS_OP_RUN_FUSED;
        runs->nodes[op->node] |= GGS_NODE_WAS_EXECUTED;
        ggs_writer_append(runs->writer, GGS_TABLE_OP_RUNS, &run);
        struct ggs_lod_lane * lane = lane_of(runs, row, queue);
        if (lane != NULL) ggs_lods_add(runs->lods, lane, &run);
        if (queue + 1 > row->threads) row->threads = queue + 1;
        row->op_runs++;
    }
}

// ---- records ----

void ggs_runs_device(struct ggs_runs * runs, const void * body, size_t length) {
    struct ggs_journal_device_run head;
    if (length < sizeof(head)) {
        runs->damaged++;
        return;
    }
    memcpy(&head, body, sizeof(head));
    struct ggs_open_run * open = ggs_runs_find(runs, head.run);
    if (open == NULL || open->device != NULL) return;
    if (head.ops > (length - sizeof(head)) / sizeof(struct ggs_journal_device_op)) {
        runs->damaged++;
        return;
    }
    size_t bytes = head.ops * sizeof(struct ggs_journal_device_op);
    open->device = calloc(1, sizeof(*open->device));
    if (open->device != NULL) open->device->ops = malloc(bytes + 1);
    if (open->device == NULL || open->device->ops == NULL) {
        ggs_writer_fail_memory(runs->writer);
        return;
    }
    open->device->head = head;
    memcpy(open->device->ops, (const char *) body + sizeof(head), bytes);
    if (head.results_ns != 0) {
        int64_t ns = ggs_clock_since_start(runs->clock, head.results_ns);
        if (ns > open->row.end_ns) open->row.end_ns = ns;
    } else {
        open->row.flags |= GGS_RUN_RESULTS_UNSEEN;
    }
    ggs_steps_results(runs->steps, &open->row, open->row.end_ns);
    ggs_runs_done(runs, open);
}

void ggs_runs_kernels(struct ggs_runs * runs, const void * body, size_t length) {
    struct ggs_journal_kernels head;
    if (length < sizeof(head)) {
        runs->damaged++;
        return;
    }
    memcpy(&head, body, sizeof(head));
    if (head.count > (length - sizeof(head)) / sizeof(struct ggs_journal_kernel)) {
        runs->damaged++;
        return;
    }
    struct ggs_open_run * open = ggs_runs_find(runs, head.run);
    const char *          rows = (const char *) body + sizeof(head);
    const char *          text = rows + head.count * sizeof(struct ggs_journal_kernel);
    size_t                room = length - (size_t) (text - (const char *) body);
    if (open != NULL) ggs_devices_seen(runs->devices, open->row.device, GGS_SEEN_KERNELS);
    for (uint64_t i = 0; open != NULL && i < head.count; i++) {
        struct ggs_journal_kernel kernel;
        memcpy(&kernel, rows + i * sizeof(kernel), sizeof(kernel));
        const char *          name  = kernel.name < room ? text + kernel.name : "";
        size_t                most  = kernel.name < room ? room - kernel.name : 0;
        struct ggs_lod_lane * lane  = lane_of(runs, &open->row, queue_number(runs, open->row.device, kernel.queue));
        int64_t               begin = ggs_clock_since_start(runs->clock, kernel.begin_ns),
                end                 = ggs_clock_since_start(runs->clock, kernel.end_ns);
        struct ggs_kernel row       = {.run         = head.run,
                                       .node        = kernel.node,
                                       .nodes       = kernel.node == GGS_DEVICE_NO_NODE ? 0 : 1,
                                       .lane        = lane == NULL ? 0 : lane->number,
                                       .name        = ggs_writer_string(runs->writer, name, strnlen(name, most)),
                                       .submit_ns   = -1,
                                       .begin_ns    = begin,
                                       .duration_ns = end > begin ? (uint64_t) (end - begin) : 0,
                                       .bytes       = kernel.bytes,
                                       .grid_x      = kernel.grid[0],
                                       .grid_y      = kernel.grid[1],
                                       .grid_z      = kernel.grid[2],
                                       .block_x     = kernel.block[0],
                                       .block_y     = kernel.block[1],
                                       .block_z     = kernel.block[2]};
        ggs_writer_append(runs->writer, GGS_TABLE_KERNELS, &row);
        if (row.nodes > 0 && ggs_writer_reserve(runs->writer, open->work, open->work_capacity, open->n_work + 1))
            open->work[open->n_work++] = (struct ggs_work){kernel.node, begin, end > begin ? end : begin};
    }
}
