#include "answer/answer.h"

#include "analyze/walk/trace.h"
#include "analyze/walk/words.h"
#include "base/uuid.h"

static const char * verdict_word(enum ggs_verdict verdict) {
    static const char * const words[] = {[GGS_SAME]         = "same",
                                         [GGS_WITHIN_NOISE] = "noise",
                                         [GGS_UNCERTAIN]    = "uncertain",
                                         [GGS_SLOWER]       = "slower",
                                         [GGS_FASTER]       = "faster",
                                         [GGS_STALLS]       = "stalls",
                                         [GGS_FEWER_STALLS] = "fewer stalls"};
    return words[verdict];
}

static void put_id(struct ggs_json * json, const struct ggs_trace * trace) {
    char id[GGS_UUID_LENGTH];
    ggs_json_string(json, NULL, ggs_uuid_format(id, ggs_reader_uuid(trace->reader)));
}

static void put_totals(struct ggs_json * json, const struct ggs_diff * diff) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_totals, steps, "tokens"),
                                              GGS_FIELD(struct ggs_totals, threads, "threads"),
                                              GGS_FIELD(struct ggs_totals, ops, "ops"),
                                              GGS_FIELD(struct ggs_totals, op_runs, "op_runs"),
                                              GGS_FIELD(struct ggs_totals, wall_ns, "wall_ns"),
                                              GGS_FIELD(struct ggs_totals, read, "bytes_read"),
                                              GGS_FIELD(struct ggs_totals, written, "bytes_written"),
                                              GGS_FIELD(struct ggs_totals, disk, "bytes_disk"),
                                              GGS_FIELD(struct ggs_totals, touched_bytes, "bytes_touched"),
                                              GGS_FIELD(struct ggs_totals, nodes, "nodes"),
                                              GGS_FIELD(struct ggs_totals, executed, "executed"),
                                              GGS_FIELD(struct ggs_totals, absorbed, "absorbed"),
                                              GGS_FIELD(struct ggs_totals, opaque, "opaque"),
                                              GGS_FIELD(struct ggs_totals, unseen, "unseen"),
                                              GGS_FIELD(struct ggs_totals, cut, "cut"),
                                              GGS_FIELD(struct ggs_totals, dropped, "lost"),
                                              GGS_FIELD(struct ggs_totals, buffers, "buffers"),
                                              GGS_FIELD(struct ggs_totals, peak_bytes, "peak_bytes"),
                                              {0}};
    ggs_json_object(json, "totals");
    for (const struct ggs_field * field = fields; field->key != NULL; field++) {
        struct ggs_field a[2] = {*field, {0}}, b[2] = {*field, {0}};
        a[0].key = "a", b[0].key = "b";
        ggs_json_object_inline(json, field->key);
        ggs_fields_members(json, a, &diff->a);
        ggs_fields_members(json, b, &diff->b);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// Several values of the same: their number, their sum and their quartiles.
static void put_quartiles(struct ggs_json * json, uint64_t sum_ns, const struct ggs_quartiles * quartiles) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_quartiles, low, "low_ns"),
                                              GGS_FIELD(struct ggs_quartiles, median, "median_ns"),
                                              GGS_FIELD(struct ggs_quartiles, high, "high_ns"),
                                              {0}};
    ggs_json_u64(json, "wall_ns", sum_ns);
    ggs_fields_members(json, fields, quartiles);
}

static void put_steps(struct ggs_json * json, const char * key, const struct ggs_diff_times * times) {
    if (times->a.n == 0 && times->b.n == 0) {
        ggs_json_null(json, key);
        return;
    }
    ggs_json_object(json, key);
    for (int i = 0; i < 2; i++) {
        const struct ggs_quartiles * quartiles = i == 0 ? &times->a : &times->b;
        ggs_json_object_inline(json, i == 0 ? "a" : "b");
        ggs_json_u64(json, "tokens", quartiles->n);
        put_quartiles(json, i == 0 ? times->a_ns : times->b_ns, quartiles);
        ggs_json_end(json);
    }
    ggs_json_string(json, "verdict", verdict_word(times->verdict));
    ggs_json_end(json);
}

