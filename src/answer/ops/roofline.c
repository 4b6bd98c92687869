#include "analyze/ops/roofline.h"

#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "base/machine-limits.h"

#define ROW(member, key, ...) GGS_FIELD(struct ggs_roofline_row, member, key, __VA_ARGS__)

static const struct ggs_field shared_fields[] = {
    ROW(shared, "ops"),
    ROW(shared_ns, "busy_ns"),
    ROW(uneven_ns, "uneven_ns", "waits because another thread had more to do"),
    ROW(barrier_ns, "barrier_ns", "waits beyond that: the cost of barriers"),
    {0},
};
static const struct ggs_object shared = {.fields = shared_fields};

GGS_GET(bool, is_shared, struct ggs_roofline_row, it->shared > 0)

static struct ggs_list bins_of(const void * at, const void * trace, void * room) {
    const struct ggs_roofline_row * row = at;
    (void) trace, (void) room;
    return ggs_answer_bins(row->bins, GGS_ROOFLINE_BINS);
}

static const struct ggs_field row_fields[] = {
    GGS_FIELD_WORD(struct ggs_roofline_row, phase, "phase", ggs_word_phase),
    ROW(op, "op"),
    ROW(component, "component", "component of the weight that it reads"),
    ROW(on_device, "on_device", "a device computed them: the limits do not apply, they are those of the host"),
    ROW(ops, "ops", "ops with times"),
    ROW(op_runs, "op_runs"),
    ROW(wall_ns, "wall_ns", "first thread's begin to last thread's end, summed over ops"),
    ROW(busy_ns, "busy_ns", "in ops, summed over threads"),
    ROW(read, "bytes_read"),
    ROW(written, "bytes_written"),
    GGS_FIELD_OR_NULL(struct ggs_roofline_row, flops, "flops",
                      "two for each multiply-add of matrix products and attention; null for other ops"),
    GGS_OBJECT_OF("shared", &shared, "ops on more than one thread, with waits that were seen; null if there are none",
                  .known = is_shared),
    GGS_LIST_OF(U64, "duration_bins", bins_of, "ops by duration: entry i counts those of 2^i to 2^(i+1) ns"),
    {0},
};
static const struct ggs_object row = {.name = "RooflineRow", .fields = row_fields, .lines = true};

struct roofline {
    const struct ggs_roofline * roofline;
    const struct ggs_rates *    limits;
};

GGS_GET_VIEW(limits_of, struct roofline, it->limits->memory_bytes_per_second > 0 ? it->limits : NULL)
GGS_GET_VIEW(roofline_of, struct roofline, it->roofline)

static const struct ggs_field list_fields[] = {
    GGS_ROWS(struct ggs_roofline, row, n, "by_op", &row, "by phase, op and component; longest first"),
    {0},
};
static const struct ggs_object list = {.fields = list_fields};

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_OBJECT_OR_NULL("limits", limits_of, &ggs_rates_object,
                       "limits of the machine with this number of threads; null if not measured"),
    GGS_MEMBERS_VIEW(roofline_of, &list),
    {0},
};
const struct ggs_object ggs_roofline_object = {
    .name   = "Roofline",
    .text   = "Speed of ops by phase, op and component, compared with the limits of the machine.",
    .fields = fields,
    .lines  = true,
};

void ggs_roofline_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_roofline * roofline,
                        const struct ggs_rates * limits) {
    ggs_object_write(json, NULL, &ggs_roofline_object, &(struct roofline){roofline, limits}, trace);
}
