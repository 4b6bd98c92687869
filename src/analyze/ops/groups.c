#include "analyze/ops/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/walk.h"
#include "base/error.h"
#include "gguf/gguf-name.h"

void ggs_groups_release(struct ggs_groups * groups) {
    free(groups->group);
    ggs_names_free(groups->names);
    *groups = (struct ggs_groups){0};
}

// The group of a name, made where it is new. NULL when out of memory.
static struct ggs_group * group_of(struct ggs_groups * groups, const char * name, int64_t order) {
    uint32_t number = ggs_names_number(groups->names, name, strlen(name));
    if (number == UINT32_MAX) return NULL;
    if (number >= groups->capacity) {
        uint64_t           capacity = groups->capacity == 0 ? 256 : 2 * groups->capacity;
        struct ggs_group * group    = realloc(groups->group, capacity * sizeof(*group));
        if (group == NULL) return NULL;
        memset(group + groups->capacity, 0, (capacity - groups->capacity) * sizeof(*group));
        groups->group    = group;
        groups->capacity = capacity;
    }
    if (number >= groups->n) groups->n = number + 1;
    groups->group[number].order = order;
    return &groups->group[number];
}

// The weight that an op reads: the largest source that lies in a model's file, or came from one.
static const struct ggs_tensor * weight_of(const struct ggs_access_list * list) {
    const struct ggs_tensor * weight = NULL;
    uint64_t                  most   = 0;
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        bool in_file = access->tensor->source == GGS_SOURCE_DISK || access->tensor->origin_file != 0;
        if (!access->write && in_file && access->bytes > most) weight = access->tensor, most = access->bytes;
    }
    return weight;
}

static const char * component_of(struct ggs_trace * trace, const struct ggs_tensor * weight, char * buffer,
                                 size_t size) {
    if (weight == NULL) return "(activations)";
    const char *    name   = ggs_reader_string(trace->reader, weight->name);
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    return ggs_name_component(buffer, size, &parsed, -1);
}

static const char * key_of(const struct ggs_walk * walk, enum ggs_by by, const struct ggs_tensor * weight,
                           char * buffer, size_t size, int64_t * order) {
    *order = 0;
    switch (by) {
        case GGS_BY_OP:
            return walk->op.name;
        case GGS_BY_COMPONENT:
            return component_of(walk->trace, weight, buffer, size);
        case GGS_BY_TENSOR: {
            const struct ggs_tensor * tensor = weight;
            if (tensor == NULL) tensor = walk->op.result;
            return tensor == NULL ? "" : ggs_reader_string(walk->trace->reader, tensor->name);
        }
        case GGS_BY_LAYER:
            *order = walk->op.layer;
            break;
        default:
            *order = walk->run.step;
            break;
    }
    snprintf(buffer, size, "%lld", (long long) *order);
    if (*order < 0) snprintf(buffer, size, by == GGS_BY_LAYER ? "none" : "no token");
    return buffer;
}

// What one op reads and writes.
struct bytes {
    uint64_t                  read, written, disk;
    const struct ggs_tensor * weight;
};

// What is the same for a node in every run of its graph.
struct known {
    bool         is_known; // false: index data decides
    uint64_t     absorbed; // with so many nodes computed together with it
    struct bytes bytes;
    uint32_t     group[GGS_BY_TOKEN + 1]; // number + 1, where the node decides which it is
};

struct pass {
    struct ggs_groups * groups; // one for each of `by`
    const enum ggs_by * by;
    unsigned            n;
    struct ggs_walk *   walk;
    struct known *      known;    // by node
    uint64_t            known_of; // the graph
};

static void sum_bytes(struct bytes * bytes, const struct ggs_access_list * list) {
    *bytes = (struct bytes){.weight = weight_of(list)};
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        *(access->write ? &bytes->written : &bytes->read) += access->bytes;
        if (access->tensor->source == GGS_SOURCE_DISK) bytes->disk += access->bytes;
    }
}

static void add_bytes(struct ggs_group * group, const struct bytes * bytes) {
    group->read += bytes->read;
    group->written += bytes->written;
    group->disk += bytes->disk;
}

static bool add_threads(struct ggs_groups * groups, const struct ggs_op_seen * op, const struct bytes * bytes) {
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        const struct ggs_op_run * row = &op->op_runs[i];
        char                      name[32];
        snprintf(name, sizeof(name), "%llu", (unsigned long long) row->thread);
        struct ggs_group * group = group_of(groups, name, (int64_t) row->thread);
        if (group == NULL) return false;
        uint64_t inner = row->inner_wait_ns < row->duration_ns ? row->inner_wait_ns : row->duration_ns;
        group->ops++;
        group->op_runs++;
        group->wall_ns += row->duration_ns;
        group->busy_ns += row->duration_ns - inner;
        group->wait_ns += row->wait_ns + inner;
        if (i == 0) add_bytes(group, bytes);
    }
    return true;
}

static bool decided_by_index(enum ggs_op_kind kind) {
    return kind == GGS_KIND_GET_ROWS || kind == GGS_KIND_SET_ROWS || kind == GGS_KIND_MUL_MAT_ID ||
           kind == GGS_KIND_ADD_ID;
}

