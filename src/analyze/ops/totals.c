#include "analyze/ops/totals.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/walk.h"
#include "base/error.h"

enum { FIXED_READS = 2 };

// What is the same for an op in every run of a graph, worked out when the op is met first.
struct fixed {
    uint64_t read, written, disk;
    struct model_read {
        uint64_t tensor, file, begin, length;
    } reads[FIXED_READS]; // of model bytes, where there are no more
    unsigned n_reads;
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
    ggs_pattern_release(&totals->pattern);
    *totals = (struct ggs_totals){0};
}

// ---- bytes ----

// Where in the model's files an access lies; false where it does not.
static bool find_place(const struct ggs_totals * totals, const struct ggs_access * access, struct model_read * place) {
    const struct ggs_tensor * t = access->tensor;
    place->tensor               = t->tensor;
    place->file                 = t->source == GGS_SOURCE_DISK ? t->file : t->origin_file;
    place->begin                = t->source == GGS_SOURCE_DISK ? t->file_offset : t->origin_offset;
    return place->file != 0 && place->file <= totals->n_touched;
}

// One access to the model: every range is noted in the pattern and in the set, and kept in `out` as long as there is room.
static bool note_access(struct ggs_totals * totals, const struct ggs_access * access, bool warm, struct fixed * out) {
    struct model_read place;
    if (!find_place(totals, access, &place)) return true;
    uint64_t base = place.begin;
    if (!warm && !ggs_intervals_add_ranges(&totals->touched[place.file - 1], base, access->ranges, access->n_ranges))
        return false;
    for (uint32_t i = 0; i < access->n_ranges; i++) {
        place.begin  = base + access->ranges[i].offset;
        place.length = access->ranges[i].length;
        if (!warm && !access->write)
            ggs_pattern_read(&totals->pattern, place.tensor, place.file, place.begin, place.length);
        if (out->n_reads < FIXED_READS && !access->write) out->reads[out->n_reads] = place;
        out->n_reads += !access->write;
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
    if (fixed->known && (fixed->touched || warm)) {
        for (unsigned i = 0; !warm && i < fixed->n_reads; i++)
            ggs_pattern_read(&pass->totals->pattern, fixed->reads[i].tensor, fixed->reads[i].file,
                             fixed->reads[i].begin, fixed->reads[i].length);
        return 0;
    }
    const struct ggs_access_list * list;
    int                            status = ggs_walk_accesses(walk, &list, error);
    if (status < 0) return status;
    *out = (struct fixed){.known = !decided_by_index(ggs_trace_op_kind(walk->trace, walk->op.op)), .touched = !warm};
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        *(access->write ? &out->written : &out->read) += access->bytes;
        if (access->tensor->source == GGS_SOURCE_DISK) out->disk += access->bytes;
        if (!note_access(pass->totals, access, warm, out)) return ggs_fail_memory(error);
    }
    if (out->n_reads > FIXED_READS) out->known = false;
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
    totals->op_runs += op->n_op_runs;
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
    sum->disk += bytes.disk;
    return 0;
}

static void add_run(struct ggs_totals * t, const struct ggs_run * run) {
    t->runs++;
    if ((run->flags & GGS_RUN_INTERRUPTED) != 0) t->interrupted_runs++;
    t->nodes += run->nodes, t->executed += run->executed, t->absorbed += run->absorbed, t->empty += run->empty;
    t->skipped += run->skipped, t->opaque += run->opaque, t->unseen += run->unseen, t->cut += run->cut;
}

static int walk_runs(struct pass * pass, struct ggs_trace * trace, const struct ggs_totals_range * range,
                     struct ggs_error * error) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    int     status = ggs_walk_open(&pass->walk, trace, range->first_step, range->last_step, error);
    if (status >= 0) pass->walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(pass->walk, error)) > 0) {
        const struct ggs_run * run = &pass->walk->run;
        if (run->begin_ns < first) first = run->begin_ns;
        if (run->end_ns > last) last = run->end_ns;
        add_run(pass->totals, run);
        status = meet_graph(pass, error);
        while (status >= 0 && ggs_walk_op(pass->walk)) {
            if (range->layer < 0 || pass->walk->op.layer == range->layer) status = add_op(pass, error);
        }
    }
    if (last > first) pass->totals->wall_ns = (uint64_t) (last - first);
    ggs_walk_close(pass->walk);
    free(pass->fixed);
    return status < 0 ? status : 0;
}

// ---- the rest ----

static int walk_steps(struct ggs_totals * totals, struct ggs_trace * trace, const struct ggs_totals_range * range,
                      struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.phase == GGS_PHASE_WARMUP) {
            totals->warmup_steps++;
            continue;
        }
        if (step.step < range->first_step || step.step > range->last_step) continue;
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
    while (status >= 0 && (status = ggs_cursor_next(cursor, &loss, error)) > 0)
        if (!ggs_loss_is_of_machine(loss.reason)) totals->dropped += loss.count;
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

const struct ggs_totals_range ggs_totals_all = {INT64_MIN, INT64_MAX, -1};

int ggs_totals_compute(struct ggs_totals * totals, struct ggs_trace * trace, const struct ggs_totals_range * range,
                       struct ggs_error * error) {
    *totals            = (struct ggs_totals){.n_by_op = trace->n_ops, .n_touched = trace->n_files};
    totals->proved     = ggs_reader_rows(trace->reader, GGS_TABLE_PAGES) > 0;
    totals->by_op      = calloc(trace->n_ops + 1, sizeof(*totals->by_op));
    totals->touched    = calloc(trace->n_files + 1, sizeof(*totals->touched));
    struct pass pass   = {.totals = totals};
    int         status = totals->by_op == NULL || totals->touched == NULL ? ggs_fail_memory(error) : 0;
    for (uint64_t i = 0; status == 0 && i < trace->n_ops; i++) totals->by_op[i].name = trace->op_names[i];
    if (status == 0) status = ggs_pattern_init(&totals->pattern, trace, error);
    if (status == 0) status = walk_runs(&pass, trace, range, error);
    if (status == 0) status = walk_steps(totals, trace, range, error);
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
