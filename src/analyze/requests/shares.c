#include "analyze/requests/shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/requests/requests.h"
#include "analyze/requests/selection.h"
#include "base/array.h"
#include "base/error.h"

// ---- the costs of steps ----

static int by_step(const void * a, const void * b) {
    const struct ggs_group *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct ggs_group * find(const struct ggs_step_costs * costs, int64_t step) {
    struct ggs_group key = {.order = step};
    return costs->groups.n == 0 || step < 0 ? NULL
                                            : bsearch(&key, costs->groups.group, costs->groups.n, sizeof(key), by_step);
}

int ggs_step_costs_compute(struct ggs_step_costs * costs, struct ggs_trace * trace,
                           const struct ggs_totals_range * range, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    *costs     = (struct ggs_step_costs){0};
    int status = ggs_groups_compute(&costs->groups, trace, GGS_BY_TOKEN, range, error);
    if (status < 0) return status;
    costs->tokens = calloc(costs->groups.n + 1, sizeof(*costs->tokens));
    if (costs->tokens == NULL) status = ggs_fail_memory(error);
    if (status == 0) status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &step, error)) > 0) {
        struct ggs_group * group = find(costs, step.step);
        if (group != NULL) costs->tokens[group - costs->groups.group] += step.tokens;
    }
    ggs_cursor_close(cursor);
    if (status < 0) ggs_step_costs_release(costs);
    return status;
}

void ggs_step_costs_release(struct ggs_step_costs * costs) {
    ggs_groups_release(&costs->groups);
    free(costs->tokens);
    *costs = (struct ggs_step_costs){0};
}

bool ggs_step_costs_share(const struct ggs_step_costs * costs, int64_t step, uint64_t tokens,
                          struct ggs_step_share * share) {
    const struct ggs_group * g     = find(costs, step);
    uint64_t                 whole = g == NULL ? 0 : costs->tokens[g - costs->groups.group];
    if (whole == 0) return false;
    double part = (double) tokens / (double) whole;
    if (part > 1) part = 1;
#define PART(member) (uint64_t)((double) g->member * part + 0.5)
    *share = (struct ggs_step_share){g->ops,     g->op_runs,    PART(wall_ns), PART(busy_ns), PART(wait_ns),
                                     PART(read), PART(written), PART(disk),    g->unwaited,   g->untimed};
#undef PART
    return true;
}

// ---- groups ----

struct sharing {
    struct ggs_groups *           groups;
    struct ggs_trace *            trace;
    const struct ggs_step_costs * costs;
    enum ggs_by                   by;
    bool                          contexts; // there are several
};

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct sharing *      sharing = owner;
    struct ggs_groups *   groups  = sharing->groups;
    struct ggs_step_share share;
    char                  name[64];
    int64_t               order = sharing->by == GGS_BY_REQUEST ? (int64_t) step->request : step->sequence;
    if (!ggs_selection_wants(sharing->trace->selection, step) ||
        !ggs_step_costs_share(sharing->costs, step->step, step->tokens, &share))
        return 0;
    if (sharing->by == GGS_BY_SEQUENCE && sharing->contexts)
        snprintf(name, sizeof(name), "%" PRId64 " of context %" PRIu64, order, step->context);
    else
        snprintf(name, sizeof(name), "%" PRId64, order);
    uint32_t number = ggs_names_number(groups->names, name, strlen(name));
    if (number == UINT32_MAX || !ggs_array_reserve(groups->group, groups->capacity, number + 1ull))
        return ggs_fail_memory(error);
    for (; groups->n <= number; groups->n++) groups->group[groups->n] = (struct ggs_group){0};
    struct ggs_group * group = &groups->group[number];
    group->order             = order;
    group->context           = (int64_t) step->context;
    group->ops += share.ops, group->op_runs += share.op_runs;
    group->wall_ns += share.wall_ns, group->busy_ns += share.busy_ns, group->wait_ns += share.wait_ns;
    group->unwaited |= share.unwaited;
    group->untimed += share.untimed;
    group->read += share.read, group->written += share.written, group->disk += share.disk;
    return 0;
}

// True if steps of more than one context have tokens.
static int several_contexts(struct ggs_trace * trace, bool * several, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    uint64_t            first  = UINT64_MAX;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    *several                   = false;
    while (status >= 0 && !*several && (status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.step < 0) continue;
        *several = first != UINT64_MAX && step.context != first;
        first    = step.context;
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

int ggs_shares_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error) {
    struct ggs_step_costs      costs;
    struct sharing             sharing = {.groups = groups, .trace = trace, .costs = &costs, .by = by};
    struct ggs_request_visitor visitor = {.step = add_step, .owner = &sharing};
    *groups                            = (struct ggs_groups){.names = ggs_names_new(), .has_bytes = true};
    if (groups->names == NULL) return ggs_fail_memory(error);
    int status = several_contexts(trace, &sharing.contexts, error);
    if (status == 0) status = ggs_step_costs_compute(&costs, trace, range, error);
    if (status == 0) {
        status = ggs_requests_walk(trace, &visitor, error);
        ggs_step_costs_release(&costs);
    }
    for (uint64_t i = 0; i < groups->n; i++) groups->group[i].name = ggs_names_text(groups->names, (uint32_t) i);
    if (groups->n > 1) qsort(groups->group, groups->n, sizeof(*groups->group), by_step);
    if (status < 0) ggs_groups_release(groups);
    return status;
}
