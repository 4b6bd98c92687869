// ggscope stats --json. Scripts rely on the names: ggscope-stats(1) has them all.
#include <stdio.h>

#include "analyze/ops/stats-json.h"
#include "base/json.h"
#include "cli/cmd-stats.h"
#include "cli/verb.h"

static void write_groups(struct ggs_json * json, const struct stats_report * report) {
    ggs_json_string(json, "by", report->by);
    ggs_json_array(json, "groups");
    for (uint64_t i = 0; i < report->groups.n; i++) {
        const struct ggs_group * g = &report->groups.group[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "name", g->name);
        ggs_json_u64(json, "ops", g->ops);
        ggs_json_u64(json, "op_runs", g->op_runs);
        ggs_json_u64(json, "wall_ns", g->wall_ns);
        ggs_json_u64(json, "busy_ns", g->busy_ns);
        ggs_json_u64(json, "wait_ns", g->wait_ns);
        ggs_json_u64(json, "bytes_read", g->read);
        ggs_json_u64(json, "bytes_written", g->written);
        ggs_json_u64(json, "bytes_disk", g->disk);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

int stats_json(const struct stats_report * report) {
    struct ggs_json json;
    char            id[GGS_UUID_LENGTH];
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    ggs_json_object(&json, NULL);
    ggs_json_string(&json, "experiment_id", ggs_verb_uuid(id, report->trace));
    ggs_stats_json_totals(&json, &report->totals);
    stats_machine_json(&json, report);
    if (report->bandwidth > 0) ggs_json_u64(&json, "memory_bytes_per_second", report->bandwidth);
    stats_pressure_json(report, &json);
    ggs_stats_json_by_op(&json, &report->totals);
    if (report->groups.n > 0) write_groups(&json, report);
    ggs_stats_json_weights(&json, &report->weights);
    ggs_json_end(&json);
    return ggs_json_finish(&json);
}
