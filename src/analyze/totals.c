#include "analyze/totals.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/access.h"
#include "base/error.h"

// What is the same for an op in every run of a graph, worked out when the graph is met.
struct fixed {
    uint64_t read, written, disk;
    bool     moves;   // index data decides: work it out in every run
    bool     touched; // its bytes of the model are in the set already
};

struct per_node {
    int64_t  begin_ns, end_ns;
    uint64_t op_runs, busy_ns, wait_ns, absorbed;
};

struct pass {
    struct ggs_totals *      totals;
    struct ggs_trace *       trace;
    const struct ggs_graph * graph;
    uint64_t                 graph_number;
    struct fixed *           fixed; // by node of the graph
    struct per_node *        node;  // of the run
    struct ggs_access_list   accesses;
    struct ggs_cursor *      op_runs;
};

void ggs_totals_release(struct ggs_totals * totals) {
    for (uint64_t i = 0; i < totals->n_touched; i++) ggs_intervals_release(&totals->touched[i]);
    free(totals->touched);
    free(totals->by_op);
    *totals = (struct ggs_totals){0};
}

// ---- bytes ----

static bool touch(struct ggs_totals * totals, const struct ggs_access * access) {
    const struct ggs_tensor * t      = access->tensor;
    uint64_t                  file   = t->source == GGS_SOURCE_DISK ? t->file : t->origin_file;
    uint64_t                  offset = t->source == GGS_SOURCE_DISK ? t->file_offset : t->origin_offset;
    if (file == 0 || file > totals->n_touched) return true;
    for (uint32_t i = 0; i < access->n_ranges; i++) {
        uint64_t begin = offset + access->ranges[i].offset;
        if (!ggs_intervals_add(&totals->touched[file - 1], begin, begin + access->ranges[i].length)) return false;
    }
    return true;
}

static bool decided_by_index(const struct pass * pass, uint64_t node) {
    switch (ggs_trace_op_kind(pass->trace, pass->graph->nodes[node].op)) {
        case GGS_KIND_GET_ROWS:
        case GGS_KIND_SET_ROWS:
        case GGS_KIND_MUL_MAT_ID:
        case GGS_KIND_ADD_ID: return true;
        default: return false;
    }
}

static int bytes_of(struct pass * pass, const struct ggs_run * run, uint64_t node, struct fixed * out, struct ggs_error * error) {
    struct fixed * fixed = &pass->fixed[node];
    bool           warm  = run->phase == GGS_PHASE_WARMUP;
    if (!fixed->moves && (fixed->read | fixed->written) != 0 && (fixed->touched || warm)) {
        *out = *fixed;
        return 0;
    }
    int status = ggs_access_of(&pass->accesses, pass->trace, pass->graph, node, pass->node[node].absorbed, error);
    if (status < 0) return status;
    *out = (struct fixed){.moves = decided_by_index(pass, node), .touched = !warm};
    for (unsigned i = 0; i < pass->accesses.n; i++) {
        const struct ggs_access * access = &pass->accesses.access[i];
        *(access->write ? &out->written : &out->read) += access->bytes;
        if (access->tensor->source == GGS_SOURCE_DISK) out->disk += access->bytes;
        if (!warm && !touch(pass->totals, access)) return ggs_fail_memory(error);
    }
    *fixed = *out;
    return 0;
}

// ---- runs ----

static int meet_graph(struct pass * pass, const struct ggs_run * run, struct ggs_error * error) {
    if (pass->graph_number == run->graph) return 0;
    int status = ggs_trace_graph(pass->trace, run->graph, &pass->graph, error);
    if (status < 0) return status;
    pass->graph_number    = run->graph;
    uint64_t          n   = pass->graph->n_nodes + 1;
    struct fixed *    f   = realloc(pass->fixed, n * sizeof(*f));
    if (f != NULL) pass->fixed = f;
    struct per_node * p   = realloc(pass->node, n * sizeof(*p));
    if (p != NULL) pass->node = p;
    if (f == NULL || p == NULL) return ggs_fail_memory(error);
    memset(f, 0, n * sizeof(*f));
    return 0;
}

