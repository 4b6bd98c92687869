#include "analyze/lanes/kernels.h"

#include <string.h>

#include "analyze/walk/op-filter.h"
#include "analyze/walk/recent-runs.h"
#include "base/array.h"
#include "base/error.h"

struct pass {
    struct ggs_trace *              trace;
    const struct ggs_totals_range * range;
    struct ggs_recent_runs          runs;
    struct ggs_groups *             groups;
};

// Returns 1 if the kernel belongs to a requested step and op, 0 or a failure.
static int fits(struct pass * pass, const struct ggs_kernel * kernel, struct ggs_error * error) {
    const struct ggs_totals_range * range = pass->range;
    if (range->first_step == INT64_MIN && range->last_step == INT64_MAX && pass->trace->filter == NULL) return 1;
    const struct ggs_run *   run;
    const struct ggs_graph * graph;
    int                      status = ggs_recent_runs_find(&pass->runs, kernel->run, &run, error);
    if (status < 0 || run == NULL || run->step < range->first_step || run->step > range->last_step) return status;
    if (pass->trace->filter == NULL) return 1;
    status = kernel->nodes == 0 ? 0 : ggs_trace_graph(pass->trace, run->graph, &graph, error);
    if (status < 0 || kernel->nodes == 0) return status;
    return ggs_op_filter_fits_node(pass->trace, graph, kernel->node);
}

static bool add(struct pass * pass, const struct ggs_kernel * kernel) {
    struct ggs_groups * groups = pass->groups;
    const char *        name   = ggs_reader_string(pass->trace->reader, kernel->name);
    uint32_t            number = ggs_names_number(groups->names, name, strlen(name));
    if (number == UINT32_MAX || !ggs_array_reserve(groups->group, groups->capacity, number + 1ull)) return false;
    for (; groups->n <= number; groups->n++) groups->group[groups->n] = (struct ggs_group){.unwaited = true};
    struct ggs_group * group = &groups->group[number];
    group->ops++;
    group->op_runs++;
    group->wall_ns += kernel->duration_ns;
    group->busy_ns += kernel->duration_ns;
    return true;
}

int ggs_groups_of_kernels(struct ggs_groups * groups, struct ggs_trace * trace, const struct ggs_totals_range * range,
                          struct ggs_error * error) {
    struct pass         pass   = {.trace = trace, .range = range, .groups = groups};
    struct ggs_cursor * cursor = NULL;
    struct ggs_kernel   kernel;
    *groups    = (struct ggs_groups){.names = ggs_names_new()};
    int status = groups->names == NULL ? ggs_fail_memory(error) : ggs_recent_runs_open(&pass.runs, trace, error);
    if (status == 0) status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_KERNELS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &kernel, error)) > 0) {
        status = fits(&pass, &kernel, error);
        if (status > 0 && !add(&pass, &kernel)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    ggs_recent_runs_close(&pass.runs);
    if (status < 0)
        ggs_groups_release(groups);
    else
        ggs_groups_sort(groups, GGS_BY_KERNEL);
    return status;
}
