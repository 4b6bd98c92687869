#include "answer/requests.h"

#include "analyze/walk/words.h"
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
    CONTEXT(context),
    GGS_FIELD_OR_NULL(struct ggs_request_context, target, "target"),
    CONTEXT(requests),
    CONTEXT(prompt_tokens),
    CONTEXT(cached_tokens),
    CONTEXT(generated_tokens),
    CONTEXT(accepted_tokens),
    CONTEXT(rejected_tokens),
    CONTEXT(acceptance),
    CONTEXT(steps),
    CONTEXT(compute_ns),
    CONTEXT(changes_seen),
    CONTEXT(removed),
    CONTEXT(copied),
    CONTEXT(moved),
    CONTEXT(cleared),
    CONTEXT(removed_cells),
    CONTEXT(copied_cells),
    CONTEXT(moved_cells),
    CONTEXT(cleared_cells),
    CONTEXT(cells_peak),
    GGS_FIELD_OR_NULL(struct ggs_request_context, cells_peak_ns, "cells_peak_ns"),
    CONTEXT(sequences_peak),
    GGS_FIELD_OR_NULL(struct ggs_request_context, ns_per_drafted_token, "ns_per_drafted_token"),
    GGS_FIELD_OR_NULL(struct ggs_request_context, ns_per_plain_token, "ns_per_plain_token"),
    {0},
};

#define USE(member)      GGS_FIELD(struct ggs_cell_use, member, #member)
#define USE_NULL(member) GGS_FIELD_OR_NULL(struct ggs_cell_use, member, #member)

static const struct ggs_field uses[] = {
    USE(time_ns),
    USE_NULL(token),
    USE(context),
    USE(cells),
    USE(sequences),
    USE_NULL(up_to),
    USE_NULL(holes),
    USE_NULL(attended),
    USE_NULL(attended_in_use),
    {0},
};

#define HELD(member)      GGS_FIELD(struct ggs_sequence_use, member, #member)
#define HELD_NULL(member) GGS_FIELD_OR_NULL(struct ggs_sequence_use, member, #member)

static const struct ggs_field by_sequence[] = {
    HELD(sequence), HELD(cells), HELD_NULL(first_cell), HELD_NULL(last_cell), HELD_NULL(pieces), {0},
};

#define PEAK_NULL(member) GGS_FIELD_OR_NULL(struct ggs_cell_peak, member, #member)

static const struct ggs_field peaks[] = {
    GGS_FIELD(struct ggs_cell_peak, context, "context"),
    PEAK_NULL(capacity),
    PEAK_NULL(streams),
    GGS_FIELD(struct ggs_cell_peak, cells, "cells_peak"),
    GGS_FIELD_OR_NULL(struct ggs_cell_peak, up_to, "up_to_peak"),
    GGS_FIELD_OR_NULL(struct ggs_cell_peak, holes, "holes_peak"),
    GGS_FIELD_OR_NULL(struct ggs_cell_peak, holes_ns, "holes_peak_ns"),
    {0},
};

#define CHANGE(member)      GGS_FIELD(struct ggs_cell_change, member, #member)
#define CHANGE_NULL(member) GGS_FIELD_OR_NULL(struct ggs_cell_change, member, #member)

static const struct ggs_field changes[] = {
    CHANGE(begin_ns),
    CHANGE(end_ns),
    CHANGE(context),
    GGS_FIELD_WORD(struct ggs_cell_change, kind, "kind", ggs_word_memory_change),
    CHANGE_NULL(sequence),
    CHANGE_NULL(other),
    CHANGE(calls),
    CHANGE(cells),
    {0},
};

#define BATCH(member) GGS_FIELD(struct ggs_composition, member, #member)

static const struct ggs_field batches[] = {
    BATCH(begin_ns),      BATCH(end_ns),          BATCH(token),         BATCH(context),  BATCH(decodes),
    BATCH(prompt_tokens), BATCH(generate_tokens), BATCH(verify_tokens), BATCH(requests), {0},
};

int ggs_requests_answer_compute(struct ggs_requests_answer * answer, struct ggs_trace * trace,
                                const struct ggs_requests_options * options, struct ggs_error * error) {
    *answer    = (struct ggs_requests_answer){.trace = trace, .options = *options};
    int status = ggs_requests_list(&answer->list, trace, options->costs, error);
    if (status == 0 && options->cells) status = ggs_cell_uses_compute(&answer->cells, trace, options->most, error);
    if (status == 0 && options->batches)
        status = ggs_compositions_compute(&answer->batches, trace, options->most, error);
    if (status < 0) ggs_requests_answer_release(answer);
    return status;
}

void ggs_requests_answer_release(struct ggs_requests_answer * answer) {
    ggs_requests_release(&answer->list);
    ggs_cell_uses_release(&answer->cells);
    ggs_compositions_release(&answer->batches);
}

void ggs_request_contexts_write(struct ggs_json * json, const struct ggs_requests * requests) {
    ggs_fields_rows(json, "contexts", contexts, requests->context, sizeof(*requests->context), requests->n_contexts);
}

static void write_cells(struct ggs_json * json, const struct ggs_cell_uses * cells) {
    ggs_fields_rows(json, "memories", peaks, cells->peak, sizeof(*cells->peak), cells->n_peaks);
    ggs_fields_rows(json, "changes", changes, cells->change, sizeof(*cells->change), cells->n_changes);
    ggs_json_array(json, "cells");
    for (uint64_t i = 0; i < cells->n; i++) {
        const struct ggs_cell_use * use = &cells->use[i];
        ggs_json_object(json, NULL);
        ggs_fields_members(json, uses, use);
        ggs_fields_rows(json, "by_sequence", by_sequence, use->by_sequence, sizeof(*use->by_sequence),
                        use->n_sequences);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

void ggs_requests_answer_write(struct ggs_json * json, const struct ggs_requests_answer * answer) {
    const struct ggs_requests * list = &answer->list;
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, answer->trace);
    ggs_json_array(json, "requests");
    for (uint64_t i = 0; i < list->n; i++) {
        ggs_json_object(json, NULL);
        ggs_fields_members(json, fields, &list->request[i]);
        if (list->has_costs) ggs_fields_object(json, "estimated", costs, &list->request[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_request_contexts_write(json, list);
    if (answer->options.cells) write_cells(json, &answer->cells);
    if (answer->options.batches)
        ggs_fields_rows(json, "batches", batches, answer->batches.batch, sizeof(*answer->batches.batch),
                        answer->batches.n);
    ggs_json_end(json);
}