static int gather_op_runs(struct pass * pass, const struct ggs_run * run, struct ggs_error * error) {
    memset(pass->node, 0, pass->graph->n_nodes * sizeof(*pass->node));
    ggs_cursor_range(pass->op_runs, run->first_op_run, run->op_runs);
    struct ggs_op_run row;
    int               more;
    while ((more = ggs_cursor_next(pass->op_runs, &row, error)) > 0) {
        if (row.node >= pass->graph->n_nodes) continue;
        struct per_node * node = &pass->node[row.node];
        int64_t           end  = row.begin_ns + (int64_t) row.duration_ns;
        if (node->op_runs == 0 || row.begin_ns < node->begin_ns) node->begin_ns = row.begin_ns;
        if (node->op_runs == 0 || end > node->end_ns) node->end_ns = end;
        node->op_runs++;
        node->busy_ns += row.duration_ns - (row.inner_wait_ns < row.duration_ns ? row.inner_wait_ns : row.duration_ns);
        node->wait_ns += row.wait_ns + row.inner_wait_ns;
        node->absorbed = row.absorbed;
    }
    return more;
}

static int add_ops(struct pass * pass, const struct ggs_run * run, struct ggs_error * error) {
    struct ggs_totals * totals = pass->totals;
    for (uint64_t i = 0; i < pass->graph->n_nodes; i++) {
        const struct per_node * node = &pass->node[i];
        uint64_t                op   = pass->graph->nodes[i].op;
        if (node->op_runs == 0 || ggs_trace_op_kind(pass->trace, op) == GGS_KIND_EMPTY) continue;
        struct fixed bytes;
        int          status = bytes_of(pass, run, i, &bytes, error);
        if (status < 0) return status;
        totals->ops++;
        totals->read += bytes.read;
        totals->written += bytes.written;
        totals->disk += bytes.disk;
        if (op >= totals->n_by_op) continue;
        struct ggs_op_totals * sum = &totals->by_op[op];
        sum->ops++;
        sum->op_runs += node->op_runs;
        sum->wall_ns += (uint64_t) (node->end_ns - node->begin_ns);
        sum->busy_ns += node->busy_ns;
        sum->wait_ns += node->wait_ns;
        sum->read += bytes.read;
        sum->written += bytes.written;
    }
    return 0;
}

static int add_run(struct pass * pass, const struct ggs_run * run, struct ggs_error * error) {
    struct ggs_totals * t = pass->totals;
    t->runs++;
    if ((run->flags & GGS_RUN_INTERRUPTED) != 0) t->interrupted_runs++;
    if (run->threads > t->threads) t->threads = run->threads;
    t->nodes += run->nodes, t->executed += run->executed, t->absorbed += run->absorbed, t->empty += run->empty;
    t->skipped += run->skipped, t->opaque += run->opaque, t->unseen += run->unseen, t->cut += run->cut;
    t->op_runs += run->op_runs;
    if (run->op_runs == 0) return 0;
    int status = meet_graph(pass, run, error);
    if (status == 0) status = ggs_access_begin_run(&pass->accesses, pass->trace, run, pass->graph, error);
    if (status == 0) status = gather_op_runs(pass, run, error);
    if (status == 0) status = add_ops(pass, run, error);
    return status;
}

static int walk_runs(struct pass * pass, struct ggs_error * error) {
    struct ggs_cursor * runs = NULL;
    struct ggs_run      run;
    int64_t             first = INT64_MAX, last = INT64_MIN;
    int                 status = ggs_cursor_open(&runs, pass->trace->reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&pass->op_runs, pass->trace->reader, GGS_TABLE_OP_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(runs, &run, error)) > 0) {
        if (run.begin_ns < first) first = run.begin_ns;
        if (run.end_ns > last) last = run.end_ns;
        status = add_run(pass, &run, error);
    }
    if (last > first) pass->totals->wall_ns = (uint64_t) (last - first);
    ggs_cursor_close(runs);
    ggs_cursor_close(pass->op_runs);
    return status < 0 ? status : 0;
}

