#include "answer/answer.h"

#include "answer/fields.h"

// Absent if nothing was streamed.
void ggs_streamed_answer(struct ggs_json * json, const struct ggs_streamed_totals * totals) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_streamed_totals, runs, "runs"),
        GGS_FIELD(struct ggs_streamed_totals, run_ns, "run_ns"),
        GGS_FIELD(struct ggs_streamed_totals, uses, "uses"),
        GGS_FIELD(struct ggs_streamed_totals, mapped, "mapped"),
        GGS_FIELD(struct ggs_streamed_totals, bytes_read, "bytes_read"),
        GGS_FIELD(struct ggs_streamed_totals, bytes_early, "bytes_early"),
        GGS_FIELD(struct ggs_streamed_totals, hits, "hits"),
        GGS_FIELD(struct ggs_streamed_totals, misses, "misses"),
        GGS_FIELD(struct ggs_streamed_totals, predicted, "predicted"),
        GGS_FIELD(struct ggs_streamed_totals, predicted_used, "predicted_used"),
        GGS_FIELD(struct ggs_streamed_totals, waits, "waits"),
        GGS_FIELD(struct ggs_streamed_totals, wait_ns, "wait_ns"),
        {0},
    };
    if (totals->uses == 0) return;
    ggs_json_object(json, "streamed");
    ggs_fields_members(json, fields, totals);
    ggs_json_end(json);
}
