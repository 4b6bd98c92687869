#include "analyze/ops/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lanes/kernels.h"
#include "analyze/lanes/processes.h"
#include "analyze/requests/shares.h"
#include "analyze/walk/per-node.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"
#include "gguf/gguf-name.h"

void ggs_groups_release(struct ggs_groups * groups) {
    free(groups->group);
    ggs_names_free(groups->names);
    *groups = (struct ggs_groups){0};
}

// Returns the group of a name, made if new. NULL if out of memory.
static struct ggs_group * group_of(struct ggs_groups * groups, const char * name, int64_t order) {
    uint32_t number = ggs_names_number(groups->names, name, strlen(name));
    if (number == UINT32_MAX || !ggs_array_reserve(groups->group, groups->capacity, number + 1ull)) return NULL;
    for (; groups->n <= number; groups->n++) groups->group[groups->n] = (struct ggs_group){0};
    groups->group[number].order = order;
    return &groups->group[number];
}

const struct ggs_tensor * ggs_groups_weight(const struct ggs_access_list * list) {
    const struct ggs_tensor * weight = NULL;
    uint64_t                  most   = 0;
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        uint64_t                  file, offset;
        if (!access->write && ggs_trace_origin(access->tensor, &file, &offset) && access->bytes > most)
            weight = access->tensor, most = access->bytes;
    }
    return weight;
}

const char * ggs_groups_component(struct ggs_trace * trace, const struct ggs_tensor * weight, char * buffer,
                                  size_t size) {
    if (weight == NULL) return "(activations)";
    const char *    name   = ggs_reader_string(trace->reader, weight->name);
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    return ggs_name_component(buffer, size, &parsed, -1);
}

// ---- the group of an op ----

// The current op of the walk.
struct ggs_grouped_op {
    const struct ggs_walk *         walk;
    const struct ggs_tensor *       weight; // largest weight that it reads; NULL: none
    const struct ggs_process_list * processes;
};

#define FIND(name)                                                                                           \
    static const char * find_##name(const struct ggs_grouped_op * op, __attribute__((unused)) char * buffer, \
                                    __attribute__((unused)) size_t size, __attribute__((unused)) int64_t * order)

// Names a group by its number.
static const char * numbered(char * buffer, size_t size, int64_t * order, int64_t number, const char * none) {
    *order = number;
    snprintf(buffer, size, "%lld", (long long) number);
    return number < 0 ? none : buffer;
}

FIND(op) {
    return op->walk->op.name;
}

FIND(layer) {
    return numbered(buffer, size, order, op->walk->op.layer, "none");
}

FIND(component) {
    return ggs_groups_component(op->walk->trace, op->weight, buffer, size);
}

FIND(tensor) {
    const struct ggs_tensor * tensor = op->weight != NULL ? op->weight : op->walk->op.result;
    return tensor == NULL ? "" : ggs_reader_string(op->walk->trace->reader, tensor->name);
}

FIND(token) {
    return numbered(buffer, size, order, op->walk->run.step, op->walk->trace->tokenless ? "no step" : "no token");
}

FIND(device) {
    return ggs_reader_string(op->walk->trace->reader, op->walk->run.backend);
}

FIND(context) {
    return numbered(buffer, size, order, op->walk->run.context, "none");
}

FIND(process) {
    const struct ggs_process_totals * process = ggs_process_find(op->processes, op->walk->run.process);
    *order                                    = (int64_t) op->walk->run.process;
    return process == NULL ? "not known" : process->name;
}

FIND(host) {
    const struct ggs_process_totals * process = ggs_process_find(op->processes, op->walk->run.process);
    *order                                    = (int64_t) op->walk->run.process;
    return process == NULL ? "not known" : process->host;
}

// ---- the table ----

// Sums are much faster to walk, but lack threads, which need a pass of their own.
static int compute_threads(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                           const struct ggs_totals_range * range, struct ggs_error * error) {
    return ggs_groups_compute(groups, trace, by, range, error);
}

static int compute_kernels(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                           const struct ggs_totals_range * range, struct ggs_error * error) {
    (void) by;
    return ggs_groups_of_kernels(groups, trace, range, error);
}

const struct ggs_grouping ggs_groupings[GGS_BY_COUNT] = {
#define ROW(number_, name_, key_, form_, order_, decides_, find_, compute_, text_) \
    [GGS_BY_##number_] = {.name    = #name_,                                       \
                          .key     = (key_),                                       \
                          .text    = (text_),                                      \
                          .order   = GGS_GROUP_ORDER_##order_,                     \
                          .by      = GGS_GROUPED_BY_##decides_,                    \
                          .find    = (find_),                                      \
                          .compute = (compute_)},
    GGS_GROUPINGS(ROW)
#undef ROW
};

