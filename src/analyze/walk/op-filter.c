#include "analyze/walk/op-filter.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/options/nearest.h"

bool ggs_op_filter_asks_bytes(const struct ggs_op_filter * f) {
    return f->source != GGS_SOURCE_NONE || f->range_end > 0 || f->buffer != 0 || f->expert >= 0;
}

bool ggs_op_filter_is_of_runs(const struct ggs_op_filter * f) {
    return f->thread >= 0 || f->slot != GGS_ANY_SLOT || f->since_ns != INT64_MIN || f->until_ns != INT64_MAX ||
           ggs_op_filter_asks_bytes(f);
}

bool ggs_op_filter_is_all(const struct ggs_op_filter * f) {
    return f == NULL ||
           (f->layer == GGS_ANY_LAYER && f->op == NULL && f->tensor == NULL && !ggs_op_filter_is_of_runs(f));
}

// ---- existence checks ----

static int check_op(const struct ggs_trace * trace, const char * op, struct ggs_error * error) {
    struct ggs_nearest nearest = {.word = op};
    if (op == NULL) return 0;
    for (uint64_t i = 0; i < trace->n_ops; i++) {
        if (strcasecmp(trace->op_names[i], op) == 0) return 0;
        if (trace->op_names[i][0] != '\0') ggs_nearest_try(&nearest, trace->op_names[i]);
    }
    const char * likely = ggs_nearest_likely(&nearest);
    return ggs_fail(error, GGS_ABSENT, "this recording has no op %s%s%s%s; ggscope stats lists those it has", op,
                    likely == NULL ? "" : " (did you mean ", likely == NULL ? "" : likely, likely == NULL ? "" : "?)");
}

static int check_buffer(const struct ggs_trace * trace, uint64_t buffer, struct ggs_error * error) {
    if (buffer == 0 || ggs_trace_buffer(trace, buffer) != NULL) return 0;
    if (trace->n_buffers == 0) return ggs_fail(error, GGS_ABSENT, "this recording has no buffers");
    return ggs_fail(error, GGS_ABSENT,
                    "there is no buffer %" PRIu64 ": this recording has buffers %" PRIu64 " to %" PRIu64, buffer,
                    trace->buffers[0].buffer, trace->buffers[trace->n_buffers - 1].buffer);
}

static int check_thread(struct ggs_trace * trace, int64_t thread, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_lane     lane;
    uint64_t            most = 0;
    if (thread < 0 || ggs_reader_rows(trace->reader, GGS_TABLE_LANES) == 0) return 0;
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LANES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &lane, error)) > 0)
        if (lane.queue > most) most = lane.queue;
    ggs_cursor_close(cursor);
    if (status < 0 || (uint64_t) thread <= most) return status;
    return ggs_fail(error, GGS_ABSENT, "there is no thread %" PRId64 ": this recording has threads 0 to %" PRIu64,
                    thread, most);
}

int ggs_op_filter_check(const struct ggs_op_filter * f, struct ggs_trace * trace, struct ggs_error * error) {
    int status = ggs_trace_check_layer(trace, f->layer, error);
    if (status == 0) status = check_op(trace, f->op, error);
    if (status == 0) status = check_buffer(trace, f->buffer, error);
    return status == 0 ? check_thread(trace, f->thread, error) : status;
}

// ---- nodes ----

static bool name_fits(const struct ggs_trace * trace, const char * pattern, uint64_t tensor) {
    return tensor > 0 && tensor <= trace->n_tensors && fnmatch(pattern, ggs_trace_tensor_name(trace, tensor), 0) == 0;
}

bool ggs_op_filter_fits_node(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    const struct ggs_op_filter * f = trace->filter;
    if (f == NULL) return true;
    if (node >= graph->n_nodes) return false;
    const struct ggs_node * at = &graph->nodes[node];
    if (f->layer != GGS_ANY_LAYER && ggs_trace_node_layer(trace, graph, node) != f->layer) return false;
    if (f->op != NULL && strcasecmp(ggs_trace_op_name(trace, at->op), f->op) != 0) return false;
    if (f->tensor == NULL || name_fits(trace, f->tensor, at->tensor)) return true;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++)
        if (name_fits(trace, f->tensor, graph->edges[e].tensor)) return true;
    return false;
}

