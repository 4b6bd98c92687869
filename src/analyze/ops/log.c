#include "analyze/ops/log.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/per-node.h"
#include "analyze/walk/times.h"
#include "base/error.h"

enum verdict { UNKNOWN, NOT_THERE, THERE };

struct ggs_log {
    struct ggs_trace *    trace;
    struct ggs_log_filter filter;
    struct ggs_walk *     walk;
    bool                  in_run, in_op; // the walk is at one
    uint64_t              part;          // of the op: 0, or a node fused into it
    uint64_t              number;        // of the entry in its run
    struct ggs_sieve      sieve;
    // Whether a dense op matches the requested place, which is constant over the runs of a graph.
    struct ggs_per_node    verdicts;
    struct ggs_log_operand operands[GGS_ACCESS_MOST];
};

// Limits the token steps by time, so that the walk need not decode everything before. Impossible if
// runs belong to no step.
static int narrow(struct ggs_log * log, struct ggs_error * error) {
    struct ggs_log_filter * filter = &log->filter;
    struct ggs_cursor *     cursor;
    struct ggs_run          run;
    int64_t                 first = INT64_MAX, last = INT64_MIN;
    if (filter->ops.since_ns == INT64_MIN && filter->ops.until_ns == INT64_MAX) return 0;
    int status = ggs_cursor_open(&cursor, log->trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    ggs_cursor_times(cursor, filter->ops.since_ns, filter->ops.until_ns);
    while ((status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (run.step < first) first = run.step;
        if (run.step > last) last = run.step;
    }
    ggs_cursor_close(cursor);
    if (status < 0 || first < 0) return status;
    if (first > filter->first_token) filter->first_token = first;
    if (last < filter->last_token) filter->last_token = last;
    return 0;
}

int ggs_log_open(struct ggs_log ** out, struct ggs_trace * trace, const struct ggs_log_filter * filter,
                 struct ggs_error * error) {
    struct ggs_log * log = calloc(1, sizeof(*log));
    *out                 = NULL;
    if (log == NULL) return ggs_fail_memory(error);
    log->trace  = trace;
    log->filter = *filter;
    int status  = ggs_sieve_init(&log->sieve, trace, &filter->ops, error);
    if (status == 0) status = ggs_trace_check_steps(trace, filter->first_token, filter->last_token, error);
    if (status == 0) status = ggs_trace_check_layer(trace, filter->ops.layer, error);
    if (status == 0 && filter->last_run == 0) status = narrow(log, error);
    if (status == 0 && filter->last_run > 0)
        status = ggs_walk_open_runs(&log->walk, trace, filter->first_run, filter->last_run, error);
    else if (status == 0)
        status = ggs_walk_open(&log->walk, trace, log->filter.first_token, log->filter.last_token, error);
    if (status != 0) {
        ggs_log_close(log);
        return status;
    }
    log->walk->sums_only   = filter->ops.thread < 0;
    log->walk->with_opaque = log->walk->with_submits = true;
    *out                                             = log;
    return 0;
}

void ggs_log_close(struct ggs_log * log) {
    if (log == NULL) return;
    ggs_walk_close(log->walk);
    ggs_sieve_release(&log->sieve);
    free(log->verdicts.memory);
    free(log);
}

// ---- filters ----

// The part of the filter that needs no bytes.
static bool op_fits(const struct ggs_log * log, const struct ggs_op_seen * op) {
    int64_t slot = log->filter.ops.slot;
    if (slot != GGS_ANY_SLOT && log->walk->run.slot != slot) return false;
    return ggs_sieve_fits_time(&log->sieve, op->begin_ns, op->end_ns) &&
           ggs_sieve_fits_node(&log->sieve, log->walk->graph, op->node, op->name, op->layer);
}

// ---- entries ----

static struct ggs_log_operand operand_of(const struct ggs_access * access) {
    return (struct ggs_log_operand){.tensor = access->tensor,
                                    .slot   = access->slot,
                                    .write  = access->write,
                                    .exact  = access->exact,
                                    .bytes  = access->bytes,
                                    .first  = access->n_ranges > 0 ? access->ranges[0].offset : 0,
                                    .ranges = access->n_ranges};
}

// Ranks an operand as the source of an op's data: reads before writes, files before memory.
static int rank_of(const struct ggs_access * access) {
    return access->write ? 0 : access->tensor->source == GGS_SOURCE_DISK ? 2 : 1;
}

// Sets the bytes and the main operand. Returns true if an operand matches the requested place.
static bool add_accesses(struct ggs_log * log, struct ggs_log_entry * entry, const struct ggs_access_list * list) {
    struct ggs_access_bytes sum    = ggs_access_sum(list);
    bool                    wanted = ggs_op_filter_asks_bytes(&log->filter.ops);
    int                     best   = -1;
    entry->read = sum.read, entry->written = sum.written, entry->disk = sum.disk;
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        log->operands[i]                 = operand_of(access);
        if (wanted && !ggs_sieve_fits_access(&log->sieve, log->walk->op.op, access)) continue;
        int value = rank_of(access);
        if (value > best || (value == best && access->bytes > entry->main.bytes)) {
            best        = value;
            entry->main = log->operands[i];
        }
    }
    entry->n_operands = log->filter.operands ? list->n : 0;
    entry->operands   = log->operands;
    return best >= 0 || !wanted;
}

// Sets the times of the op, or of the requested thread. False if that thread took no part.
static bool add_times(const struct ggs_log * log, const struct ggs_op_seen * op, struct ggs_log_entry * entry) {
    const struct ggs_op_seen * head = &log->walk->op;
    entry->threads                  = head->n_op_runs;
    entry->begin_ns = op->begin_ns, entry->end_ns = op->end_ns;
    entry->busy_ns = op->busy_ns, entry->wait_ns = op->wait_ns;
    if (log->filter.ops.thread < 0) return true;
    for (uint64_t i = 0; i < head->n_op_runs; i++) {
        const struct ggs_op_run * row = &head->op_runs[i];
        if (row->thread != (uint64_t) log->filter.ops.thread) continue;
        entry->begin_ns = entry->end_ns = row->begin_ns;
        if (log->part > 0) return true;
        entry->end_ns   = ggs_time_after(row->begin_ns, row->duration_ns);
        entry->busy_ns  = ggs_op_run_busy(row);
        entry->wait_ns  = ggs_op_run_wait(row);
        entry->unwaited = (row->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
        return true;
    }
    return false;
}

// Returns where the verdict on the current op is cached; NULL if index data decides, or memory is
// out.
static enum verdict * verdict_of(struct ggs_log * log) {
    const struct ggs_op_seen * op = &log->walk->op;
    if (op->absorbed > 0 || ggs_trace_is_indexed(log->trace, log->walk->graph, op->node, 0)) return NULL;
    return ggs_per_node(&log->verdicts, log->walk, sizeof(enum verdict));
}

// Reads the bytes of an op. Returns 1 if it matches the requested place, 0 or a negative status.
static int add_bytes(struct ggs_log * log, struct ggs_log_entry * entry, struct ggs_error * error) {
    const struct ggs_access_list * list;
    bool                           wanted  = ggs_op_filter_asks_bytes(&log->filter.ops);
    enum verdict *                 verdict = wanted ? verdict_of(log) : NULL;
    if (verdict != NULL && *verdict == NOT_THERE) return 0;
    if (log->filter.places_only && (!wanted || (verdict != NULL && *verdict == THERE))) return 1;
    int status = ggs_walk_part_accesses(log->walk, log->part, &list, error);
    if (status < 0) return status;
    status = add_accesses(log, entry, list) ? 1 : 0;
    if (verdict != NULL) *verdict = status > 0 ? THERE : NOT_THERE;
    return status;
}

// Returns 1 if it is an entry, 0 if it is filtered out.
static int make_entry(struct ggs_log * log, const struct ggs_op_seen * op, struct ggs_log_entry * entry,
                      struct ggs_error * error) {
    const struct ggs_run * run = &log->walk->run;
    if (!op_fits(log, op)) return 0;
    *entry = (struct ggs_log_entry){.run       = run->run,
                                    .node      = op->node,
                                    .number    = log->number,
                                    .absorbed  = op->absorbed,
                                    .fused     = log->part > 0 ? (int64_t) log->walk->op.node : -1,
                                    .token     = run->step,
                                    .phase     = run->phase,
                                    .op        = op->name,
                                    .layer     = op->layer,
                                    .cut       = op->cut,
                                    .unwaited  = op->unwaited,
                                    .submit_ns = op->submit_ns,
                                    .host_ns   = op->host_ns,
                                    .opaque    = op->opaque};
    if (!add_times(log, op, entry)) return 0;
    int status    = add_bytes(log, entry, error);
    entry->tensor = status <= 0 || op->result == NULL ? "" : ggs_reader_string(log->trace->reader, op->result->name);
    return status;
}

// Moves to the next computed node. Returns 1, 0 at the end, or a negative status.
static int next_node(struct ggs_log * log, struct ggs_op_seen * op, struct ggs_error * error) {
    log->number++;
    if (log->in_op && ggs_walk_part(log->walk, ++log->part, op)) return 1;
    log->part = 0;
    for (;;) {
        log->in_op = log->in_run && ggs_walk_op(log->walk);
        if (log->in_op) return ggs_walk_part(log->walk, 0, op);
        int more = ggs_walk_run(log->walk, error);
        if (more <= 0) return more;
        log->in_run = true;
        log->number = 0;
    }
}

int ggs_log_next(struct ggs_log * log, struct ggs_log_entry * entry, struct ggs_error * error) {
    struct ggs_op_seen op;
    int                more;
    while ((more = next_node(log, &op, error)) > 0) {
        int status = make_entry(log, &op, entry, error);
        if (status != 0) return status;
    }
    return more;
}
