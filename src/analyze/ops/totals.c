#include "analyze/ops/totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lanes/first-use.h"
#include "analyze/memory/occupancy.h"
#include "analyze/ops/step-totals.h"
#include "analyze/walk/per-node.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

enum { FIXED_READS = 2 };

// What is constant for an op in every run of a graph, computed at its first run.
struct fixed {
    struct ggs_node_known   node;
    struct ggs_access_bytes bytes;
    struct model_read {
        uint64_t tensor, file, begin, length;
    } reads[FIXED_READS]; // of model bytes, if they fit
    unsigned n_reads;
    bool     touched; // its bytes of the model are already in the set
};

struct pass {
    struct ggs_totals *  totals;
    struct ggs_walk *    walk;
    struct ggs_per_node  nodes; // struct fixed
    struct ggs_first_use first_use;
    uint64_t             by_op_capacity, first_backend; // by_op: ops by number, then backends
};

void ggs_totals_release(struct ggs_totals * totals) {
    for (uint64_t i = 0; i < totals->n_touched; i++) {
        if (totals->touched != NULL) ggs_intervals_release(&totals->touched[i]);
        if (totals->unknown != NULL) ggs_intervals_release(&totals->unknown[i]);
    }
    free(totals->touched);
    free(totals->unknown);
    free(totals->by_op);
    ggs_pattern_release(&totals->pattern);
    ggs_names_free(totals->names);
    ggs_device_list_release(&totals->devices);
    ggs_estimate_release(&totals->estimate);
    *totals = (struct ggs_totals){0};
}

// ---- bytes ----

// One access to the model: adds every range to the pattern and to the set, and keeps it in `out`
// while there is room.
static bool add_access(const struct pass * pass, const struct ggs_access * access, bool warm, struct fixed * out) {
    struct ggs_totals * totals = pass->totals;
    struct model_read   read   = {.tensor = access->tensor->tensor};
    uint64_t            base;
    if (!ggs_trace_origin(access->tensor, &read.file, &base) || !pass->walk->trace->models[read.file - 1]) return true;
    struct ggs_intervals * set = access->some ? totals->unknown : totals->touched;
    if (!warm && !ggs_intervals_add_ranges(&set[read.file - 1], base, access->ranges, access->n_ranges)) return false;
    if (access->some) return true; // the order is unknown
    for (uint32_t i = 0; !access->write && i < access->n_ranges; i++) {
        read.begin  = base + access->ranges[i].offset;
        read.length = access->ranges[i].length;
        if (!warm && !ggs_pattern_read(&totals->pattern, read.tensor, read.file, read.begin, read.length)) return false;
        if (out->n_reads < FIXED_READS) out->reads[out->n_reads] = read;
        out->n_reads++;
    }
    return true;
}

static int bytes_of(struct pass * pass, struct fixed * out, struct ggs_error * error) {
    struct ggs_walk * walk  = pass->walk;
    struct fixed *    fixed = ggs_per_node(&pass->nodes, walk, sizeof(*fixed));
    bool              warm  = walk->run.phase == GGS_PHASE_WARMUP;
    if (fixed == NULL) return ggs_fail_memory(error);
    *out = *fixed;
    if (ggs_node_is_known(&fixed->node, walk) && (fixed->touched || warm)) {
        bool ok = true;
        for (unsigned i = 0; ok && !warm && i < fixed->n_reads; i++)
            ok = ggs_pattern_read(&pass->totals->pattern, fixed->reads[i].tensor, fixed->reads[i].file,
                                  fixed->reads[i].begin, fixed->reads[i].length);
        return ok ? 0 : ggs_fail_memory(error);
    }
    const struct ggs_access_list * list;
    int                            status = ggs_node_learn(&fixed->node, walk, &list, error);
    if (status < 0) return status;
    *out = (struct fixed){.node = fixed->node, .bytes = ggs_access_sum(list), .touched = !warm};
    for (unsigned i = 0; i < list->n; i++)
        if (!add_access(pass, &list->access[i], warm, out)) return ggs_fail_memory(error);
    if (out->n_reads > FIXED_READS) out->node.is_known = false;
    *fixed = *out;
    return 0;
}

