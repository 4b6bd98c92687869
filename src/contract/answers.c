// All answers. A new row here adds an answer to schemas, the page's types and the documents.
#include "answer/answer.h"
#include "answer/bench.h"
#include "answer/buffers.h"
#include "answer/diff.h"
#include "answer/domains.h"
#include "answer/explain.h"
#include "answer/gguf.h"
#include "answer/notes.h"
#include "answer/ops/stats.h"
#include "answer/paging.h"
#include "answer/pictures.h"
#include "answer/requests.h"
#include "answer/server-answers.h"
#include "answer/several.h"
#include "answer/sql.h"
#include "answer/summary.h"
#include "answer/sweep.h"
#include "answer/tune.h"
#include "answer/values-diff.h"
#include "contract/contract.h"
#include "engine/run/run-result.h"
#include "record/inspect/doctor-findings.h"

const struct ggs_answer ggs_answers[] = {
    {"access", "/api/x/N/access: the header", &ggs_access_object, false},
    {"aggregate", "/api/x/N/aggregate", &ggs_aggregate_object, false},
    {"bench", "ggscope bench --json", &ggs_bench_object, false},
    {"buffers", "ggscope buffers --json, /api/x/N/buffers", &ggs_buffers_object, false},
    {"check", "ggscope check --json", &ggs_checks_object, false},
    {"choices", "/api/x/N/choices: the header", &ggs_choices_object, false},
    {"curves", "/api/x/N/curves: the header", &ggs_curves_object, false},
    {"diff", "ggscope diff --json, /api/compare", &ggs_diff_object, false},
    {"diff-several", "ggscope diff A B C... --json, /api/several", &ggs_several_object, false},
    {"disk", "/api/x/N/disk", &ggs_block_requests_object, false},
    {"doctor", "ggscope doctor --json", &ggs_findings_object, false},
    {"experts-domains", "ggscope experts A B... --json, /api/domains", &ggs_domains_object, false},
    {"error", "any path of the server: an error", &ggs_refusal_object, false},
    {"experiments", "/api/experiments", &ggs_served_object, true},
    {"experts", "ggscope experts --json, /api/x/N/experts", &ggs_experts_object, false},
    {"explain", "ggscope explain --json, /api/x/N/explain", &ggs_explanation_object, false},
    {"gguf", "ggscope gguf --json", &ggs_gguf_object, false},
    {"gguf-extents", "ggscope gguf --extents --json", &ggs_gguf_extents_object, false},
    {"gguf-kv", "ggscope gguf --kv --json", &ggs_gguf_kv_object, false},
    {"gguf-regions", "ggscope gguf --regions --json", &ggs_gguf_regions_object, false},
    {"graph", "ggscope graph --json, /api/x/N/graph", &ggs_graph_object, false},
    {"heat", "/api/x/N/heat", &ggs_heat_object, false},
    {"library", "/api/library", &ggs_summary_entry_object, true},
    {"link", "/api/x/N/link", &ggs_link_object, false},
    {"log", "ggscope log --json, /api/x/N/log", &ggs_log_object, false},
    {"log-faults", "ggscope log --faults --json, /api/x/N/faults", &ggs_faults_object, false},
    {"map", "/api/x/N/map", &ggs_map_object, false},
    {"note", "ggscope note --json", &ggs_notes_object, false},
    {"occupancy", "/api/x/N/occupancy: the header", &ggs_occupancy_object, false},
    {"op", "/api/x/N/op", &ggs_op_object, false},
    {"paging", "ggscope paging --json, /api/x/N/paging", &ggs_paging_object, false},
    {"prove", "ggscope prove --json, /api/x/N/prove", &ggs_proof_object, false},
    {"requests", "ggscope requests --json, /api/x/N/requests", &ggs_requests_object, false},
    {"roofline", "ggscope stats --roofline --json, /api/x/N/roofline", &ggs_roofline_object, false},
    {"run", "ggscope run --json, ggscope-engine run --json", &ggs_run_result_object, false},
    {"same", "/api/x/N/same", &ggs_same_ops_object, false},
    {"slots", "/api/x/N/slots", &ggs_slots_object, false},
    {"sql", "ggscope sql --json", &ggs_sql_object, false},
    {"stats", "ggscope stats --json, /api/x/N/stats", &ggs_stats_object, false},
    {"summary", "/api/x/N/summary", &ggs_summary_object, false},
    {"sweep", "ggscope sweep --json", &ggs_sweep_object, false},
    {"timeline", "/api/x/N/timeline: the header", &ggs_timeline_object, false},
    {"tokens", "/api/x/N/tokens: the header", &ggs_tokens_object, false},
    {"tune", "ggscope tune --json", &ggs_tuned_object, false},
    {"values", "ggscope values --json, /api/x/N/values", &ggs_values_object, false},
    {"values-diff", "ggscope diff --values --json, /api/values-diff", &ggs_values_diff_object, false},
    {"values-map", "/api/x/N/values-map, /api/values-diff-map: the header", &ggs_values_map_object, false},
    {0},
};
