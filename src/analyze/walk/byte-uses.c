#include "analyze/walk/byte-uses.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/op-filter.h"
#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

struct op {
    uint32_t node, absorbed;
    bool     sparse; // index data determines its bytes
};

// What the runs of a graph have in common.
struct use {
    uint64_t    graph, executed, absorbed, opaque;
    uint64_t    runs, last_run; // equal to the first
    uint64_t    disk;           // read by its dense ops in one run
    struct op * ops;
    uint64_t    n, capacity;
};

struct visit {
    struct ggs_trace *              trace;
    const struct ggs_uses_visitor * visitor;
    struct use *                    uses;
    uint64_t                        n, capacity;
    struct ggs_map                  by_graph; // index in `uses` + 1
    struct ggs_access_list          list;     // of the current run
    uint64_t                        disk;     // of the current run
    bool                            by_run;   // the filter selects different ops in each run: none equals another
};

static uint64_t disk_of(const struct ggs_access_list * list) {
    uint64_t disk = 0;
    for (unsigned i = 0; i < list->n; i++) {
        if (!list->access[i].write && list->access[i].tensor->source == GGS_SOURCE_DISK) disk += list->access[i].bytes;
    }
    return disk;
}

// ---- first run of a graph ----

// Finds the ops of a run, and the reads of the dense ones.
static int learn(struct visit * visit, struct use * use, const struct ggs_run * run, struct ggs_error * error) {
    struct ggs_walk *      walk;
    struct ggs_access_list list   = {0};
    int                    status = ggs_walk_open_runs(&walk, visit->trace, run->run, run->run, error);
    if (status < 0) return status;
    walk->sums_only = walk->with_opaque = true;
    status                              = ggs_walk_run(walk, error);
    while (status >= 0 && ggs_walk_op(walk)) {
        bool      sparse = ggs_trace_is_indexed(visit->trace, walk->graph, walk->op.node, walk->op.absorbed);
        struct op op     = {(uint32_t) walk->op.node, (uint32_t) walk->op.absorbed, sparse};
        if (!ggs_array_push(use->ops, use->n, use->capacity, op)) status = ggs_fail_memory(error);
        if (status < 0 || sparse) continue;
        status = ggs_access_of(&list, visit->trace, walk->graph, walk->op.node, walk->op.absorbed, error);
        use->disk += disk_of(&list);
    }
    if (status >= 0) status = ggs_walk_run(walk, error); // the end, unless an op could not be read
    ggs_access_release(&list);
    ggs_walk_close(walk);
    return status < 0 ? status : 0;
}

static bool is_whole(const struct ggs_run * run) {
    return (run->flags & (GGS_RUN_INTERRUPTED | GGS_RUN_PARTIAL)) == 0 && run->cut == 0 && run->status == 0;
}

static int add_use(struct visit * visit, const struct ggs_run * run, struct ggs_error * error) {
    struct use use = {.graph = run->graph, .executed = run->executed, .absorbed = run->absorbed, .opaque = run->opaque};
    if (!ggs_array_push(visit->uses, visit->n, visit->capacity, use)) return ggs_fail_memory(error);
    return learn(visit, &visit->uses[visit->n - 1], run, error);
}

// Returns the use of the run: its index + 1, 0 if it equals no other.
static int find_use(struct visit * visit, const struct ggs_run * run, uint64_t * out, struct ggs_error * error) {
    *out = 0;
    if (!is_whole(run) || visit->by_run) return 0;
    uint64_t * place = ggs_map_put(&visit->by_graph, ggs_map_key_number(run->graph));
    if (place == NULL) return ggs_fail_memory(error);
    if (*place != 0) {
        const struct use * use = &visit->uses[*place - 1];
        bool alike = use->executed == run->executed && use->absorbed == run->absorbed && use->opaque == run->opaque;
        if (alike) *out = *place;
        return 0;
    }
    *place = *out = visit->n + 1;
    return add_use(visit, run, error);
}

// ---- one run ----

static int hand_over(struct visit * visit, uint64_t run, const struct ggs_graph * graph, uint64_t node,
                     const struct ggs_access_list * list, uint64_t times, struct ggs_error * error) {
    return visit->visitor->access(visit->visitor->context, run, node, graph->nodes[node].op, list, times, error);
}

