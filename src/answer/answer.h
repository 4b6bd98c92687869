// Analyses as JSON: what `--json` prints, what the server sends and what a report embeds is one
// object, written from one table (base/object.h).
//
// One file per subject. An answer that is one analysis is written by
//
//     ggs_answer_write(&json, &ggs_SUBJECT_object, &analysis, trace)
//
// An answer that several analyses make up has a header of its own, with a struct that holds them
// all, so that text is written from the same numbers:
//
//     ggs_SUBJECT_compute(&subject, trace, &options, &error)     asks the analyzers
//     ggs_SUBJECT_write(&json, &subject)                         writes the whole object
//     ggs_SUBJECT_release(&subject)
//
// src/contract/answers.c lists all answers: schemas, the page's types and docs/json.md come from
// there. Keys follow these rules:
//
//   - If docs/tables.md has a column for it, the key is the column's name: bytes_read, begin_ns,
//       wait_ns, buffer, tensor, run, node,
//     layer, thread, ... `token` is the number of a token step (of a graph run if `step_kind` says
//         so), `name` the name of a tensor,
//     `op` the name of an operation. A sum has the name of what is summed.
//   - Times are integers in nanoseconds and end in _ns; sizes are integers in bytes: `bytes`, or bytes_WHAT.
//   - Words of enums are those of analyze/walk/words.h.
//   - A list of sums is by_SOMETHING, and each of its entries has the key `something`.
//   - What was not seen, or does not apply, is null. A key is left out only if it was not asked
//       for.
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

// ---- answers that are one analysis ----

extern const struct ggs_object ggs_aggregate_object; // struct ggs_aggregate: what happened in a window of time
extern const struct ggs_object ggs_checks_object;    // struct ggs_checks
extern const struct ggs_object ggs_experts_object;   // struct ggs_experts
extern const struct ggs_object ggs_map_object;       // struct ggs_model_map: what lies where in the model's files
extern const struct ggs_object ggs_proof_object;     // struct ggs_proof
extern const struct ggs_object ggs_values_object;    // struct ggs_value_report

// ---- parts of answers ----

extern const struct ggs_object ggs_model_files_object;  // "files": the GGUF files that the engine opened
extern const struct ggs_object ggs_processes_object;    // struct ggs_process_list, of a joined experiment
extern const struct ggs_object ggs_process_name_object; // struct ggs_process_totals: who it is, and its clock
extern const struct ggs_object ggs_streamed_object;     // struct ggs_streamed_totals: what ggscope stream did
extern const struct ggs_object ggs_windows_object;      // struct ggs_windows
#define GGS_WINDOWS_TEXT                                                                                            \
    "when graph runs were recorded: outside of these windows nothing is known; null if recording was never paused " \
    "and nothing was marked"

// ---- more than a table ----

// How often the places of the map were touched: arrays of the same length, in the same order.
extern const struct ggs_object ggs_heat_object;
void ggs_heat_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map,
                    const struct ggs_heat * heat, const struct ggs_machine_heat * machine);

// The graphs of a token step: begin, one write per graph that is wanted, end. `runs`: all of the
// token step.
extern const struct ggs_object ggs_graph_object;
void ggs_graph_write_begin(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n);
void ggs_graph_write(struct ggs_json * json, const struct ggs_graph_view * view);
void ggs_graph_write_end(struct ggs_json * json);

// The log, a row at a time.
// `of`: rows without a filter. `from`: how many rows of the answer are left out before the first.
extern const struct ggs_object ggs_log_object;
void ggs_log_write_begin(struct ggs_json * json, const struct ggs_trace * trace, uint64_t of, uint64_t from);
// `row`: its number in the log of everything. With its operands if the filter asked for them.
void ggs_log_write_row(struct ggs_json * json, const struct ggs_trace * trace, uint64_t row,
                       const struct ggs_log_entry * entry, bool operands);
// `total`: rows that the filter leaves, -1 if they were not counted to the end.
void ggs_log_write_end(struct ggs_json * json, int64_t total);

// What the machine did, an event at a time: between ggs_object_begin and ggs_object_end, with the
// trace as `it`.
extern const struct ggs_object ggs_faults_object, ggs_block_requests_object;
void ggs_fault_write_row(struct ggs_json * json, const struct ggs_fault * fault, const struct ggs_whereabouts * where);
void ggs_block_request_write_row(struct ggs_json * json, const struct ggs_block_request * request,
                                 const struct ggs_whereabouts * where);

// The card of one op: times by thread, operands with their bytes, experts, and the ops before,
// behind and around it. A node that was computed together with another gives that one's. GGS_ABSENT
// if there is no such run, or the node was not computed. The same op in other steps:
// analyze/ops/same-op.h.
extern const struct ggs_object ggs_same_ops_object;
int ggs_same_ops_write(struct ggs_json * json, struct ggs_trace * trace, uint64_t run, uint64_t node,
                       struct ggs_error * error);

extern const struct ggs_object ggs_op_object;
int ggs_op_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_overview * overview, uint64_t run,
                 uint64_t node, struct ggs_error * error);

struct ggs_rates;
struct ggs_roofline;
// What ops reach, against what the machine can do.
extern const struct ggs_object ggs_roofline_object;
void ggs_roofline_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_roofline * roofline,
                        const struct ggs_rates * limits);
