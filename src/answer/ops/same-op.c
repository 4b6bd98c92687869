#include "analyze/ops/same-op.h"

#include "answer/answer.h"

#define ROW(member, key, ...)  GGS_FIELD(struct ggs_same_op, member, key, __VA_ARGS__)
#define SAME(member, key, ...) GGS_FIELD(struct ggs_same_ops, member, key, __VA_ARGS__)

GGS_GET(int64_t, token_of, struct ggs_same_op, it->step)

static const struct ggs_field row_fields[] = {
    GGS_NATURAL("token", token_of, ""),
    ROW(run, "run"),
    ROW(node, "node"),
    ROW(begin_ns, "begin_ns"),
    ROW(wall_ns, "duration_ns"),
    ROW(wait_ns, "wait_ns", "sum over threads"),
    {0},
};
static const struct ggs_object row = {.fields = row_fields};

GGS_NEXT(next_row) {
    const struct ggs_same_ops * same = at;
    return *i < same->n ? &same->rows[(*i)++] : NULL;
}

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    SAME(ops, "count"),
    SAME(least_ns, "least_ns"),
    SAME(median_ns, "median_ns"),
    SAME(most_ns, "most_ns"),
    SAME(ops_per_row, "ops_per_row", "ops per row: the slowest of them is listed, or the requested one"),
    GGS_EACH("ops", next_row, &row, "in order of time"),
    {0},
};
const struct ggs_object ggs_same_ops_object = {
    .name   = "SameOps",
    .text   = "The same op in all steps of the same phase: of one type, with results of one name.",
    .fields = fields,
    .lines  = true,
};

int ggs_same_ops_write(struct ggs_json * json, struct ggs_trace * trace, uint64_t run, uint64_t node,
                       struct ggs_error * error) {
    struct ggs_same_ops same;
    int                 status = ggs_same_ops_find(&same, trace, run, node, error);
    if (status < 0) return status;
    ggs_answer_write(json, &ggs_same_ops_object, &same, trace);
    ggs_same_ops_release(&same);
    return 0;
}