// ---- runs ----

// Returns the row of this name, after those of ops; NULL if out of memory.
static struct ggs_op_totals * other_row(struct pass * pass, const char * name) {
    struct ggs_totals * totals = pass->totals;
    if (name == NULL) return NULL;
    for (uint64_t i = pass->first_backend; i < totals->n_by_op; i++)
        if (totals->by_op[i].name == name) return &totals->by_op[i];
    struct ggs_op_totals row = {.name = name, .opaque = true};
    bool                 ok  = ggs_array_push(totals->by_op, totals->n_by_op, pass->by_op_capacity, row);
    return ok ? &totals->by_op[totals->n_by_op - 1] : NULL;
}

// The row of the run's backend.
static struct ggs_op_totals * backend_row(struct pass * pass) {
    struct ggs_reader * reader = pass->walk->trace->reader;
    return other_row(pass, ggs_names_backend(pass->totals->names, reader, pass->walk->run.backend));
}

static struct ggs_op_totals * first_use_row(struct pass * pass) {
    struct ggs_names * names = pass->totals->names;
    char               name[128];
    int                n = snprintf(name, sizeof(name), "first use of %s",
                                    ggs_trace_device_name(pass->walk->trace, pass->walk->run.device));
    uint32_t number      = ggs_names_number(names, name, (size_t) n < sizeof(name) ? (size_t) n : sizeof(name) - 1);
    return other_row(pass, number == UINT32_MAX ? NULL : ggs_names_text(names, number));
}

static int add_op(struct pass * pass, struct ggs_error * error) {
    struct ggs_totals *        totals = pass->totals;
    const struct ggs_op_seen * op     = &pass->walk->op;
    struct fixed               fixed;
    int                        status = bytes_of(pass, &fixed, error);
    if (status < 0) return status;
    bool                   first = pass->first_use.run != 0 && pass->walk->run.run == pass->first_use.run;
    struct ggs_op_totals * sum   = op->opaque                     ? backend_row(pass)
                                   : first                        ? first_use_row(pass)
                                   : op->op < pass->first_backend ? &totals->by_op[op->op]
                                                                  : NULL;
    if ((op->opaque || first) && sum == NULL) return ggs_fail_memory(error);
    bool is_device = ggs_trace_is_device(pass->walk->trace, pass->walk->run.device);
    totals->ops += !op->opaque;
    totals->op_runs += op->n_op_runs;
    if (op->n_op_runs > totals->threads && !is_device) totals->threads = op->n_op_runs;
    totals->op_ns += op->wall_ns;
    totals->read += fixed.bytes.read;
    totals->written += fixed.bytes.written;
    totals->disk += fixed.bytes.disk;
    totals->vram += fixed.bytes.vram;
    ggs_device_list_op(&totals->devices, &pass->walk->run, op);
    if (is_device) ggs_estimate_op(&totals->estimate, &pass->walk->run, op);
    if (sum == NULL) return 0;
    sum->ops++;
    sum->op_runs += op->n_op_runs;
    sum->wall_ns += op->wall_ns;
    sum->busy_ns += op->busy_ns;
    sum->wait_ns += op->wait_ns;
    sum->unwaited |= op->unwaited || op->opaque;
    sum->on_device |= is_device;
    sum->read += fixed.bytes.read;
    sum->written += fixed.bytes.written;
    sum->disk += fixed.bytes.disk;
    return 0;
}