// ---- the rest ----

static int walk_steps(struct ggs_totals * totals, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.phase == GGS_PHASE_WARMUP) {
            totals->warmup_steps++;
            continue;
        }
        uint64_t ns = step.end_ns > step.begin_ns ? (uint64_t) (step.end_ns - step.begin_ns) : 0;
        totals->steps++;
        if (step.phase == GGS_PHASE_PROMPT) {
            totals->prompt_tokens += step.tokens;
            totals->prompt_ns += ns;
            totals->generated_tokens++; // what the prompt yields
        } else {
            totals->generate_steps++;
            totals->generate_ns += ns;
            totals->generated_tokens += step.tokens; // one for each sequence that was continued
        }
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int walk_losses(struct ggs_totals * totals, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_loss     loss;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LOSSES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &loss, error)) > 0) totals->dropped += loss.count;
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

struct event {
    int64_t  ns;
    uint64_t size;
    bool     end;
};

static int by_time(const void * a, const void * b) {
    const struct event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (int) y->end - (int) x->end; // what is freed at that moment makes room first
}

// The most that all buffers together ever took. Mapped files are no memory of the program's own.
static int find_peak(struct ggs_totals * totals, const struct ggs_trace * trace, struct ggs_error * error) {
    struct event * events = malloc((2 * trace->n_buffers + 1) * sizeof(*events));
    if (events == NULL) return ggs_fail_memory(error);
    uint64_t n = 0, now = 0;
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * b = &trace->buffers[i];
        totals->buffers++;
        if (b->file != 0) continue;
        events[n++] = (struct event){b->begin_ns, b->size, false};
        if (b->end_ns >= 0) events[n++] = (struct event){b->end_ns, b->size, true};
    }
    qsort(events, n, sizeof(*events), by_time);
    for (uint64_t i = 0; i < n; i++) {
        now = events[i].end ? now - events[i].size : now + events[i].size;
        if (now > totals->peak_bytes) totals->peak_bytes = now;
    }
    free(events);
    return 0;
}

static int by_wall(const void * a, const void * b) {
    const struct ggs_op_totals *x = a, *y = b;
    if (x->wall_ns != y->wall_ns) return x->wall_ns > y->wall_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

int ggs_totals_compute(struct ggs_totals * totals, struct ggs_trace * trace, struct ggs_error * error) {
    *totals           = (struct ggs_totals){.n_by_op = trace->n_ops, .n_touched = trace->n_files};
    totals->by_op     = calloc(trace->n_ops + 1, sizeof(*totals->by_op));
    totals->touched   = calloc(trace->n_files + 1, sizeof(*totals->touched));
    struct pass pass  = {.totals = totals, .trace = trace};
    int         status = totals->by_op == NULL || totals->touched == NULL ? ggs_fail_memory(error) : 0;
    for (uint64_t i = 0; status == 0 && i < trace->n_ops; i++) totals->by_op[i].name = trace->op_names[i];
    if (status == 0) status = walk_runs(&pass, error);
    if (status == 0) status = walk_steps(totals, trace, error);
    if (status == 0) status = walk_losses(totals, trace, error);
    if (status == 0) status = find_peak(totals, trace, error);
    free(pass.fixed);
    free(pass.node);
    ggs_access_release(&pass.accesses);
    if (status < 0) {
        ggs_totals_release(totals);
        return status;
    }
    totals->buffer = totals->read + totals->written - totals->disk;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (trace->files[i].gguf == 0) continue;
        totals->model_bytes += trace->files[i].size;
        totals->touched_bytes += ggs_intervals_bytes(&totals->touched[i]);
    }
    qsort(totals->by_op, totals->n_by_op, sizeof(*totals->by_op), by_wall);
    while (totals->n_by_op > 0 && totals->by_op[totals->n_by_op - 1].ops == 0) totals->n_by_op--;
    return 0;
}
