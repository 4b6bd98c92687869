#include "analyze/machine/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/time-bins.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

const char * ggs_fault_kind_name(uint64_t kind) {
    return kind == GGS_FAULT_MAJOR ? "major" : kind == GGS_FAULT_MINOR ? "minor" : "open";
}

// ---- walking ----

int ggs_fault_walk_open(struct ggs_fault_walk * walk, struct ggs_trace * trace, struct ggs_error * error) {
    *walk      = (struct ggs_fault_walk){0};
    int status = ggs_where_open(&walk->places, trace, error);
    if (status == 0) status = ggs_cursor_open(&walk->cursor, trace->reader, GGS_TABLE_FAULTS, error);
    if (status < 0) ggs_fault_walk_close(walk);
    return status;
}

void ggs_fault_walk_close(struct ggs_fault_walk * walk) {
    ggs_where_close(walk->places);
    ggs_cursor_close(walk->cursor);
    *walk = (struct ggs_fault_walk){0};
}

int ggs_fault_walk_next(struct ggs_fault_walk * walk, struct ggs_error * error) {
    const struct ggs_fault * f    = &walk->fault;
    int                      more = ggs_cursor_next(walk->cursor, &walk->fault, error);
    if (more <= 0) return more;
    int status =
        ggs_where_find(walk->places, f->begin_ns, f->run, f->node, f->file, f->file_offset, &walk->where, error);
    return status < 0 ? status : 1;
}

// ---- sums ----

static void add(struct ggs_fault_sum * sum, const struct ggs_fault * fault) {
    *(fault->kind == GGS_FAULT_MAJOR ? &sum->major : fault->kind == GGS_FAULT_MINOR ? &sum->minor : &sum->open) += 1;
    sum->stalled_ns += fault->duration_ns;
}

static struct ggs_fault_group * new_group(struct ggs_fault_groups * groups) {
    struct ggs_fault_group group = {.name = "", .order = -1};
    return ggs_array_push(groups->group, groups->n, groups->capacity, group) ? &groups->group[groups->n - 1] : NULL;
}

// The number of a name equals that of its group, because both are made together.
static bool add_named(struct ggs_fault_groups * groups, struct ggs_names * names, const char * name,
                      const struct ggs_fault * fault) {
    uint32_t number = ggs_names_number(names, name, strlen(name));
    if (number == UINT32_MAX || (number == groups->n && new_group(groups) == NULL)) return false;
    groups->group[number].name = ggs_names_text(names, number);
    add(&groups->group[number].sum, fault);
    return true;
}

// Groups by number, with none first. Numbers above `most` mean a damaged trace.
static bool add_numbered(struct ggs_fault_groups * groups, int64_t number, uint64_t most,
                         const struct ggs_fault * fault) {
    uint64_t at = number < 0 || (uint64_t) number > most ? 0 : (uint64_t) number + 1;
    while (groups->n <= at) {
        struct ggs_fault_group * group = new_group(groups);
        if (group == NULL) return false;
        group->order = (int64_t) groups->n - 2;
    }
    add(&groups->group[at].sum, fault);
    return true;
}

// Adds to a weight, or to one expert of it.
static bool add_expert(struct ggs_fault_totals * totals, const struct ggs_whereabouts * where,
                       const struct ggs_fault * fault) {
    char         text[1024];
    const char * weight = where->weight == NULL ? "" : where->weight;
    snprintf(text, sizeof(text), "%" PRId64 " %s", where->expert, weight);
    if (!add_named(&totals->by_expert, totals->expert_names, text, fault)) return false;
    struct ggs_fault_group * group =
        &totals->by_expert.group[ggs_names_number(totals->expert_names, text, strlen(text))];
    group->name  = weight;
    group->order = where->expert;
    return true;
}

static bool is_empty(const struct ggs_fault_sum * sum) {
    return sum->minor + sum->major + sum->open == 0;
}

static void drop_empty(struct ggs_fault_groups * groups) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < groups->n; i++)
        if (!is_empty(&groups->group[i].sum)) groups->group[kept++] = groups->group[i];
    groups->n = kept;
}

static int by_stall(const void * a, const void * b) {
    const struct ggs_fault_group *x = a, *y = b;
    if (x->sum.stalled_ns != y->sum.stalled_ns) return x->sum.stalled_ns > y->sum.stalled_ns ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names != 0 ? names : x->order < y->order ? -1 : x->order > y->order;
}

static void sort(struct ggs_fault_groups * groups) {
    if (groups->n > 1) qsort(groups->group, groups->n, sizeof(*groups->group), by_stall);
}