// ---- the sieve ----

int ggs_sieve_init(struct ggs_sieve * sieve, const struct ggs_trace * trace, const struct ggs_op_filter * filter,
                   struct ggs_error * error) {
    *sieve = (struct ggs_sieve){.trace = trace, .filter = *filter};
    if (filter->tensor == NULL) return 0;
    sieve->matches = calloc(trace->n_tensors + 1, sizeof(*sieve->matches));
    if (sieve->matches == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const char * name = ggs_reader_string(trace->reader, trace->tensors[i].name);
        sieve->matches[i] = fnmatch(filter->tensor, name, 0) == 0;
    }
    return 0;
}

void ggs_sieve_release(struct ggs_sieve * sieve) {
    free(sieve->matches);
    sieve->matches = NULL;
}

static bool matches(const struct ggs_sieve * sieve, uint64_t tensor) {
    return tensor > 0 && tensor <= sieve->trace->n_tensors && sieve->matches[tensor - 1];
}

bool ggs_sieve_fits_node(const struct ggs_sieve * sieve, const struct ggs_graph * graph, uint64_t node, const char * op,
                         int layer) {
    const struct ggs_op_filter * f = &sieve->filter;
    if (f->layer != GGS_ANY_LAYER && layer != f->layer) return false;
    if (f->op != NULL && strcasecmp(op, f->op) != 0) return false;
    if (sieve->matches == NULL || matches(sieve, graph->nodes[node].tensor)) return true;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++)
        if (matches(sieve, graph->edges[e].tensor)) return true;
    return false;
}

bool ggs_sieve_fits_time(const struct ggs_sieve * sieve, int64_t begin_ns, int64_t end_ns) {
    const struct ggs_op_filter * f = &sieve->filter;
    if (begin_ns >= f->until_ns) return false;
    return end_ns > f->since_ns || begin_ns >= f->since_ns;
}

// True if these bytes of a model file, mapped or copied at load, lie in the requested range.
static bool range_fits(const struct ggs_op_filter * filter, const struct ggs_access * access) {
    uint64_t file, base;
    if (filter->range_end == 0) return true;
    if (!ggs_trace_origin(access->tensor, &file, &base)) return false;
    if (filter->range_file != 0 && filter->range_file != file) return false;
    for (uint32_t i = 0; i < access->n_ranges; i++) {
        uint64_t begin = base + access->ranges[i].offset;
        if (begin < filter->range_end && begin + access->ranges[i].length > filter->range_begin) return true;
    }
    return false;
}

// True for the weights of all experts, if the op uses the requested one.
static bool expert_fits(const struct ggs_sieve * sieve, uint64_t op, const struct ggs_access * access) {
    const struct ggs_tensor * t      = access->tensor;
    int64_t                   expert = sieve->filter.expert;
    if (expert < 0) return true;
    if (access->slot != 0 || ggs_trace_op_kind(sieve->trace, op) != GGS_KIND_MUL_MAT_ID) return false;
    if (t->ne[2] <= expert || t->nb[2] <= 0) return false;
    uint64_t each = (uint64_t) t->nb[2];
    for (uint32_t i = 0; i < access->n_ranges; i++) {
        uint64_t first = access->ranges[i].offset / each;
        uint64_t last  = (access->ranges[i].offset + access->ranges[i].length - 1) / each;
        if (first <= (uint64_t) expert && (uint64_t) expert <= last) return true;
    }
    return false;
}

bool ggs_sieve_fits_access(const struct ggs_sieve * sieve, uint64_t op, const struct ggs_access * access) {
    const struct ggs_op_filter * f = &sieve->filter;
    if (f->source != GGS_SOURCE_NONE && access->tensor->source != f->source) return false;
    if (f->buffer != 0 && access->tensor->buffer != f->buffer) return false;
    return range_fits(f, access) && expert_fits(sieve, op, access);
}
