#include "analyze/ops/stats-json.h"

static void write_numbers(struct ggs_json * json, const struct ggs_totals * t) {
    const struct {
        const char * key;
        uint64_t     value;
    } numbers[] = {
        {"tokens", t->steps},
        {"prompt_tokens", t->prompt_tokens},
        {"generated_tokens", t->generated_tokens},
        {"threads", t->threads},
        {"graph_runs", t->runs},
        {"interrupted_runs", t->interrupted_runs},
        {"nodes", t->nodes},
        {"executed", t->executed},
        {"absorbed", t->absorbed},
        {"empty", t->empty},
        {"skipped", t->skipped},
        {"opaque", t->opaque},
        {"unseen", t->unseen},
        {"cut", t->cut},
        {"dropped", t->dropped},
        {"ops", t->ops},
        {"op_runs", t->op_runs},
        {"wall_ns", t->wall_ns},
        {"prompt_ns", t->prompt_ns},
        {"generate_ns", t->generate_ns},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ggs_json_u64(json, numbers[i].key, numbers[i].value);
    ggs_json_bool(json, "times_distorted", t->proved);
    double seconds = (double) t->generate_ns / 1e9;
    if (seconds > 0) {
        ggs_json_double(json, "tokens_per_second", (double) t->generate_steps / seconds);
    } else {
        ggs_json_null(json, "tokens_per_second");
    }
}

static void write_bytes(struct ggs_json * json, const struct ggs_totals * t) {
    ggs_json_object_inline(json, "bytes");
    ggs_json_u64(json, "read", t->read);
    ggs_json_u64(json, "written", t->written);
    ggs_json_u64(json, "disk", t->disk);
    ggs_json_u64(json, "buffer", t->buffer);
    ggs_json_end(json);
    ggs_json_object_inline(json, "buffers");
    ggs_json_u64(json, "count", t->buffers);
    ggs_json_u64(json, "peak_bytes", t->peak_bytes);
    ggs_json_end(json);
    ggs_json_object_inline(json, "model");
    ggs_json_u64(json, "bytes", t->model_bytes);
    ggs_json_u64(json, "touched", t->touched_bytes);
    ggs_json_u64(json, "never_touched", t->model_bytes - t->touched_bytes);
    ggs_json_end(json);
}

static void write_pattern(struct ggs_json * json, const struct ggs_pattern * p) {
    ggs_json_object(json, "pattern");
    ggs_json_u64(json, "reads", p->reads);
    ggs_json_u64(json, "bytes", p->bytes);
    ggs_json_u64(json, "sequential_bytes", p->sequential);
    ggs_json_u64(json, "jumps", p->jumps);
    ggs_json_u64(json, "jump_median", ggs_pattern_quantile(p->jump_bins, 0.5));
    ggs_json_u64(json, "first_bytes", p->first_bytes);
    ggs_json_u64(json, "reuse_median", ggs_pattern_quantile(p->reuse_bins, 0.5));
    ggs_json_u64(json, "reuse_90", ggs_pattern_quantile(p->reuse_bins, 0.9));
    ggs_json_end(json);
}

void ggs_stats_json_by_op(struct ggs_json * json, const struct ggs_totals * t) {
    ggs_json_array(json, "by_op");
    for (uint64_t i = 0; i < t->n_by_op; i++) {
        const struct ggs_op_totals * op = &t->by_op[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "op", op->name);
        ggs_json_u64(json, "ops", op->ops);
        ggs_json_u64(json, "op_runs", op->op_runs);
        ggs_json_u64(json, "wall_ns", op->wall_ns);
        ggs_json_u64(json, "busy_ns", op->busy_ns);
        ggs_json_u64(json, "wait_ns", op->wait_ns);
        ggs_json_u64(json, "bytes_read", op->read);
        ggs_json_u64(json, "bytes_written", op->written);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

void ggs_stats_json_weights(struct ggs_json * json, const struct ggs_weights * weights) {
    ggs_json_array(json, "weights");
    for (uint64_t i = 0; i < weights->n; i++) {
        const struct ggs_weight * w = &weights->weight[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "name", w->name);
        ggs_json_string(json, "file", w->file);
        ggs_json_u64(json, "size", w->size);
        ggs_json_u64(json, "touched", w->touched);
        ggs_json_u64(json, "reads", w->reads);
        ggs_json_u64(json, "bytes_read", w->bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

void ggs_stats_json_totals(struct ggs_json * json, const struct ggs_totals * totals) {
    write_numbers(json, totals);
    write_bytes(json, totals);
    write_pattern(json, &totals->pattern);
}