static bool wanted(const struct ggs_trace * trace, const struct ggs_fault_walk * walk,
                   const struct ggs_totals_range * range) {
    bool steps = range->first_step != INT64_MIN || range->last_step != INT64_MAX;
    if (!ggs_trace_has_step(trace, walk->fault.step)) return false;
    if (steps && (walk->fault.step < range->first_step || walk->fault.step > range->last_step)) return false;
    const struct ggs_fault * fault = &walk->fault;
    struct ggs_where_event   event = {fault->begin_ns, fault->duration_ns, fault->file, fault->file_offset};
    return ggs_where_fits(&walk->where, &event, trace->filter);
}

static bool add_fault(struct ggs_fault_totals * totals, const struct ggs_fault_walk * walk, uint64_t steps) {
    enum { MOST_LAYERS = 1 << 16 };
    const struct ggs_fault *       fault = &walk->fault;
    const struct ggs_whereabouts * where = &walk->where;
    bool                           good  = true;
    add(&totals->all, fault);
    add(&totals->stages[where->stage], fault);
    if (fault->file != 0) {
        add(&totals->model, fault);
        good = add_named(&totals->by_weight, totals->weight_names, where->weight == NULL ? "" : where->weight, fault) &&
               add_expert(totals, where, fault);
    }
    if (where->op != NULL) {
        add(&totals->in_ops, fault);
        good = good && add_named(&totals->by_op, totals->op_names, where->op, fault) &&
               add_numbered(&totals->by_layer, where->layer, MOST_LAYERS, fault);
    }
    return good && (fault->step < 0 || add_numbered(&totals->by_token, fault->step, steps, fault));
}

int ggs_fault_totals_compute(struct ggs_fault_totals * totals, struct ggs_trace * trace,
                             const struct ggs_totals_range * range, struct ggs_error * error) {
    struct ggs_fault_walk walk  = {0};
    uint64_t              steps = ggs_reader_rows(trace->reader, GGS_TABLE_STEPS);
    *totals                     = (struct ggs_fault_totals){
                            .op_names = ggs_names_new(), .weight_names = ggs_names_new(), .expert_names = ggs_names_new()};
    bool memory = totals->op_names != NULL && totals->weight_names != NULL && totals->expert_names != NULL;
    int  status = memory ? 0 : ggs_fail_memory(error);
    if (status == 0) status = ggs_trace_lost(trace, GGS_LOSS_FAULTS, &totals->lost, error);
    if (status == 0) status = ggs_fault_walk_open(&walk, trace, error);
    while (status >= 0 && (status = ggs_fault_walk_next(&walk, error)) > 0) {
        if (wanted(trace, &walk, range) && !add_fault(totals, &walk, steps)) status = ggs_fail_memory(error);
    }
    ggs_fault_walk_close(&walk);
    if (status < 0) {
        ggs_fault_totals_release(totals);
        return status;
    }
    drop_empty(&totals->by_layer);
    drop_empty(&totals->by_token);
    sort(&totals->by_op);
    sort(&totals->by_weight);
    sort(&totals->by_expert);
    return 0;
}

void ggs_fault_totals_release(struct ggs_fault_totals * totals) {
    struct ggs_fault_groups * const groups[] = {&totals->by_op, &totals->by_weight, &totals->by_expert,
                                                &totals->by_layer, &totals->by_token};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) free(groups[i]->group);
    ggs_names_free(totals->op_names);
    ggs_names_free(totals->weight_names);
    ggs_names_free(totals->expert_names);
    *totals = (struct ggs_fault_totals){0};
}

int ggs_fault_timeline(struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns, struct ggs_fault_bin * bins,
                       uint64_t n, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_fault    fault;
    if (n == 0 || begin_ns < 0 || end_ns <= begin_ns)
        return ggs_fail(error, GGS_USAGE, "the timeline is empty: its end must be after its begin");
    memset(bins, 0, n * sizeof(*bins));
    struct ggs_time_bins stalls = {begin_ns, end_ns, n, &bins->stalled_ns, sizeof(*bins)};
    int                  status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_FAULTS, error);
    if (status == 0) ggs_cursor_times(cursor, begin_ns, end_ns);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &fault, error)) > 0) {
        uint64_t at = ggs_time_bin(begin_ns, end_ns, n, fault.begin_ns);
        if (at < n) *(fault.kind == GGS_FAULT_MAJOR ? &bins[at].major : &bins[at].minor) += 1;
        ggs_time_bins_add(&stalls, fault.begin_ns, ggs_time_after(fault.begin_ns, fault.duration_ns),
                          (double) fault.duration_ns);
    }
    ggs_cursor_close(cursor);
    return status;
}
