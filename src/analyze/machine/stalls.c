#include "analyze/machine/stalls.h"

#include "base/error.h"

int ggs_stall_walk_open(struct ggs_stall_walk * walk, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                        struct ggs_error * error) {
    *walk      = (struct ggs_stall_walk){0};
    int status = ggs_cursor_open(&walk->faults, trace->reader, GGS_TABLE_FAULTS, error);
    if (status == 0) status = ggs_cursor_open(&walk->runs, trace->reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&walk->op_runs, trace->reader, GGS_TABLE_OP_RUNS, error);
    if (status == 0)
        ggs_cursor_times(walk->faults, begin_ns, end_ns);
    else
        ggs_stall_walk_close(walk);
    return status;
}

void ggs_stall_walk_close(struct ggs_stall_walk * walk) {
    ggs_cursor_close(walk->faults);
    ggs_cursor_close(walk->runs);
    ggs_cursor_close(walk->op_runs);
    *walk = (struct ggs_stall_walk){0};
}

// Moves to the fault's graph run. Faults are in order of time, so the search goes forward; a late
// one restarts it. 0 if there is none.
static int find_run(struct ggs_stall_walk * walk, struct ggs_error * error) {
    int more = 1;
    if (walk->run.run > walk->fault.run) {
        ggs_cursor_rewind(walk->runs);
        walk->run.run = 0;
    }
    while (walk->run.run < walk->fault.run && (more = ggs_cursor_next(walk->runs, &walk->run, error)) > 0) {}
    return more < 0 ? more : walk->run.run == walk->fault.run;
}

// Returns 1 if the fault's thread belongs to the run.
static int find_thread(struct ggs_stall_walk * walk, struct ggs_error * error) {
    struct ggs_op_run row;
    int               more;
    unsigned          kept = walk->n_known < GGS_STALL_THREADS ? walk->n_known : GGS_STALL_THREADS;
    for (unsigned i = 0; i < kept; i++) {
        walk->thread = walk->known[i].thread;
        if (walk->known[i].os_thread == walk->fault.os_thread) return 1;
    }
    ggs_cursor_range(walk->op_runs, walk->run.first_op_run, walk->run.op_runs);
    while ((more = ggs_cursor_next(walk->op_runs, &row, error)) > 0) {
        if (row.run != walk->run.run || row.os_thread != walk->fault.os_thread) continue;
        unsigned at               = walk->n_known++ % GGS_STALL_THREADS;
        walk->known[at].os_thread = row.os_thread;
        walk->known[at].thread = walk->thread = row.thread;
        return 1;
    }
    return more;
}

int ggs_stall_walk_next(struct ggs_stall_walk * walk, struct ggs_error * error) {
    int more;
    while ((more = ggs_cursor_next(walk->faults, &walk->fault, error)) > 0) {
        if (walk->fault.run == 0 || walk->fault.duration_ns == 0) continue;
        int found = find_run(walk, error);
        if (found > 0) found = find_thread(walk, error);
        walk->slot = walk->run.slot;
        if (found != 0) return found;
    }
    return more;
}
