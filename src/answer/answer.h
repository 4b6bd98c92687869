// Analyses as JSON. `--json`, the server and reports write the same object from one table
// (base/object.h).
//
// One file per subject. An answer that is one analysis is written by
//
//     ggs_answer_write(&json, &ggs_SUBJECT_object, &analysis, trace)
//
// An answer of several analyses has a header of its own with a struct that holds them all, so that
// text output uses the same numbers:
//
//     ggs_SUBJECT_compute(&subject, trace, &options, &error)     asks the analyzers
//     ggs_SUBJECT_write(&json, &subject)                         writes the whole object
//     ggs_SUBJECT_release(&subject)
//
// src/contract/answers.c lists all answers; schemas, the page's types and docs/json.md are
// generated from it. Rules for keys:
//
//   - A key that is a column of docs/tables.md has the column's name: bytes_read, begin_ns,
//     wait_ns, buffer, tensor, run, node, layer, thread, ... `token` is the number of a token step
//     (of a graph run if `step_kind` says so), `name` the name of a tensor, `op` the name of an
//     operation. A sum has the name of its summands.
//   - Times are integers in nanoseconds and end in _ns; sizes are integers in bytes: `bytes`, or
//     bytes_WHAT.
//   - Words of enums are those of analyze/walk/words.h.
//   - A list of sums is by_SOMETHING, and each of its entries has the key `something`.
//   - What was not seen, or does not apply, is null. A key is omitted only if it was not requested.
#pragma once

#include "analyze/check/check.h"
#include "analyze/experts/experts.h"
#include "analyze/lanes/processes.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/machine-heat.h"
#include "analyze/machine/prove.h"
#include "analyze/machine/streamed.h"
#include "analyze/memory/heat.h"
#include "analyze/ops/aggregate.h"
#include "analyze/ops/graph-view.h"
#include "analyze/ops/log.h"
#include "analyze/ops/overview.h"
#include "analyze/ops/windows.h"
#include "analyze/values/value-report.h"
#include "answer/fields.h"
#include "base/json.h"

// ---- answers with one analysis ----

extern const struct ggs_object ggs_aggregate_object; // struct ggs_aggregate: totals of a time window
extern const struct ggs_object ggs_checks_object;    // struct ggs_checks
extern const struct ggs_object ggs_experts_object;   // struct ggs_experts
extern const struct ggs_object ggs_map_object;       // struct ggs_model_map: the layout of the model's files
extern const struct ggs_object ggs_proof_object;     // struct ggs_proof
extern const struct ggs_object ggs_values_object;    // struct ggs_value_report

// ---- parts of answers ----

extern const struct ggs_object ggs_model_files_object;  // "files": the GGUF files that the engine opened
extern const struct ggs_object ggs_processes_object;    // struct ggs_process_list, of a joined experiment
extern const struct ggs_object ggs_process_name_object; // struct ggs_process_totals: a process and its clock
extern const struct ggs_object ggs_streamed_object;     // struct ggs_streamed_totals: activity of ggscope stream
extern const struct ggs_object ggs_windows_object;      // struct ggs_windows
#define GGS_WINDOWS_TEXT                                                                                            \
    "when graph runs were recorded: outside of these windows nothing is known; null if recording was never paused " \
    "and nothing was marked"

// ---- answers with functions of their own ----

// Number of touches of each place of the map: arrays of the same length and order.
extern const struct ggs_object ggs_heat_object;
void ggs_heat_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map,
                    const struct ggs_heat * heat, const struct ggs_machine_heat * machine);

// The graphs of a token step: begin, one write per requested graph, end. `runs`: all runs of the
// token step.
extern const struct ggs_object ggs_graph_object;
void ggs_graph_write_begin(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n);
void ggs_graph_write(struct ggs_json * json, const struct ggs_graph_view * view);
void ggs_graph_write_end(struct ggs_json * json);

// The log, one row at a time. `of`: number of rows without a filter. `from`: number of skipped
// rows.
extern const struct ggs_object ggs_log_object;
void ggs_log_write_begin(struct ggs_json * json, const struct ggs_trace * trace, uint64_t of, uint64_t from);
// `row`: its number in the unfiltered log. Writes operands if the filter requests them.
void ggs_log_write_row(struct ggs_json * json, const struct ggs_trace * trace, uint64_t row,
                       const struct ggs_log_entry * entry, bool operands);
// `total`: number of rows that pass the filter, -1 if they were not counted.
void ggs_log_write_end(struct ggs_json * json, int64_t total);

// Machine events, one at a time: between ggs_object_begin and ggs_object_end, with the trace as
// `it`.
extern const struct ggs_object ggs_faults_object, ggs_block_requests_object;
void ggs_fault_write_row(struct ggs_json * json, const struct ggs_fault * fault, const struct ggs_whereabouts * where);
void ggs_block_request_write_row(struct ggs_json * json, const struct ggs_block_request * request,
                                 const struct ggs_whereabouts * where);

// The details of one op: times by thread, operands with their bytes, experts, and neighbouring ops.
// A fused node yields the op that computed it. GGS_ABSENT if there is no such run, or the node was
// not computed. For the same op in other steps see analyze/ops/same-op.h.
extern const struct ggs_object ggs_same_ops_object;
int ggs_same_ops_write(struct ggs_json * json, struct ggs_trace * trace, uint64_t run, uint64_t node,
                       struct ggs_error * error);

extern const struct ggs_object ggs_op_object;
int ggs_op_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_overview * overview, uint64_t run,
                 uint64_t node, struct ggs_error * error);

struct ggs_rates;
struct ggs_roofline;
// Ops compared with the limits of the machine.
extern const struct ggs_object ggs_roofline_object;
void ggs_roofline_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_roofline * roofline,
                        const struct ggs_rates * limits);
