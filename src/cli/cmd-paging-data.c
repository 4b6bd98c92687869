// ggscope paging as JSON and as CSV.
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/cmd-paging.h"
#include "cli/verb.h"

bool paging_curve_next(struct paging_curve * curve, const struct ggs_paging * paging) {
    const struct ggs_paging_lru * lru    = &paging->lru;
    enum ggs_read_class           class_ = ggs_paging_class(paging);
    uint64_t                      gained = 0;
    if (!curve->begun) { // with no memory at all
        *curve = (struct paging_curve){.begun = true, .cost = ggs_paging_lru_cost(lru, 0)};
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

static double ratio(const struct ggs_paging * paging, const struct ggs_paging_cost * cost) {
    enum ggs_read_class class_ = ggs_paging_class(paging);
    uint64_t            all    = paging->lru.all[class_] * paging->page;
    return all == 0 ? 0 : (double) cost->bytes[class_] / (double) all;
}

// ---- JSON ----

static void write_cost(struct ggs_json * json, const struct ggs_paging * paging, const struct ggs_paging_cost * cost) {
    ggs_json_u64(json, "load_bytes", cost->bytes[GGS_READ_LOAD]);
    ggs_json_u64(json, "prompt_bytes", cost->bytes[GGS_READ_PROMPT]);
    ggs_json_u64(json, "generate_bytes", cost->bytes[GGS_READ_GENERATE]);
    ggs_json_u64(json, "bytes_per_token", ggs_paging_per_token(paging, cost));
    ggs_json_double(json, "miss_ratio", ratio(paging, cost));
}

static void write_pins(struct ggs_json * json, const struct paging_report * report,
                       const struct ggs_paging_pins * pins) {
    ggs_json_object(json, "pins");
    ggs_json_u64(json, "bytes", pins->bytes);
    ggs_json_u64(json, "stream_bytes", pins->stream);
    ggs_json_array(json, "weights");
    for (uint64_t i = 0; i < pins->n; i++) {
        const struct ggs_paging_weight * w    = &report->paging->weights.weight[pins->weight[i]];
        const struct ggs_file *          file = &report->trace->files[w->file];
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "name", w->name);
        if (w->expert < 0) {
            ggs_json_null(json, "expert");
        } else {
            ggs_json_i64(json, "expert", w->expert);
        }
        ggs_json_string(json, "file", ggs_reader_string(report->trace->reader, file->path));
        ggs_json_u64(json, "offset", w->offset);
        ggs_json_u64(json, "size", w->size);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

static void write_budget(struct ggs_json * json, const struct paging_report * report,
                         const struct ggs_paging_budget * budget) {
    const struct ggs_paging * p = report->paging;
    ggs_json_object(json, NULL);
    ggs_json_u64(json, "memory_bytes", budget->memory);
    ggs_json_object(json, "policies");
    for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
        if (!report->options->policies[i]) continue;
        ggs_json_object_inline(json, ggs_paging_policy_names[i]);
        write_cost(json, p, &budget->cost[i]);
        if (i == GGS_PAGING_LINUX) {
            ggs_json_u64(json, "least_bytes_per_token", ggs_paging_share(p, budget->linux_least));
            ggs_json_u64(json, "most_bytes_per_token", ggs_paging_share(p, budget->linux_most));
        }
        ggs_json_end(json);
    }
    ggs_json_end(json);
    if (report->options->policies[GGS_PAGING_PIN_HOT]) write_pins(json, report, &budget->pins);
    ggs_json_end(json);
}

static void write_facts(struct ggs_json * json, const struct paging_report * report) {
    const struct ggs_paging * p = report->paging;
    char                      id[GGS_UUID_LENGTH];
    ggs_json_string(json, "experiment_id", ggs_verb_uuid(id, report->trace));
    ggs_json_u64(json, "page_bytes", p->page);
    ggs_json_u64(json, "readahead_bytes", p->readahead);
    ggs_json_bool(json, "cold", p->cold);
    ggs_json_u64(json, "model_bytes", p->model_bytes);
    ggs_json_u64(json, "touched_bytes", p->touched_bytes);
    ggs_json_u64(json, "copied_bytes", p->facts.copied);
    ggs_json_u64(json, "unknown_ops", p->facts.unknown);
    ggs_json_u64(json, "prompt_steps", p->facts.steps[GGS_READ_PROMPT]);
    ggs_json_u64(json, "generate_steps", p->facts.steps[GGS_READ_GENERATE]);
    ggs_json_u64(json, "demand_bytes_per_token", ggs_paging_demand(p));
}

int paging_json(const struct paging_report * report) {
    const struct ggs_paging * p     = report->paging;
    struct paging_curve       curve = {0};
    struct ggs_json           json;
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    ggs_json_object(&json, NULL);
    write_facts(&json, report);
    ggs_json_array(&json, "budgets");
    for (unsigned i = 0; i < p->n_budgets; i++) write_budget(&json, report, &p->budget[i]);
    ggs_json_end(&json);
    ggs_json_array(&json, "lru_curve");
    while (report->options->policies[GGS_PAGING_LRU] && paging_curve_next(&curve, p)) {
        ggs_json_object_inline(&json, NULL);
        ggs_json_u64(&json, "memory_bytes", curve.memory);
        ggs_json_u64(&json, "bytes_per_token", ggs_paging_per_token(p, &curve.cost));
        ggs_json_double(&json, "miss_ratio", ratio(p, &curve.cost));
        ggs_json_end(&json);
    }
    ggs_json_end(&json);
    ggs_json_end(&json);
    return ggs_json_finish(&json);
}

// ---- CSV ----

static void print_row(const struct ggs_paging * paging, const char * policy, uint64_t memory,
                      const struct ggs_paging_cost * cost) {
    printf("%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n", policy, memory,
           cost->bytes[GGS_READ_LOAD], cost->bytes[GGS_READ_PROMPT], cost->bytes[GGS_READ_GENERATE],
           ggs_paging_per_token(paging, cost), ratio(paging, cost));
}

int paging_csv(const struct paging_report * report) {
    const struct ggs_paging * p     = report->paging;
    struct paging_curve       curve = {0};
    puts("policy,memory_bytes,load_bytes,prompt_bytes,generate_bytes,bytes_per_token,miss_ratio");
    for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
        for (unsigned k = 0; report->options->policies[i] && k < p->n_budgets; k++)
            print_row(p, ggs_paging_policy_names[i], p->budget[k].memory, &p->budget[k].cost[i]);
    }
    while (report->options->policies[GGS_PAGING_LRU] && paging_curve_next(&curve, p))
        print_row(p, "lru-curve", curve.memory, &curve.cost);
    return ferror(stdout) ? -1 : 0;
}
