#include "analyze/machine/where.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <strings.h>

#include "analyze/walk/recent-runs.h"
#include "analyze/walk/times.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/search.h"

// A range of a file that belongs to a weight.
struct area {
    uint64_t     file, begin, end;
    uint64_t     expert; // bytes of one; 0 without experts
    const char * name;
};

struct ggs_where {
    struct ggs_trace *     trace;
    struct area *          areas; // by file and begin
    uint64_t               n_areas;
    struct ggs_recent_runs runs;
    struct ggs_cursor *    steps;
    struct ggs_step        step; // first step that does not end before the last queried time
    bool                   has_step, first_seen;
    int64_t                first_ns; // start of the first step
};

const char * ggs_stage_name(uint64_t stage) {
    static const char * const names[GGS_STAGES] = {"load", "warm-up", "prompt", "generate", "graph runs", "between"};
    return stage < GGS_STAGES ? names[stage] : "";
}

// ---- weights ----

static int by_place(const void * a, const void * b) {
    const struct area *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

static int list_areas(struct ggs_where * where, struct ggs_error * error) {
    const struct ggs_trace * trace = where->trace;
    where->areas                   = malloc((trace->n_tensors + 1) * sizeof(*where->areas));
    if (where->areas == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        struct area               area;
        if (t->view != 0 || !ggs_trace_origin(t, &area.file, &area.begin) ||
            !ggs_add(area.begin, ggs_trace_extent(trace, t), &area.end))
            continue;
        area.name                      = ggs_reader_string(trace->reader, t->name);
        area.expert                    = ggs_trace_expert_bytes(t, area.name, area.end - area.begin);
        where->areas[where->n_areas++] = area;
    }
    if (where->n_areas > 1) qsort(where->areas, where->n_areas, sizeof(*where->areas), by_place);
    // A weight in several graphs counts once.
    uint64_t kept = 0;
    for (uint64_t i = 0; i < where->n_areas; i++) {
        const struct area * area = &where->areas[i];
        if (kept > 0 && area->file == where->areas[kept - 1].file && area->begin < where->areas[kept - 1].end) continue;
        where->areas[kept++] = *area;
    }
    where->n_areas = kept;
    return 0;
}

static void find_weight(const struct ggs_where * where, uint64_t file, uint64_t offset, struct ggs_whereabouts * out) {
    const struct area * area = where->areas;
    uint64_t            i =
        ggs_search(where->n_areas, at, area[at].file < file || (area[at].file == file && area[at].end <= offset));
    if (i == where->n_areas || area[i].file != file || area[i].begin > offset) return;
    out->weight = area[i].name;
    if (area[i].expert > 0) out->expert = (int64_t) ((offset - area[i].begin) / area[i].expert);
}

// ---- runs and steps ----

static int stage_at(struct ggs_where * where, int64_t ns, enum ggs_stage * stage, struct ggs_error * error) {
    static const enum ggs_stage stages[GGS_PHASE_COUNT] = {
        [GGS_PHASE_NONE] = GGS_STAGE_BETWEEN,      [GGS_PHASE_PROMPT] = GGS_STAGE_PROMPT,
        [GGS_PHASE_GENERATE] = GGS_STAGE_GENERATE, [GGS_PHASE_MIXED] = GGS_STAGE_GENERATE,
        [GGS_PHASE_WARMUP] = GGS_STAGE_WARMUP,     [GGS_PHASE_VERIFY] = GGS_STAGE_GENERATE,
        [GGS_PHASE_GRAPH] = GGS_STAGE_GRAPH};
    int more = 1;
    while (more > 0 && (!where->has_step || where->step.end_ns < ns)) {
        more = ggs_cursor_next(where->steps, &where->step, error);
        if (more <= 0) where->step.begin_ns = where->step.end_ns = INT64_MAX;
        if (!where->first_seen) where->first_ns = where->step.begin_ns;
        where->first_seen = where->has_step = true;
    }
    if (ns < where->first_ns)
        *stage = GGS_STAGE_LOAD;
    else if (ns < where->step.begin_ns || where->step.phase >= GGS_PHASE_COUNT)
        *stage = GGS_STAGE_BETWEEN;
    else
        *stage = stages[where->step.phase];
    return more < 0 ? more : 0;
}

// ---- interface ----

int ggs_where_open(struct ggs_where ** out, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_where * where = calloc(1, sizeof(*where));
    *out                     = NULL;
    if (where == NULL) return ggs_fail_memory(error);
    where->trace = trace;
    int status   = list_areas(where, error);
    if (status == 0) status = ggs_recent_runs_open(&where->runs, trace, error);
    if (status == 0) status = ggs_cursor_open(&where->steps, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) {
        ggs_where_close(where);
        return status;
    }
    *out = where;
    return 0;
}

void ggs_where_close(struct ggs_where * where) {
    if (where == NULL) return;
    ggs_recent_runs_close(&where->runs);
    ggs_cursor_close(where->steps);
    free(where->areas);
    free(where);
}

int ggs_where_find(struct ggs_where * where, int64_t ns, uint64_t run, uint64_t node, uint64_t file, uint64_t offset,
                   struct ggs_whereabouts * out, struct ggs_error * error) {
    const struct ggs_run *   row = NULL;
    const struct ggs_graph * graph;
    *out       = (struct ggs_whereabouts){.result = "", .layer = -1, .expert = -1};
    int status = stage_at(where, ns, &out->stage, error);
    if (status == 0 && file != 0) find_weight(where, file, offset, out);
    if (status == 0 && run != 0) status = ggs_recent_runs_find(&where->runs, run, &row, error);
    if (status < 0 || row == NULL) return status;
    status = ggs_trace_graph(where->trace, row->graph, &graph, error);
    if (status < 0 || node >= graph->n_nodes) return status;
    const struct ggs_tensor * result = ggs_trace_tensor(where->trace, graph->nodes[node].tensor);
    out->op                          = ggs_trace_op_name(where->trace, graph->nodes[node].op);
    out->layer                       = ggs_trace_node_layer(where->trace, graph, node);
    if (result != NULL) out->result = ggs_reader_string(where->trace->reader, result->name);
    return 0;
}

// ---- filters ----

static bool names_fit(const struct ggs_whereabouts * where, const char * pattern) {
    if (pattern == NULL) return true;
    return (where->op != NULL && fnmatch(pattern, where->result, 0) == 0) ||
           (where->weight != NULL && fnmatch(pattern, where->weight, 0) == 0);
}

bool ggs_where_fits(const struct ggs_whereabouts * where, const struct ggs_where_event * event,
                    const struct ggs_op_filter * f) {
    if (f == NULL) return true;
    bool disk = event->file != 0;
    if (f->layer != GGS_ANY_LAYER && (where->op == NULL || where->layer != f->layer)) return false;
    if (f->op != NULL && (where->op == NULL || strcasecmp(where->op, f->op) != 0)) return false;
    if (f->source != GGS_SOURCE_NONE && disk != (f->source == GGS_SOURCE_DISK)) return false;
    if (f->range_file != 0 && event->file != f->range_file) return false;
    if (f->range_end > 0 && (!disk || event->offset < f->range_begin || event->offset >= f->range_end)) return false;
    if (event->begin_ns >= f->until_ns || ggs_time_after(event->begin_ns, event->duration_ns) < f->since_ns)
        return false;
    return names_fit(where, f->tensor);
}

int ggs_where_wants(struct ggs_where * where, const struct ggs_where_event * event, uint64_t run, uint64_t node,
                    struct ggs_error * error) {
    struct ggs_whereabouts about;
    if (where == NULL) return 1;
    int status = ggs_where_find(where, event->begin_ns, run, node, event->file, event->offset, &about, error);
    return status < 0 ? status : ggs_where_fits(&about, event, where->trace->filter);
}