static int meet_graph(struct pass * pass, struct ggs_error * error) {
    const struct ggs_graph * graph = pass->walk->graph;
    if (graph == NULL || (pass->known != NULL && pass->known_of == graph->row.graph)) return 0;
    struct known * known = realloc(pass->known, (graph->n_nodes + 1) * sizeof(*known));
    if (known == NULL) return ggs_fail_memory(error);
    memset(known, 0, (graph->n_nodes + 1) * sizeof(*known));
    pass->known    = known;
    pass->known_of = graph->row.graph;
    return 0;
}

// The group of the op the walk is at, found again by number where the node has had it before.
static struct ggs_group * find_group(struct pass * pass, unsigned i, struct known * known, const struct bytes * bytes) {
    struct ggs_groups * groups = &pass->groups[i];
    uint32_t *          number = &known->group[pass->by[i]];
    bool                fixed  = pass->by[i] != GGS_BY_TOKEN;
    char                buffer[128];
    int64_t             order;
    if (fixed && *number != 0) return &groups->group[*number - 1];
    const char *       name  = key_of(pass->walk, pass->by[i], bytes->weight, buffer, sizeof(buffer), &order);
    struct ggs_group * group = group_of(groups, name, order);
    if (group != NULL) *number = (uint32_t) (group - groups->group) + 1;
    return group;
}

static int add_op(struct pass * pass, struct ggs_error * error) {
    const struct ggs_op_seen * op    = &pass->walk->op;
    struct known *             known = &pass->known[op->node];
    if (!known->is_known || known->absorbed != op->absorbed) {
        const struct ggs_access_list * list;
        int                            status = ggs_walk_accesses(pass->walk, &list, error);
        if (status < 0) return status;
        sum_bytes(&known->bytes, list);
        known->is_known = !decided_by_index(ggs_trace_op_kind(pass->walk->trace, op->op));
        known->absorbed = op->absorbed;
    }
    for (unsigned i = 0; i < pass->n; i++) {
        if (pass->by[i] == GGS_BY_THREAD) {
            if (!add_threads(&pass->groups[i], op, &known->bytes)) return ggs_fail_memory(error);
            continue;
        }
        struct ggs_group * group = find_group(pass, i, known, &known->bytes);
        if (group == NULL) return ggs_fail_memory(error);
        group->ops++;
        group->op_runs += op->n_op_runs;
        group->wall_ns += (uint64_t) (op->end_ns - op->begin_ns);
        group->busy_ns += op->busy_ns;
        group->wait_ns += op->wait_ns;
        add_bytes(group, &known->bytes);
    }
    return 0;
}

static int by_wall(const void * a, const void * b) {
    const struct ggs_group *x = a, *y = b;
    if (x->wall_ns != y->wall_ns) return x->wall_ns > y->wall_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_order(const void * a, const void * b) {
    const struct ggs_group *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int walk_ops(struct pass * pass, struct ggs_trace * trace, const struct ggs_totals_range * range,
                    struct ggs_error * error) {
    int status = ggs_walk_open(&pass->walk, trace, range->first_step, range->last_step, error);
    if (status < 0) return status;
    pass->walk->sums_only = true; // much faster, but it cannot tell threads apart
    for (unsigned i = 0; i < pass->n; i++) {
        if (pass->by[i] == GGS_BY_THREAD) pass->walk->sums_only = false;
    }
    while (status >= 0 && (status = ggs_walk_run(pass->walk, error)) > 0) {
        status = meet_graph(pass, error);
        while (status >= 0 && ggs_walk_op(pass->walk)) {
            if (range->layer < 0 || pass->walk->op.layer == range->layer) status = add_op(pass, error);
        }
    }
    ggs_walk_close(pass->walk);
    free(pass->known);
    return status < 0 ? status : 0;
}

static void finish(struct ggs_groups * groups, enum ggs_by by) {
    for (uint64_t i = 0; i < groups->n; i++) groups->group[i].name = ggs_names_text(groups->names, (uint32_t) i);
    bool numbered = by == GGS_BY_LAYER || by == GGS_BY_THREAD || by == GGS_BY_TOKEN;
    if (groups->n > 0) qsort(groups->group, groups->n, sizeof(*groups->group), numbered ? by_order : by_wall);
}

int ggs_groups_compute_several(struct ggs_groups * groups, const enum ggs_by * by, unsigned n, struct ggs_trace * trace,
                               const struct ggs_totals_range * range, struct ggs_error * error) {
    struct pass pass   = {.groups = groups, .by = by, .n = n};
    int         status = 0;
    for (unsigned i = 0; i < n; i++) {
        groups[i] = (struct ggs_groups){.names = ggs_names_new()};
        if (groups[i].names == NULL) status = ggs_fail_memory(error);
    }
    if (status == 0) status = walk_ops(&pass, trace, range, error);
    for (unsigned i = 0; i < n; i++) {
        if (status < 0)
            ggs_groups_release(&groups[i]);
        else
            finish(&groups[i], by[i]);
    }
    return status;
}

int ggs_groups_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error) {
    return ggs_groups_compute_several(groups, &by, 1, trace, range, error);
}