static int add_run(struct pass * pass, struct ggs_error * error) {
    struct ggs_totals *    t    = pass->totals;
    const struct ggs_run * run  = &pass->walk->run;
    uint64_t               ns   = ggs_time_between(run->begin_ns, run->end_ns);
    bool                   away = ggs_run_is_elsewhere(run);
    t->runs++;
    if (!away) t->run_ns += ns;
    ggs_device_list_run(&t->devices, run);
    if (ggs_trace_is_device(pass->walk->trace, run->device)) ggs_estimate_run(&t->estimate, run);
    if ((run->flags & GGS_RUN_INTERRUPTED) != 0) t->interrupted_runs++;
    if ((run->flags & GGS_RUN_NO_WAITS) != 0) t->runs_without_waits++;
    if ((run->flags & GGS_RUN_FIRST_THREAD) != 0) {
        t->runs_of_first_thread++;
        if (run->threads > t->threads) t->threads = run->threads;
    }
    t->nodes += run->nodes, t->executed += run->executed, t->absorbed += run->absorbed, t->empty += run->empty;
    t->skipped += run->skipped, t->opaque += run->opaque, t->unseen += run->unseen, t->cut += run->cut;
    if ((run->flags & GGS_RUN_OPAQUE) == 0 || away || pass->walk->trace->filter != NULL) return 0;
    struct ggs_op_totals * row = backend_row(pass);
    if (row == NULL) return ggs_fail_memory(error);
    t->opaque_ns += ns;
    row->wall_ns += ns;
    return 0;
}

static int walk_runs(struct pass * pass, struct ggs_trace * trace, const struct ggs_totals_range * range,
                     struct ggs_error * error) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    int     status = ggs_walk_open(&pass->walk, trace, range->first_step, range->last_step, error);
    if (status >= 0) pass->walk->sums_only = pass->walk->with_opaque = true;
    while (status >= 0 && (status = ggs_walk_run(pass->walk, error)) > 0) {
        const struct ggs_run * run = &pass->walk->run;
        if (run->begin_ns < first) first = run->begin_ns;
        if (run->end_ns > last) last = run->end_ns;
        status = add_run(pass, error);
        while (status >= 0 && ggs_walk_op(pass->walk)) status = add_op(pass, error);
    }
    pass->totals->wall_ns = ggs_time_between(first, last);
    ggs_walk_close(pass->walk);
    free(pass->nodes.memory);
    return status < 0 ? status : 0;
}

// ---- interface ----

static int add_steps(struct ggs_totals * t, struct ggs_trace * trace, const struct ggs_totals_range * range,
                     struct ggs_error * error) {
    struct ggs_step_totals s      = {0};
    int                    status = ggs_step_totals_compute(&s, trace, range->first_step, range->last_step, error);
    t->steps = s.steps, t->warmup_steps = s.warmup_steps, t->generate_steps = s.generate_steps;
    t->requests      = s.requests;
    t->quiet_ns      = s.quiet_ns;
    t->prompt_tokens = s.prompt_tokens, t->generated_tokens = s.generated_tokens;
    t->prompt_ns = s.prompt_ns, t->generate_ns = s.generate_ns, t->between_ns = s.between_ns,
    t->decoded_tokens = s.decoded_tokens;
    t->draft_steps = s.draft_steps, t->draft_ns = s.draft_ns, t->drafting_ns = s.drafting_ns,
    t->drafted_tokens  = s.drafted_tokens;
    t->accepted_tokens = s.accepted_tokens, t->rejected_tokens = s.rejected_tokens;
    t->graph_steps = s.graph_steps, t->graph_ns = s.graph_ns;
    return status;
}

static int add_buffers(struct ggs_totals * totals, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_occupancy occupancy;
    int                  status = ggs_occupancy_compute_buffers(&occupancy, trace, error);
    if (status < 0) return status;
    totals->buffers    = trace->n_buffers;
    totals->peak_bytes = occupancy.peak_bytes;
    ggs_occupancy_release(&occupancy);
    return 0;
}

