#include "answer/requests.h"

#include "answer/answer.h"

#define ROW(member)   GGS_FIELD(struct ggs_request, member, #member)
#define NULL_(member) GGS_FIELD_OR_NULL(struct ggs_request, member, #member)

static const struct ggs_field fields[] = {
    ROW(request),
    ROW(context),
    ROW(sequence),
    GGS_FIELD_WORD(struct ggs_request, kind, "kind", ggs_request_kind_name),
    ROW(begin_ns),
    ROW(end_ns),
    NULL_(first_output_ns),
    ROW(duration_ns),
    NULL_(time_to_first_ns),
    NULL_(ns_per_token),
    ROW(compute_ns),
    ROW(wait_ns),
    ROW(prompt_tokens),
    ROW(cached_tokens),
    ROW(generated_tokens),
    ROW(accepted_tokens),
    ROW(rejected_tokens),
    ROW(unsettled_tokens),
    ROW(steps),
    ROW(decodes),
    ROW(cells_peak),
    ROW(changes_seen),
    {0},
};

static const struct ggs_field costs[] = {
    ROW(op_ns), ROW(bytes_read), ROW(bytes_written), ROW(bytes_disk), {0},
};

#define CONTEXT(member) GGS_FIELD(struct ggs_request_context, member, #member)

static const struct ggs_field contexts[] = {
    CONTEXT(context),         GGS_FIELD_OR_NULL(struct ggs_request_context, target, "target"),
    CONTEXT(requests),        CONTEXT(prompt_tokens),
    CONTEXT(cached_tokens),   CONTEXT(generated_tokens),
    CONTEXT(accepted_tokens), CONTEXT(rejected_tokens),
    CONTEXT(acceptance),      CONTEXT(steps),
    CONTEXT(compute_ns),      CONTEXT(changes_seen),
    CONTEXT(removed),         CONTEXT(copied),
    CONTEXT(moved),           CONTEXT(cleared),
    CONTEXT(cells_peak),      GGS_FIELD_OR_NULL(struct ggs_request_context, cells_peak_ns, "cells_peak_ns"),
    CONTEXT(sequences_peak),  {0},
};

#define USE(member) GGS_FIELD(struct ggs_cell_use, member, #member)

static const struct ggs_field uses[] = {
    USE(time_ns),   GGS_FIELD_OR_NULL(struct ggs_cell_use, token, "token"),       USE(context), USE(cells),
    USE(sequences), GGS_FIELD_OR_NULL(struct ggs_cell_use, attended, "attended"), {0},
};

void ggs_requests_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_requests * requests,
                        const struct ggs_cell_uses * cells) {
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_json_array(json, "requests");
    for (uint64_t i = 0; i < requests->n; i++) {
        ggs_json_object(json, NULL);
        ggs_fields_members(json, fields, &requests->request[i]);
        if (requests->has_costs) ggs_fields_object(json, "estimated", costs, &requests->request[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_fields_rows(json, "contexts", contexts, requests->context, sizeof(*requests->context), requests->n_contexts);
    if (cells != NULL) ggs_fields_rows(json, "cells", uses, cells->use, sizeof(*cells->use), cells->n);
    ggs_json_end(json);
}
