#include "analyze/totals.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk.h"
#include "base/error.h"

// What is the same for an op in every run of a graph, worked out when the op is met first.
struct fixed {
    uint64_t read, written, disk;
    bool     known;   // false: not met yet, or index data decides: work it out in every run
    bool     touched; // its bytes of the model are in the set already
};

struct pass {
    struct ggs_totals * totals;
    struct ggs_walk *   walk;
    uint64_t            graph; // that `fixed` is about
    struct fixed *      fixed; // by node
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

static bool decided_by_index(enum ggs_op_kind kind) {
    return kind == GGS_KIND_GET_ROWS || kind == GGS_KIND_SET_ROWS || kind == GGS_KIND_MUL_MAT_ID ||
           kind == GGS_KIND_ADD_ID;
}

static int bytes_of(struct pass * pass, struct fixed * out, struct ggs_error * error) {
    struct ggs_walk * walk  = pass->walk;
    struct fixed *    fixed = &pass->fixed[walk->op.node];
    bool              warm  = walk->run.phase == GGS_PHASE_WARMUP;
    *out                    = *fixed;
    if (fixed->known && (fixed->touched || warm)) return 0;
    const struct ggs_access_list * list;
    int                            status = ggs_walk_accesses(walk, &list, error);
    if (status < 0) return status;
    *out = (struct fixed){.known = !decided_by_index(ggs_trace_op_kind(walk->trace, walk->op.op)), .touched = !warm};
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        *(access->write ? &out->written : &out->read) += access->bytes;
        if (access->tensor->source == GGS_SOURCE_DISK) out->disk += access->bytes;
        if (!warm && !touch(pass->totals, access)) return ggs_fail_memory(error);
    }
    *fixed = *out;
    return 0;
}

// ---- runs ----

static int meet_graph(struct pass * pass, struct ggs_error * error) {
    const struct ggs_graph * graph = pass->walk->graph;
    if (graph == NULL || pass->graph == graph->row.graph) return 0;
    struct fixed * fixed = realloc(pass->fixed, (graph->n_nodes + 1) * sizeof(*fixed));
    if (fixed == NULL) return ggs_fail_memory(error);
    memset(fixed, 0, (graph->n_nodes + 1) * sizeof(*fixed));
    pass->fixed = fixed;
    pass->graph = graph->row.graph;
    return 0;
}

static int add_op(struct pass * pass, struct ggs_error * error) {
    struct ggs_totals *        totals = pass->totals;
    const struct ggs_op_seen * op     = &pass->walk->op;
    struct fixed               bytes;
    int                        status = bytes_of(pass, &bytes, error);
    if (status < 0) return status;
    totals->ops++;
    if (op->n_op_runs > totals->threads) totals->threads = op->n_op_runs;
    totals->read += bytes.read;
    totals->written += bytes.written;
    totals->disk += bytes.disk;
    if (op->op >= totals->n_by_op) return 0;
    struct ggs_op_totals * sum = &totals->by_op[op->op];
    sum->ops++;
    sum->op_runs += op->n_op_runs;
    sum->wall_ns += (uint64_t) (op->end_ns - op->begin_ns);
    sum->busy_ns += op->busy_ns;
    sum->wait_ns += op->wait_ns;
    sum->read += bytes.read;
    sum->written += bytes.written;
    return 0;
}

static void add_run(struct ggs_totals * t, const struct ggs_run * run) {
    t->runs++;
    if ((run->flags & GGS_RUN_INTERRUPTED) != 0) t->interrupted_runs++;
    t->nodes += run->nodes, t->executed += run->executed, t->absorbed += run->absorbed, t->empty += run->empty;
    t->skipped += run->skipped, t->opaque += run->opaque, t->unseen += run->unseen, t->cut += run->cut;
    t->op_runs += run->op_runs;
}

static int walk_runs(struct pass * pass, struct ggs_trace * trace, struct ggs_error * error) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    int     status = ggs_walk_open(&pass->walk, trace, INT64_MIN, INT64_MAX, error);
    while (status >= 0 && (status = ggs_walk_run(pass->walk, error)) > 0) {
        const struct ggs_run * run = &pass->walk->run;
        if (run->begin_ns < first) first = run->begin_ns;
        if (run->end_ns > last) last = run->end_ns;
        add_run(pass->totals, run);
        status = meet_graph(pass, error);
        while (status >= 0 && ggs_walk_op(pass->walk)) status = add_op(pass, error);
    }
    if (last > first) pass->totals->wall_ns = (uint64_t) (last - first);
    ggs_walk_close(pass->walk);
    free(pass->fixed);
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
    *totals            = (struct ggs_totals){.n_by_op = trace->n_ops, .n_touched = trace->n_files};
    totals->by_op      = calloc(trace->n_ops + 1, sizeof(*totals->by_op));
    totals->touched    = calloc(trace->n_files + 1, sizeof(*totals->touched));
    struct pass pass   = {.totals = totals};
    int         status = totals->by_op == NULL || totals->touched == NULL ? ggs_fail_memory(error) : 0;
    for (uint64_t i = 0; status == 0 && i < trace->n_ops; i++) totals->by_op[i].name = trace->op_names[i];
    if (status == 0) status = walk_runs(&pass, trace, error);
    if (status == 0) status = walk_steps(totals, trace, error);
    if (status == 0) status = walk_losses(totals, trace, error);
    if (status == 0) status = find_peak(totals, trace, error);
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