static void put_side(struct ggs_json * json, const char * key, const struct ggs_diff_side * side) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_diff_side, ops, "ops"),
                                              GGS_FIELD(struct ggs_diff_side, only, "ops_only"),
                                              GGS_FIELD(struct ggs_diff_side, read, "bytes_read"),
                                              GGS_FIELD(struct ggs_diff_side, written, "bytes_written"),
                                              {0}};
    ggs_json_object_inline(json, key);
    ggs_fields_members(json, fields, side);
    put_quartiles(json, side->wall_ns, &side->time);
    ggs_json_end(json);
}

static void put_change(struct ggs_json * json, const struct ggs_diff_item * item) {
    ggs_json_object_inline(json, NULL);
    ggs_json_string(json, "phase", ggs_word_phase(item->prompt ? GGS_PHASE_PROMPT : GGS_PHASE_GENERATE));
    ggs_json_bool(json, "all_layers", item->layer == GGS_DIFF_LAYERS);
    ggs_json_natural(json, "layer", item->layer);
    ggs_json_string(json, "op", item->op);
    ggs_json_string(json, "name", item->tensor);
    ggs_json_string(json, "verdict", verdict_word(item->verdict));
    ggs_json_u64(json, "ops_bytes_differ", item->bytes_differ);
    put_side(json, "a", &item->a);
    put_side(json, "b", &item->b);
    ggs_json_end(json);
}

void ggs_diff_members(struct ggs_json * json, const struct ggs_trace * a, const struct ggs_trace * b,
                      const struct ggs_diff * diff) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_diff, tokens, "tokens"),
                                              GGS_FIELD(struct ggs_diff, tokens_only_a, "tokens_only_a"),
                                              GGS_FIELD(struct ggs_diff, tokens_only_b, "tokens_only_b"),
                                              GGS_FIELD_OR_NULL(struct ggs_diff, parted, "token_parted"),
                                              GGS_FIELD(struct ggs_diff, ops, "ops"),
                                              GGS_FIELD(struct ggs_diff, fused, "ops_fused"),
                                              GGS_FIELD(struct ggs_diff, only_a, "ops_only_a"),
                                              GGS_FIELD(struct ggs_diff, only_b, "ops_only_b"),
                                              GGS_FIELD(struct ggs_diff, bytes_differ, "ops_bytes_differ"),
                                              GGS_FIELD(struct ggs_diff, choices, "expert_ops"),
                                              GGS_FIELD(struct ggs_diff, choices_differ, "expert_ops_differ"),
                                              GGS_FIELD(struct ggs_diff, shift, "shift"),
                                              {0}};
    ggs_json_array_inline(json, "experiment_ids");
    put_id(json, a);
    put_id(json, b);
    ggs_json_end(json);
    if (a->damaged + b->damaged > 0) ggs_json_bool(json, "partial", true);
    ggs_json_bool(json, "identical", diff->identical);
    ggs_json_array(json, "warnings");
    for (unsigned i = 0; i < diff->n_warnings; i++) ggs_json_string(json, NULL, diff->warnings[i]);
    ggs_json_end(json);
    ggs_fields_members(json, fields, diff);
    put_totals(json, diff);
    put_steps(json, "prompt", &diff->prompt);
    put_steps(json, "generate", &diff->generate);
    ggs_json_array(json, "changes");
    for (uint64_t i = 0; i < diff->n_items; i++) put_change(json, &diff->items[i]);
    ggs_json_end(json);
}

void ggs_diff_write(struct ggs_json * json, const struct ggs_trace * a, const struct ggs_trace * b,
                    const struct ggs_diff * diff) {
    ggs_json_object(json, NULL);
    ggs_diff_members(json, a, b, diff);
    ggs_json_end(json);
}
