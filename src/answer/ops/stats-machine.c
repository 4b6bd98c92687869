// The machine's part of stats: the conditions of a recording, page faults, block requests, how models were loaded, what was in memory.
#include "answer/answer.h"
#include "answer/ops/stats.h"

static bool has_faults(const struct ggs_stats * stats) {
    const struct ggs_fault_sum * all = &stats->faults.all;
    return all->minor + all->major + all->open + stats->faults.lost > 0;
}

static bool has_requests(const struct ggs_stats * stats) {
    const struct ggs_request_totals * r = &stats->requests;
    return r->model.requests + r->other.requests + r->writes.requests + r->lost > 0;
}

// ---- page faults ----

static const struct ggs_field fault_fields[] = {
    GGS_FIELD(struct ggs_fault_sum, minor, "minor"),
    GGS_FIELD(struct ggs_fault_sum, major, "major"),
    GGS_FIELD(struct ggs_fault_sum, open, "open"),
    GGS_FIELD(struct ggs_fault_sum, stalled_ns, "stalled_ns"),
    {0},
};

static void write_fault_groups(struct ggs_json * json, const char * list, const struct ggs_field * key,
                               const struct ggs_fault_groups * groups) {
    ggs_json_array(json, list);
    for (uint64_t i = 0; i < groups->n; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_fields_members(json, key, &groups->group[i]);
        ggs_fields_members(json, fault_fields, &groups->group[i].sum);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void write_faults(struct ggs_json * json, const struct ggs_fault_totals * faults) {
    static const struct ggs_field op[]    = {GGS_FIELD_OR_NULL(struct ggs_fault_group, name, "op"), {0}};
    static const struct ggs_field layer[] = {GGS_FIELD_OR_NULL(struct ggs_fault_group, order, "layer"), {0}};
    static const struct ggs_field token[] = {GGS_FIELD_OR_NULL(struct ggs_fault_group, order, "token"), {0}};
    static const struct ggs_field name[]  = {GGS_FIELD_OR_NULL(struct ggs_fault_group, name, "name"), {0}};
    ggs_json_object(json, "faults");
    ggs_fields_members(json, fault_fields, &faults->all);
    ggs_json_u64(json, "lost", faults->lost);
    ggs_fields_object(json, "model", fault_fields, &faults->model);
    ggs_fields_object(json, "in_ops", fault_fields, &faults->in_ops);
    ggs_json_array(json, "by_phase");
    for (int i = 0; i < GGS_STAGES; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "phase", ggs_stage_name((enum ggs_stage) i));
        ggs_fields_members(json, fault_fields, &faults->stages[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    write_fault_groups(json, "by_op", op, &faults->by_op);
    write_fault_groups(json, "by_layer", layer, &faults->by_layer);
    write_fault_groups(json, "by_token", token, &faults->by_token);
    write_fault_groups(json, "by_weight", name, &faults->by_weight);
    ggs_json_end(json);
}

// ---- block requests ----

static const struct ggs_field request_fields[] = {
    GGS_FIELD(struct ggs_request_sum, requests, "count"), GGS_FIELD(struct ggs_request_sum, bytes, "bytes"), {0}};

static void write_quartiles(struct ggs_json * json, const char * key, const struct ggs_histogram * histogram) {
    ggs_json_object_inline(json, key);
    ggs_json_u64(json, "quarter", ggs_histogram_quantile(histogram, 0.25));
    ggs_json_u64(json, "median", ggs_histogram_quantile(histogram, 0.5));
    ggs_json_u64(json, "three_quarters", ggs_histogram_quantile(histogram, 0.75));
    ggs_json_end(json);
}

static void write_over_time(struct ggs_json * json, const struct ggs_request_totals * r) {
    ggs_json_object(json, "over_time");
    ggs_json_i64(json, "begin_ns", r->bin_begin_ns);
    ggs_json_u64(json, "bin_ns", r->bin_ns);
    ggs_json_array_inline(json, "bytes");
    for (uint64_t i = 0; i < r->n_bins; i++) ggs_json_u64(json, NULL, r->bins[i]);
    ggs_json_end(json);
    ggs_json_end(json);
}

static void write_requests(struct ggs_json * json, const struct ggs_request_totals * r) {
    static const struct ggs_field token[] = {GGS_FIELD_OR_NULL(struct ggs_request_group, order, "token"),
                                             GGS_FIELD(struct ggs_request_group, sum.requests, "count"),
                                             GGS_FIELD(struct ggs_request_group, sum.bytes, "bytes"),
                                             {0}};
    static const struct ggs_field name[]  = {GGS_FIELD_OR_NULL(struct ggs_request_group, name, "name"),
                                             GGS_FIELD(struct ggs_request_group, sum.requests, "count"),
                                             GGS_FIELD(struct ggs_request_group, sum.bytes, "bytes"),
                                             {0}};
    ggs_json_object(json, "block_requests");
    ggs_fields_object(json, "model", request_fields, &r->model);
    ggs_fields_object(json, "other", request_fields, &r->other);
    ggs_fields_object(json, "writes", request_fields, &r->writes);
    ggs_json_u64(json, "lost", r->lost);
    ggs_json_u64(json, "bytes_sequential", r->sequential);
    write_quartiles(json, "bytes", &r->sizes);
    write_quartiles(json, "duration_ns", &r->latencies);
    ggs_json_array(json, "by_phase");
    for (int i = 0; i < GGS_STAGES; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "phase", ggs_stage_name((enum ggs_stage) i));
        ggs_fields_members(json, request_fields, &r->stages[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_fields_rows(json, "by_token", token, r->by_token, sizeof(*r->by_token), r->n_by_token);
    ggs_fields_rows(json, "by_weight", name, r->by_weight, sizeof(*r->by_weight), r->n_by_weight);
    write_over_time(json, r);
    ggs_json_end(json);
}

// ---- conditions ----

static void write_conditions(struct ggs_json * json, const struct ggs_conditions * c) {
    static const struct ggs_field memory[] = {
        GGS_FIELD(struct ggs_conditions, memory_limit, "limit"),
        GGS_FIELD(struct ggs_conditions, mechanism, "mechanism"),
        GGS_FIELD(struct ggs_conditions, memory_peak, "peak"),
        GGS_FIELD(struct ggs_conditions, memory_anonymous, "anonymous"),
        GGS_FIELD(struct ggs_conditions, memory_shared, "shared"),
        GGS_FIELD(struct ggs_conditions, limit_hits, "limit_hits"),
        GGS_FIELD(struct ggs_conditions, oom_kills, "oom_kills"),
        {0},
    };
    static const struct ggs_field cold[]     = {GGS_FIELD(struct ggs_conditions, cold_bytes, "bytes"), {0}};
    static const struct ggs_field resident[] = {GGS_FIELD(struct ggs_conditions, resident_before, "resident_before"),
                                                GGS_FIELD(struct ggs_conditions, resident_after, "resident_after"),
                                                {0}};
    if (c->memory_limit > 0) {
        ggs_fields_object(json, "memory", memory, c);
    } else {
        ggs_json_null(json, "memory");
    }
    if (c->cold) {
        ggs_json_object_inline(json, "cold");
        ggs_fields_members(json, cold, c);
        if (c->resident_known) {
            ggs_fields_members(json, resident, c);
        } else {
            for (size_t i = 0; resident[i].key != NULL; i++) ggs_json_null(json, resident[i].key);
        }
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "cold");
    }
    if (c->memory_limit > 0 || c->cold) {
        ggs_json_u64(json, "bytes_read", c->read_bytes);
    } else {
        ggs_json_null(json, "bytes_read");
    }
    if (c->others_cpu_share >= 0) {
        ggs_json_double(json, "others_cpu_share", c->others_cpu_share);
    } else {
        ggs_json_null(json, "others_cpu_share");
    }
}

// ---- loading, and what was in memory ----

static void write_loading(struct ggs_json * json, const struct ggs_loading * loading) {
    static const struct ggs_field all[] = {
        GGS_FIELD(struct ggs_loading, models, "models"),
        GGS_FIELD(struct ggs_loading, wall_ns, "wall_ns"),
        GGS_FIELD(struct ggs_loading, bytes, "bytes"),
        GGS_FIELD(struct ggs_loading, ns, "duration_ns"),
        {0},
    };
    static const struct ggs_field each[] = {
        GGS_FIELD(struct ggs_loading_kind, reads, "reads"),
        GGS_FIELD(struct ggs_loading_kind, bytes, "bytes"),
        GGS_FIELD(struct ggs_loading_kind, ns, "duration_ns"),
        {0},
    };
    if (loading->reads == 0) {
        ggs_json_null(json, "load");
        return;
    }
    ggs_json_object(json, "load");
    ggs_fields_members(json, all, loading);
    ggs_json_array(json, "by_kind");
    for (uint64_t i = 0; i < GGS_LOADING_KINDS; i++) {
        if (loading->by_kind[i].reads == 0) continue;
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "kind", ggs_loading_name(i));
        ggs_fields_members(json, each, &loading->by_kind[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

bool ggs_stats_ends_token(const struct ggs_resident_list * list, uint64_t snapshot) {
    const struct ggs_resident * at = &list->snapshot[snapshot];
    if (at->moment != GGS_MOMENT_GRAPH || at->step < 0) return false;
    for (uint64_t k = snapshot + 1; k < list->n; k++) {
        if (list->snapshot[k].moment == GGS_MOMENT_GRAPH) return list->snapshot[k].step != at->step;
    }
    return true;
}

static void write_snapshot(struct ggs_json * json, const char * key, const struct ggs_resident * snapshot) {
    static const struct ggs_field fields[] = {
        GGS_FIELD_OR_NULL(struct ggs_resident, step, "token"),
        GGS_FIELD(struct ggs_resident, ns, "begin_ns"),
        GGS_FIELD(struct ggs_resident, bytes, "bytes"),
        GGS_FIELD(struct ggs_resident, untouched, "bytes_untouched"),
        {0},
    };
    if (snapshot == NULL) {
        ggs_json_null(json, key);
    } else {
        ggs_fields_object(json, key, fields, snapshot);
    }
}

static void write_residency(struct ggs_json * json, const struct ggs_stats * stats) {
    static const struct ggs_field    method[] = {GGS_FIELD_OR_NULL(struct ggs_conditions, residency, "method"), {0}};
    const struct ggs_resident_list * list     = &stats->resident;
    if (stats->conditions.residency[0] == '\0' && list->n == 0) {
        ggs_json_null(json, "residency");
        return;
    }
    ggs_json_object(json, "residency");
    ggs_fields_members(json, method, &stats->conditions);
    ggs_json_u64(json, "bytes", list->bytes);
    write_snapshot(json, "load", ggs_resident_last(list, GGS_MOMENT_LOAD));
    ggs_json_array(json, "by_token");
    for (uint64_t i = 0; i < list->n; i++) {
        if (ggs_stats_ends_token(list, i)) write_snapshot(json, NULL, &list->snapshot[i]);
    }
    ggs_json_end(json);
    write_snapshot(json, "end", ggs_resident_last(list, GGS_MOMENT_END));
    ggs_json_end(json);
}

void ggs_stats_write_machine(struct ggs_json * json, const struct ggs_stats * stats) {
    ggs_json_object(json, "machine");
    if (has_faults(stats)) {
        write_faults(json, &stats->faults);
    } else {
        ggs_json_null(json, "faults");
    }
    if (has_requests(stats)) {
        write_requests(json, &stats->requests);
    } else {
        ggs_json_null(json, "block_requests");
    }
    write_conditions(json, &stats->conditions);
    write_loading(json, &stats->loading);
    write_residency(json, stats);
    ggs_json_end(json);
}