bool ggs_groupings_parse(const char * text, unsigned * by) {
    *by = 0;
    for (size_t length;; text += length + 1) {
        unsigned found = GGS_BY_COUNT;
        length         = strcspn(text, ",");
        for (unsigned i = 0; i < GGS_BY_COUNT; i++) {
            const char * name = ggs_groupings[i].name;
            if (strlen(name) == length && memcmp(name, text, length) == 0) found = i;
        }
        // A backend computes on one device with the same name.
        if (length == strlen("backend") && memcmp("backend", text, length) == 0) found = GGS_BY_DEVICE;
        if (found == GGS_BY_COUNT) return false;
        *by |= 1u << found;
        if (text[length] == '\0') return true;
    }
}

static bool is_of_run(enum ggs_by by) {
    return ggs_groupings[by].by == GGS_GROUPED_BY_RUN;
}

// ---- summing ----

// What is constant for a node in every run of its graph.
struct known {
    struct ggs_node_known     node;
    struct ggs_access_bytes   bytes;
    const struct ggs_tensor * weight;
    uint32_t                  group[GGS_BY_COUNT]; // number + 1, if it depends on the node only
};

struct pass {
    struct ggs_groups *     groups; // one per entry of `by`
    const enum ggs_by *     by;
    unsigned                n;
    struct ggs_walk *       walk;
    struct ggs_per_node     nodes;     // struct known
    struct ggs_process_list processes; // their names, by process and by host
};

static void add_bytes(struct ggs_group * group, const struct ggs_access_bytes * bytes) {
    group->read += bytes->read;
    group->written += bytes->written;
    group->disk += bytes->disk;
}

// A device has queues, not threads: all of it is one group with its name.
static bool add_threads(struct ggs_groups * groups, const struct ggs_walk * walk) {
    const struct ggs_op_seen * op      = &walk->op;
    bool                       devices = ggs_trace_is_device(walk->trace, walk->run.device);
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        const struct ggs_op_run * row = &op->op_runs[i];
        char                      name[32];
        snprintf(name, sizeof(name), "%llu", (unsigned long long) row->thread);
        struct ggs_group * group =
            devices ? group_of(groups, ggs_trace_device_name(walk->trace, walk->run.device), INT64_MAX)
                    : group_of(groups, name, (int64_t) row->thread);
        if (group == NULL) return false;
        group->opaque |= devices;
        group->ops++;
        group->op_runs++;
        group->wall_ns += row->duration_ns;
        group->busy_ns += ggs_op_run_busy(row);
        group->wait_ns += ggs_op_run_wait(row);
        group->unwaited |= (row->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
    }
    return true;
}

static struct ggs_group * group_of_op(struct pass * pass, unsigned i, const struct ggs_tensor * weight) {
    const struct ggs_grouped_op op    = {pass->walk, weight, &pass->processes};
    int64_t                     order = 0;
    char                        buffer[128];
    const char *                name = ggs_groupings[pass->by[i]].find(&op, buffer, sizeof(buffer), &order);
    return group_of(&pass->groups[i], name, order);
}

// Returns the group of the current op, by number if the node is known.
static struct ggs_group * find_group(struct pass * pass, unsigned i, struct known * known) {
    struct ggs_groups * groups = &pass->groups[i];
    uint32_t *          number = &known->group[pass->by[i]];
    bool                fixed  = ggs_groupings[pass->by[i]].by == GGS_GROUPED_BY_NODE;
    if (fixed && *number != 0) return &groups->group[*number - 1];
    struct ggs_group * group = group_of_op(pass, i, known->weight);
    if (group != NULL) *number = (uint32_t) (group - groups->group) + 1;
    return group;
}

// Returns the group of the run's backend.
static struct ggs_group * backend_group(struct pass * pass, unsigned i) {
    struct ggs_groups * groups = &pass->groups[i];
    const char *        name   = ggs_names_backend(groups->names, pass->walk->trace->reader, pass->walk->run.backend);
    struct ggs_group *  group  = name == NULL ? NULL : group_of(groups, name, INT64_MAX);
    if (group != NULL) group->opaque = true;
    return group;
}

static int know_node(struct known * known, struct ggs_walk * walk, struct ggs_error * error) {
    const struct ggs_access_list * list;
    if (ggs_node_is_known(&known->node, walk)) return 0;
    int status = ggs_node_learn(&known->node, walk, &list, error);
    if (status < 0) return status;
    known->bytes  = ggs_access_sum(list);
    known->weight = ggs_groups_weight(list);
    return 0;
}

