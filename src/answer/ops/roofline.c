#include "analyze/ops/roofline.h"

#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "base/limits.h"

static void put_bins(struct ggs_json * json, const uint64_t bins[GGS_ROOFLINE_BINS]) {
    unsigned n = GGS_ROOFLINE_BINS;
    while (n > 0 && bins[n - 1] == 0) n--;
    ggs_json_array_inline(json, "duration_bins");
    for (unsigned i = 0; i < n; i++) ggs_json_u64(json, NULL, bins[i]);
    ggs_json_end(json);
}

static void put_row(struct ggs_json * json, const struct ggs_roofline_row * row) {
    static const struct ggs_field fields[] = {
        GGS_FIELD_WORD(struct ggs_roofline_row, phase, "phase", ggs_word_phase),
        GGS_FIELD(struct ggs_roofline_row, op, "op"),
        GGS_FIELD(struct ggs_roofline_row, component, "component"),
        GGS_FIELD(struct ggs_roofline_row, on_device, "on_device"),
        GGS_FIELD(struct ggs_roofline_row, ops, "ops"),
        GGS_FIELD(struct ggs_roofline_row, op_runs, "op_runs"),
        GGS_FIELD(struct ggs_roofline_row, wall_ns, "wall_ns"),
        GGS_FIELD(struct ggs_roofline_row, busy_ns, "busy_ns"),
        GGS_FIELD(struct ggs_roofline_row, read, "bytes_read"),
        GGS_FIELD(struct ggs_roofline_row, written, "bytes_written"),
        GGS_FIELD_OR_NULL(struct ggs_roofline_row, flops, "flops"),
        {0},
    };
    static const struct ggs_field shared[] = {
        GGS_FIELD(struct ggs_roofline_row, shared, "ops"),
        GGS_FIELD(struct ggs_roofline_row, shared_ns, "busy_ns"),
        GGS_FIELD(struct ggs_roofline_row, uneven_ns, "uneven_ns"),
        GGS_FIELD(struct ggs_roofline_row, barrier_ns, "barrier_ns"),
        {0},
    };
    ggs_json_object(json, NULL);
    ggs_fields_members(json, fields, row);
    if (row->shared > 0)
        ggs_fields_object(json, "shared", shared, row);
    else
        ggs_json_null(json, "shared");
    put_bins(json, row->bins);
    ggs_json_end(json);
}

void ggs_roofline_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_roofline * roofline,
                        const struct ggs_rates * limits) {
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    if (limits->memory_bytes_per_second > 0) {
        ggs_json_object_inline(json, "limits");
        ggs_rates_members(json, limits);
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "limits");
    }
    ggs_json_array(json, "by_op");
    for (uint64_t i = 0; i < roofline->n; i++) put_row(json, &roofline->row[i]);
    ggs_json_end(json);
    ggs_json_end(json);
}