static int by_wall(const void * a, const void * b) {
    const struct ggs_op_totals *x = a, *y = b;
    if (x->wall_ns != y->wall_ns) return x->wall_ns > y->wall_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

// Keeps rows with contents, longest first.
static void sort_rows(struct ggs_totals * totals) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < totals->n_by_op; i++)
        if (totals->by_op[i].ops > 0 || totals->by_op[i].opaque) totals->by_op[kept++] = totals->by_op[i];
    totals->n_by_op = kept;
    if (kept > 1) qsort(totals->by_op, kept, sizeof(*totals->by_op), by_wall);
}

const struct ggs_totals_range ggs_totals_all = {INT64_MIN, INT64_MAX, GGS_GAP_PAGE};

static int add_loads(struct ggs_totals * totals, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_load row;
    for (uint64_t i = 0; i < ggs_reader_rows(trace->reader, GGS_TABLE_LOADS); i++) {
        int status = ggs_reader_row(trace->reader, GGS_TABLE_LOADS, i, &row, error);
        if (status < 0) return status;
        if (row.end_ns > row.begin_ns) totals->load_ns += (uint64_t) (row.end_ns - row.begin_ns);
    }
    return 0;
}

int ggs_totals_compute(struct ggs_totals * totals, struct ggs_trace * trace, const struct ggs_totals_range * range,
                       struct ggs_error * error) {
    *totals          = (struct ggs_totals){.n_by_op = trace->n_ops, .n_touched = trace->n_files};
    totals->proved   = ggs_reader_rows(trace->reader, GGS_TABLE_PAGES) > 0;
    totals->by_op    = calloc(trace->n_ops + 1, sizeof(*totals->by_op));
    totals->touched  = calloc(trace->n_files + 1, sizeof(*totals->touched));
    totals->unknown  = calloc(trace->n_files + 1, sizeof(*totals->unknown));
    totals->names    = ggs_names_new();
    struct pass pass = {.totals = totals, .by_op_capacity = trace->n_ops + 1, .first_backend = trace->n_ops};
    bool memory = totals->by_op != NULL && totals->touched != NULL && totals->unknown != NULL && totals->names != NULL;
    int  status = memory ? 0 : ggs_fail_memory(error);
    if (status == 0) status = ggs_trace_check_steps(trace, range->first_step, range->last_step, error);
    for (uint64_t i = 0; status == 0 && i < trace->n_ops; i++) totals->by_op[i].name = trace->op_names[i];
    if (status == 0) status = ggs_pattern_init(&totals->pattern, trace, error);
    totals->pattern.gap = range->gap == GGS_GAP_PAGE ? ggs_trace_page_size(trace) : range->gap;
    if (status == 0) status = ggs_device_list_begin(&totals->devices, trace, error);
    if (status == 0) status = ggs_estimate_begin(&totals->estimate, trace, error);
    if (status == 0) status = ggs_first_use_find(&pass.first_use, trace, error);
    if (status == 0) status = walk_runs(&pass, trace, range, error);
    if (status == 0) status = ggs_estimate_end(&totals->estimate, trace, error);
    if (status == 0) status = add_steps(totals, trace, range, error);
    if (status == 0) status = ggs_trace_lost(trace, 0, &totals->dropped, error);
    totals->partial = ggs_trace_missing(trace) != NULL;
    if (status == 0) status = add_buffers(totals, trace, error);
    if (status == 0) status = add_loads(totals, trace, error);
    if (status == 0) status = ggs_weight_places_find(&totals->places, trace, error);
    if (status < 0) {
        ggs_totals_release(totals);
        return status;
    }
    totals->buffer = totals->read + totals->written - totals->disk - totals->vram;
    ggs_device_list_end(&totals->devices);
    ggs_pattern_end(&totals->pattern);
    ggs_intervals_of_models(totals->touched, trace, &totals->touched_bytes, &totals->model_bytes);
    for (uint64_t i = 0; i < trace->n_files; i++)
        if (trace->models[i] && trace->files[i].size == 0) totals->unsized = true;
    totals->stray         = ggs_trace_stray_weights(trace);
    totals->unknown_bytes = ggs_intervals_besides(totals->unknown, totals->touched, trace);
    sort_rows(totals);
    return 0;
}