static int add_op(struct pass * pass, struct ggs_error * error) {
    const struct ggs_op_seen * op     = &pass->walk->op;
    struct known *             known  = ggs_per_node(&pass->nodes, pass->walk, sizeof(*known));
    int                        status = known == NULL ? ggs_fail_memory(error) : know_node(known, pass->walk, error);
    for (unsigned i = 0; status == 0 && i < pass->n; i++) {
        enum ggs_by by = pass->by[i];
        if (by == GGS_BY_THREAD) {
            if (!add_threads(&pass->groups[i], pass->walk)) status = ggs_fail_memory(error);
            continue;
        }
        bool               whole = op->opaque && by != GGS_BY_TENSOR && !is_of_run(by);
        struct ggs_group * group = whole ? backend_group(pass, i) : find_group(pass, i, known);
        if (group == NULL) return ggs_fail_memory(error);
        group->ops++;
        group->op_runs += op->n_op_runs;
        group->wall_ns += op->wall_ns;
        group->busy_ns += op->busy_ns;
        group->wait_ns += op->wait_ns;
        group->unwaited |= op->unwaited || op->opaque;
        group->untimed += op->opaque;
        group->on_device |= ggs_trace_is_device(pass->walk->trace, pass->walk->run.device);
        add_bytes(group, &known->bytes);
    }
    return status;
}

// Adds the time of a run that is seen as a whole.
static int add_opaque_run(struct pass * pass, struct ggs_error * error) {
    const struct ggs_run * run = &pass->walk->run;
    for (unsigned i = 0; i < pass->n; i++) {
        struct ggs_group * group = is_of_run(pass->by[i]) ? group_of_op(pass, i, NULL) : backend_group(pass, i);
        if (group == NULL) return ggs_fail_memory(error);
        group->wall_ns += ggs_time_between(run->begin_ns, run->end_ns);
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
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return strcmp(x->name, y->name); // devices, after the numbers
}

static int walk_ops(struct pass * pass, struct ggs_trace * trace, const struct ggs_totals_range * range,
                    struct ggs_error * error) {
    int status = ggs_walk_open(&pass->walk, trace, range->first_step, range->last_step, error);
    if (status < 0) return status;
    pass->walk->with_opaque = pass->walk->sums_only = true; // sums are much faster, but lack threads
    for (unsigned i = 0; i < pass->n; i++) {
        if (pass->by[i] == GGS_BY_THREAD) pass->walk->sums_only = false;
    }
    while (status >= 0 && (status = ggs_walk_run(pass->walk, error)) > 0) {
        bool opaque = (pass->walk->run.flags & GGS_RUN_OPAQUE) != 0 && !ggs_run_is_elsewhere(&pass->walk->run) &&
                      trace->filter == NULL;
        status = opaque ? add_opaque_run(pass, error) : 0;
        while (status >= 0 && ggs_walk_op(pass->walk)) status = add_op(pass, error);
    }
    ggs_walk_close(pass->walk);
    free(pass->nodes.memory);
    return status < 0 ? status : 0;
}

void ggs_groups_sort(struct ggs_groups * groups, enum ggs_by by) {
    for (uint64_t i = 0; i < groups->n; i++) groups->group[i].name = ggs_names_text(groups->names, (uint32_t) i);
    bool ascend = ggs_groupings[by].order == GGS_GROUP_ORDER_NUMBER;
    if (groups->n > 0) qsort(groups->group, groups->n, sizeof(*groups->group), ascend ? by_order : by_wall);
}

int ggs_groups_compute_several(struct ggs_groups * groups, const enum ggs_by * by, unsigned n, struct ggs_trace * trace,
                               const struct ggs_totals_range * range, struct ggs_error * error) {
    struct pass pass   = {.groups = groups, .by = by, .n = n};
    int         status = 0;
    for (unsigned i = 0; i < n; i++) {
        groups[i] = (struct ggs_groups){.names = ggs_names_new(), .has_bytes = by[i] != GGS_BY_THREAD};
        if (groups[i].names == NULL) status = ggs_fail_memory(error);
    }
    if (status == 0) status = ggs_process_list_names(&pass.processes, trace, error);
    if (status == 0) status = walk_ops(&pass, trace, range, error);
    ggs_process_list_release(&pass.processes);
    for (unsigned i = 0; i < n; i++) {
        if (status < 0)
            ggs_groups_release(&groups[i]);
        else
            ggs_groups_sort(&groups[i], by[i]);
    }
    return status;
}

int ggs_groups_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error) {
    return ggs_groups_compute_several(groups, &by, 1, trace, range, error);
}
