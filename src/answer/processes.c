#include "answer/answer.h"
#include "trace/schema.h"

static void put_process(struct ggs_json * json, const struct ggs_process_totals * p) {
    static const struct ggs_field sums[] = {
        GGS_FIELD(struct ggs_process_totals, runs, "runs"),
        GGS_FIELD(struct ggs_process_totals, matched_runs, "matched_runs"),
        GGS_FIELD(struct ggs_process_totals, compute_ns, "compute_ns"),
        {0},
    };
    ggs_json_object_inline(json, NULL);
    ggs_json_u64(json, "process", p->row.process);
    ggs_json_string(json, "name", p->name);
    ggs_json_string(json, "host", p->host);
    ggs_json_u64(json, "pid", p->row.pid);
    ggs_json_string(json, "clock", ggs_clock_source_name(p->row.clock));
    ggs_json_i64(json, "offset_ns", p->row.offset_ns);
    ggs_json_i64(json, "drift_ppb", p->row.drift_ppb);
    ggs_json_natural(json, "error_ns", p->row.error_ns);
    ggs_json_u64(json, "pairs", p->row.pairs);
    ggs_json_bool(json, "ended", p->row.ended != 0);
    ggs_fields_members(json, sums, p);
    ggs_json_end(json);
}

void ggs_processes_answer(struct ggs_json * json, const struct ggs_process_list * list) {
    static const struct ggs_field link[] = {
        GGS_FIELD(struct ggs_process_link, client, "client"),
        GGS_FIELD_OR_NULL(struct ggs_process_link, server, "server"),
        GGS_FIELD(struct ggs_process_link, backend, "backend"),
        GGS_FIELD(struct ggs_process_link, runs, "runs"),
        GGS_FIELD(struct ggs_process_link, matched_runs, "matched_runs"),
        GGS_FIELD(struct ggs_process_link, round_trip_ns, "round_trip_ns"),
        GGS_FIELD(struct ggs_process_link, server_ns, "server_ns"),
        GGS_FIELD(struct ggs_process_link, bytes_sent, "bytes_sent"),
        GGS_FIELD(struct ggs_process_link, bytes_loaded, "bytes_loaded"),
        GGS_FIELD(struct ggs_process_link, bytes_received, "bytes_received"),
        GGS_FIELD(struct ggs_process_link, transfers, "transfers"),
        GGS_FIELD(struct ggs_process_link, transfer_ns, "transfer_ns"),
        {0},
    };
    static const struct ggs_field time[] = {
        GGS_FIELD(struct ggs_process_list, begin_ns, "begin_ns"),
        GGS_FIELD(struct ggs_process_list, wall_ns, "wall_ns"),
        GGS_FIELD(struct ggs_process_list, client_compute_ns, "client_compute_ns"),
        GGS_FIELD(struct ggs_process_list, server_compute_ns, "server_compute_ns"),
        GGS_FIELD(struct ggs_process_list, wire_ns, "wire_ns"),
        GGS_FIELD(struct ggs_process_list, idle_ns, "idle_ns"),
        {0},
    };
    if (list->n < 2) {
        ggs_json_null(json, "processes");
        return;
    }
    ggs_json_object(json, "processes");
    ggs_json_u64(json, "hosts", list->hosts);
    ggs_json_array(json, "by_process");
    for (uint64_t i = 0; i < list->n; i++) put_process(json, &list->process[i]);
    ggs_json_end(json);
    ggs_fields_rows(json, "links", link, list->link, sizeof(*list->link), list->n_links);
    ggs_fields_object(json, "time", time, list);
    ggs_json_end(json);
}
