#include "answer/paging.h"

#include "analyze/paging/suggest.h"

#include "analyze/walk/trace.h"
#include "analyze/walk/words.h"

bool ggs_paging_curve_next(struct ggs_paging_curve * curve, const struct ggs_paging * paging) {
    const struct ggs_paging_lru * lru    = &paging->lru;
    enum ggs_read_class           class_ = ggs_paging_class(paging);
    uint64_t                      gained = 0;
    if (!curve->begun) { // with no memory at all
        *curve = (struct ggs_paging_curve){.begun = true, .cost = ggs_paging_lru_cost(lru, 0)};
        return true;
    }
    while (curve->next < lru->n) {
        const struct ggs_paging_distance * distance = &lru->distances[curve->next++];
        curve->memory                               = distance->pages * lru->page;
        gained += distance->count[class_];
        for (unsigned c = 0; c < GGS_READ_CLASSES; c++) curve->cost.bytes[c] -= distance->count[c] * lru->page;
        if (gained > lru->all[class_] / 1000 || (curve->next == lru->n && gained > 0)) return true;
    }
    return false;
}

double ggs_paging_miss_ratio(const struct ggs_paging * paging, const struct ggs_paging_cost * cost) {
    enum ggs_read_class class_ = ggs_paging_class(paging);
    uint64_t            all    = paging->lru.all[class_] * paging->page;
    return all == 0 ? 0 : (double) cost->bytes[class_] / (double) all;
}

static void put_cost(struct ggs_json * json, const struct ggs_paging * paging, const struct ggs_paging_cost * cost) {
    ggs_json_u64(json, "load_bytes", cost->bytes[GGS_READ_LOAD]);
    ggs_json_u64(json, "prompt_bytes", cost->bytes[GGS_READ_PROMPT]);
    ggs_json_u64(json, "generate_bytes", cost->bytes[GGS_READ_GENERATE]);
    ggs_json_u64(json, "bytes_per_token", ggs_paging_per_token(paging, cost));
    ggs_json_double(json, "miss_ratio", ggs_paging_miss_ratio(paging, cost));
}

static void put_pins(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_paging * paging,
                     const struct ggs_paging_pins * pins) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_paging_weight, name, "name"),
                                              GGS_FIELD_OR_NULL(struct ggs_paging_weight, expert, "expert"),
                                              GGS_FIELD(struct ggs_paging_weight, offset, "file_offset"),
                                              GGS_FIELD(struct ggs_paging_weight, size, "bytes"),
                                              {0}};
    ggs_json_object(json, "pins");
    ggs_json_u64(json, "bytes", pins->bytes);
    ggs_json_u64(json, "stream_bytes", pins->stream);
    ggs_json_array(json, "weights");
    for (uint64_t i = 0; i < pins->n; i++) {
        const struct ggs_paging_weight * weight = &paging->weights.weight[pins->weight[i]];
        ggs_json_object_inline(json, NULL);
        ggs_fields_members(json, fields, weight);
        ggs_json_u64(json, "file", weight->file + 1);
        ggs_json_string(json, "path", ggs_reader_string(trace->reader, trace->files[weight->file].path));
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

static void put_budget(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_paging * paging,
                       const struct ggs_paging_options * options, const struct ggs_paging_budget * budget,
                       const struct ggs_paging_weights * whole) {
    ggs_json_object(json, NULL);
    ggs_json_u64(json, "memory_bytes", budget->memory);
    ggs_json_object(json, "policies");
    for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
        if (!options->policies[i]) continue;
        ggs_json_object_inline(json, ggs_paging_policy_names[i]);
        put_cost(json, paging, &budget->cost[i]);
        if (i == GGS_PAGING_LINUX) {
            ggs_json_u64(json, "least_bytes_per_token", ggs_paging_share(paging, budget->linux_least));
            ggs_json_u64(json, "most_bytes_per_token", ggs_paging_share(paging, budget->linux_most));
        }
        if (i == GGS_PAGING_STREAM) ggs_json_bool(json, "streams", budget->streams);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    if (options->policies[GGS_PAGING_PIN_HOT]) {
        struct ggs_text lines = {0};
        put_pins(json, trace, paging, &budget->pins);
        bool told = whole != NULL && ggs_paging_suggest(&lines, trace, paging, whole, budget, NULL) == 0;
        ggs_json_string(json, "suggest", told ? ggs_text_string(&lines) : NULL);
        ggs_text_release(&lines);
    }
    ggs_json_end(json);
}

static void put_facts(struct ggs_json * json, const struct ggs_paging * paging) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_paging, page, "page_bytes"),
        GGS_FIELD(struct ggs_paging, readahead, "readahead_bytes"),
        GGS_FIELD(struct ggs_paging, cold, "cold"),
        GGS_FIELD(struct ggs_paging, model_bytes, "model_bytes"),
        GGS_FIELD(struct ggs_paging, touched_bytes, "touched_bytes"),
        GGS_FIELD(struct ggs_paging, facts.copied, "copied_bytes"),
        GGS_FIELD(struct ggs_paging, facts.unknown, "unknown_ops"),
        GGS_FIELD(struct ggs_paging, facts.steps[GGS_READ_PROMPT], "prompt_steps"),
        GGS_FIELD(struct ggs_paging, facts.steps[GGS_READ_GENERATE], "generate_steps"),
        {0}};
    ggs_fields_members(json, fields, paging);
    ggs_json_u64(json, "demand_bytes_per_token", ggs_paging_demand(paging));
}

void ggs_paging_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_paging * paging,
                      const struct ggs_paging_options * options) {
    struct ggs_paging_curve   curve = {0};
    struct ggs_paging_weights whole;
    bool                      listed = ggs_paging_weights_list(&whole, trace, &paging->sequence, false, NULL) == 0;
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_json_string(json, "step_kind", ggs_word_step(trace));
    put_facts(json, paging);
    ggs_json_array(json, "budgets");
    for (unsigned i = 0; i < paging->n_budgets; i++)
        put_budget(json, trace, paging, options, &paging->budget[i], listed ? &whole : NULL);
    ggs_json_end(json);
    if (listed) ggs_paging_weights_release(&whole);
    ggs_json_array(json, "lru_curve");
    while (options->policies[GGS_PAGING_LRU] && ggs_paging_curve_next(&curve, paging)) {
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "memory_bytes", curve.memory);
        ggs_json_u64(json, "bytes_per_token", ggs_paging_per_token(paging, &curve.cost));
        ggs_json_double(json, "miss_ratio", ggs_paging_miss_ratio(paging, &curve.cost));
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}