static int visit_sparse(struct visit * visit, const struct use * use, const struct ggs_run * run,
                        struct ggs_error * error) {
    const struct ggs_graph * graph  = NULL;
    int                      status = 0;
    visit->disk                     = use->disk;
    for (uint64_t i = 0; status >= 0 && i < use->n; i++) {
        const struct op * op = &use->ops[i];
        if (!op->sparse) continue;
        if (graph == NULL) {
            status = ggs_trace_graph(visit->trace, run->graph, &graph, error);
            if (status >= 0) status = ggs_access_begin_run(&visit->list, visit->trace, run, graph, error);
            if (status < 0) break;
        }
        status = ggs_access_of(&visit->list, visit->trace, graph, op->node, op->absorbed, error);
        if (status < 0) break;
        visit->disk += disk_of(&visit->list);
        status = hand_over(visit, run->run, graph, op->node, &visit->list, 1, error);
    }
    return status;
}

static int visit_all(struct visit * visit, const struct ggs_run * run, struct ggs_error * error) {
    struct ggs_walk *              walk;
    const struct ggs_access_list * list;
    int                            status = ggs_walk_open_runs(&walk, visit->trace, run->run, run->run, error);
    if (status < 0) return status;
    walk->sums_only = walk->with_opaque = true;
    visit->disk                         = 0;
    status                              = ggs_walk_run(walk, error);
    while (status >= 0 && ggs_walk_op(walk)) {
        status = ggs_walk_accesses(walk, &list, error);
        if (status < 0) break;
        visit->disk += disk_of(list);
        status = hand_over(visit, run->run, walk->graph, walk->op.node, list, 1, error);
    }
    if (status >= 0) status = ggs_walk_run(walk, error);
    ggs_walk_close(walk);
    return status < 0 ? status : 0;
}

static int visit_run(struct visit * visit, const struct ggs_run * run, struct ggs_error * error) {
    uint64_t place;
    int      status = find_use(visit, run, &place, error);
    if (status < 0) return status;
    if (place == 0) {
        status = visit_all(visit, run, error);
    } else {
        visit->uses[place - 1].runs++;
        visit->uses[place - 1].last_run = run->run;
        status                          = visit_sparse(visit, &visit->uses[place - 1], run, error);
    }
    if (status >= 0 && visit->visitor->run != NULL)
        status = visit->visitor->run(visit->visitor->context, run, visit->disk, error);
    return status;
}

// ---- interface ----

static int hand_over_dense(struct visit * visit, const struct use * use, struct ggs_error * error) {
    const struct ggs_graph * graph;
    struct ggs_access_list   list = {0};
    if (use->runs == 0) return 0;
    int status = ggs_trace_graph(visit->trace, use->graph, &graph, error);
    for (uint64_t i = 0; status == 0 && i < use->n; i++) {
        const struct op * op = &use->ops[i];
        if (op->sparse) continue;
        status = ggs_access_of(&list, visit->trace, graph, op->node, op->absorbed, error);
        if (status == 0) status = hand_over(visit, use->last_run, graph, op->node, &list, use->runs, error);
    }
    ggs_access_release(&list);
    return status;
}

static int walk_runs(struct visit * visit, int64_t first, int64_t last, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, visit->trace->reader, GGS_TABLE_RUNS, error);
    if (status == 0 && (first != INT64_MIN || last != INT64_MAX)) status = ggs_cursor_steps(cursor, first, last, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        bool wanted = ggs_trace_has_step(visit->trace, run.step);
        if (wanted && (run.op_runs > 0 || (run.flags & GGS_RUN_OPAQUE) != 0)) status = visit_run(visit, &run, error);
        if (status >= 0) status = ggs_trace_progress(visit->trace, run.op_runs, error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

int ggs_uses_visit(struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                   const struct ggs_uses_visitor * visitor, struct ggs_error * error) {
    struct visit visit = {.trace = trace, .visitor = visitor};
    visit.by_run       = trace->filter != NULL && ggs_op_filter_is_of_runs(trace->filter);
    int status         = walk_runs(&visit, first_step, last_step, error);
    for (uint64_t i = 0; status >= 0 && i < visit.n; i++) status = hand_over_dense(&visit, &visit.uses[i], error);
    for (uint64_t i = 0; i < visit.n; i++) free(visit.uses[i].ops);
    free(visit.uses);
    ggs_map_release(&visit.by_graph);
    ggs_access_release(&visit.list);
    return status < 0 ? status : 0;
}
