#include "analyze/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int ggs_walk_open(struct ggs_walk ** out, struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                  struct ggs_error * error) {
    struct ggs_walk * walk = calloc(1, sizeof(*walk));
    *out                   = NULL;
    if (walk == NULL) return ggs_fail_memory(error);
    walk->trace = trace;
    int status  = ggs_cursor_open(&walk->runs, trace->reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&walk->op_runs, trace->reader, GGS_TABLE_OP_RUNS, error);
    if (status == 0 && (first_step != INT64_MIN || last_step != INT64_MAX)) {
        status = ggs_cursor_steps(walk->runs, first_step, last_step, error);
        if (status == 0) status = ggs_cursor_steps(walk->op_runs, first_step, last_step, error);
    }
    if (status < 0) {
        ggs_walk_close(walk);
        return status;
    }
    *out = walk;
    return 0;
}

void ggs_walk_close(struct ggs_walk * walk) {
    if (walk == NULL) return;
    ggs_cursor_close(walk->runs);
    ggs_cursor_close(walk->op_runs);
    ggs_access_release(&walk->accesses);
    free(walk->rows);
    free(walk->first);
    free(walk);
}

// Reads the run's op runs (they come by thread) and sorts them by node, threads in order.
static int gather(struct ggs_walk * walk, struct ggs_error * error) {
    uint64_t nodes = walk->graph->n_nodes, n = walk->run.op_runs, kept = 0;
    if (n > walk->capacity) {
        struct ggs_op_run * rows =
            realloc(walk->rows, 2 * n * sizeof(*rows)); // twice: sorted ones go to the second half
        if (rows == NULL) return ggs_fail_memory(error);
        walk->rows     = rows;
        walk->capacity = n;
    }
    if (nodes + 2 > walk->first_capacity) {
        uint64_t * first = realloc(walk->first, (nodes + 2) * sizeof(*first));
        if (first == NULL) return ggs_fail_memory(error);
        walk->first          = first;
        walk->first_capacity = nodes + 2;
    }
    struct ggs_op_run * unsorted = walk->rows + walk->capacity;
    memset(walk->first, 0, (nodes + 2) * sizeof(*walk->first));
    // Runs and op runs ascend together: the first row behind this run waits for the next one.
    while (kept < n) {
        if (!walk->waiting) {
            int more = ggs_cursor_next(walk->op_runs, &walk->ahead, error);
            if (more < 0) return more;
            if (more == 0) break;
        }
        walk->waiting = walk->ahead.run > walk->run.run;
        if (walk->waiting) break;
        if (walk->ahead.run < walk->run.run || walk->ahead.node >= nodes) continue;
        unsorted[kept++] = walk->ahead;
        walk->first[walk->ahead.node + 2]++;
    }
    for (uint64_t i = 2; i < nodes + 2; i++) walk->first[i] += walk->first[i - 1];
    for (uint64_t i = 0; i < kept; i++) walk->rows[walk->first[unsorted[i].node + 1]++] = unsorted[i];
    walk->n_rows = kept;
    return 0;
}

int ggs_walk_run(struct ggs_walk * walk, struct ggs_error * error) {
    int more = ggs_cursor_next(walk->runs, &walk->run, error);
    if (more <= 0) return more;
    walk->graph   = NULL;
    walk->n_rows  = 0;
    walk->next    = 0;
    walk->indexed = false;
    if (walk->run.op_runs == 0) return 1;
    int status = ggs_trace_graph(walk->trace, walk->run.graph, &walk->graph, error);
    if (status == 0) status = gather(walk, error);
    return status < 0 ? status : 1;
}

static void sum_up(struct ggs_op_seen * op) {
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        const struct ggs_op_run * row   = &op->op_runs[i];
        int64_t                   end   = row->begin_ns + (int64_t) row->duration_ns;
        uint64_t                  inner = row->inner_wait_ns < row->duration_ns ? row->inner_wait_ns : row->duration_ns;
        if (i == 0 || row->begin_ns < op->begin_ns) op->begin_ns = row->begin_ns;
        if (i == 0 || end > op->end_ns) op->end_ns = end;
        op->busy_ns += row->duration_ns - inner;
        op->wait_ns += row->wait_ns + inner;
        op->cut |= (row->flags & GGS_OP_RUN_ENDED) == 0;
    }
}

bool ggs_walk_op(struct ggs_walk * walk) {
    if (walk->next == walk->n_rows) return false;
    const struct ggs_op_run * row  = &walk->rows[walk->next];
    const struct ggs_node *   node = &walk->graph->nodes[row->node];
    uint64_t                  n    = 1;
    while (walk->next + n < walk->n_rows && row[n].node == row->node) n++;
    walk->next += n;
    walk->op = (struct ggs_op_seen){.node      = row->node,
                                    .absorbed  = row->absorbed,
                                    .op        = node->op,
                                    .name      = ggs_trace_op_name(walk->trace, node->op),
                                    .result    = ggs_trace_tensor(walk->trace, node->tensor),
                                    .layer     = ggs_trace_node_layer(walk->trace, walk->graph, row->node),
                                    .n_op_runs = n,
                                    .op_runs   = row};
    sum_up(&walk->op);
    return true;
}

int ggs_walk_accesses(struct ggs_walk * walk, const struct ggs_access_list ** out, struct ggs_error * error) {
    if (!walk->indexed) {
        int status = ggs_access_begin_run(&walk->accesses, walk->trace, &walk->run, walk->graph, error);
        if (status < 0) return status;
        walk->indexed = true;
    }
    *out = &walk->accesses;
    return ggs_access_of(&walk->accesses, walk->trace, walk->graph, walk->op.node, walk->op.absorbed, error);
}
