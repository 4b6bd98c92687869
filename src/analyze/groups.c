#include "analyze/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk.h"
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

static const char * key_of(const struct ggs_walk * walk, enum ggs_by by, const struct ggs_access_list * list,
                           char * buffer, size_t size, int64_t * order) {
    *order = 0;
    switch (by) {
        case GGS_BY_OP:
            return walk->op.name;
        case GGS_BY_COMPONENT:
            return component_of(walk->trace, weight_of(list), buffer, size);
        case GGS_BY_TENSOR: {
            const struct ggs_tensor * tensor = weight_of(list);
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

static void add_bytes(struct ggs_group * group, const struct ggs_access_list * list) {
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        *(access->write ? &group->written : &group->read) += access->bytes;
        if (access->tensor->source == GGS_SOURCE_DISK) group->disk += access->bytes;
    }
}

static bool add_threads(struct ggs_groups * groups, const struct ggs_op_seen * op,
                        const struct ggs_access_list * list) {
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
        if (i == 0) add_bytes(group, list);
    }
    return true;
}

static int add_op(struct ggs_groups * groups, struct ggs_walk * walk, enum ggs_by by, struct ggs_error * error) {
    const struct ggs_access_list * list;
    const struct ggs_op_seen *     op     = &walk->op;
    int                            status = ggs_walk_accesses(walk, &list, error);
    if (status < 0) return status;
    if (by == GGS_BY_THREAD) return add_threads(groups, op, list) ? 0 : ggs_fail_memory(error);
    char               buffer[128];
    int64_t            order;
    const char *       name  = key_of(walk, by, list, buffer, sizeof(buffer), &order);
    struct ggs_group * group = group_of(groups, name, order);
    if (group == NULL) return ggs_fail_memory(error);
    group->ops++;
    group->op_runs += op->n_op_runs;
    group->wall_ns += (uint64_t) (op->end_ns - op->begin_ns);
    group->busy_ns += op->busy_ns;
    group->wait_ns += op->wait_ns;
    add_bytes(group, list);
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

int ggs_groups_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error) {
    *groups                  = (struct ggs_groups){.names = ggs_names_new()};
    struct ggs_walk * walk   = NULL;
    int               status = groups->names == NULL ? ggs_fail_memory(error)
                                                     : ggs_walk_open(&walk, trace, range->first_step, range->last_step, error);
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        while (status >= 0 && ggs_walk_op(walk)) {
            if (range->layer < 0 || walk->op.layer == range->layer) status = add_op(groups, walk, by, error);
        }
    }
    ggs_walk_close(walk);
    if (status < 0) {
        ggs_groups_release(groups);
        return status;
    }
    for (uint64_t i = 0; i < groups->n; i++) groups->group[i].name = ggs_names_text(groups->names, (uint32_t) i);
    bool numbered = by == GGS_BY_LAYER || by == GGS_BY_THREAD || by == GGS_BY_TOKEN;
    if (groups->n > 0) qsort(groups->group, groups->n, sizeof(*groups->group), numbered ? by_order : by_wall);
    return 0;
}
