// Writes analyses as JSON: what `--json` prints, what the server sends and what a report embeds is one object, written by one function.
//
// One file per subject. What one analysis answers is declared below. If several make up an answer, it has a header of its own with a struct
// that holds them all, so that text is written from the same numbers:
//
//     ggs_SUBJECT_compute(&subject, trace, &options, &error)     asks the analyzers
//     ggs_SUBJECT_write(&json, &subject)                         writes the whole object
//     ggs_SUBJECT_release(&subject)
//
// docs/schemas/SUBJECT.schema.json is the contract for scripts: it allows no key that it does not name, and a test compares it with the
// output of every verb and every route. Keys follow these rules:
//
//   - If docs/tables.md has a column for it, the key is the column's name: bytes_read, begin_ns, wait_ns, buffer, tensor, run, node, layer, thread, ...
//     `token` is the number of a token step (of a graph run if `step_kind` says so), `name` the name of a tensor, `op` the name of an operation. A sum has the name of what is summed.
//   - Times are integers in nanoseconds and end in _ns; sizes are integers in bytes: `bytes`, or bytes_WHAT.
//   - Words of enums are those of analyze/walk/words.h.
//   - A list of what is summed up by something is by_SOMETHING, and each of its entries says under the key `something` which one it is.
//   - What was not seen, or does not apply, is null. A key is left out only if it was not asked for.
#pragma once

#include "analyze/check/check.h"
#include "analyze/diff/diff.h"
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
#include "answer/fields.h"
#include "base/json.h"

// "experiment_id": the first member of every answer about an experiment; "partial": true after it if damaged chunks were left out.
void ggs_answer_experiment(struct ggs_json * json, const struct ggs_trace * trace);
// "tokens_per_second" of so many steps in so much time; null if there was none.
void ggs_answer_speed(struct ggs_json * json, uint64_t steps, uint64_t ns);

// What happened in a window of time: docs/schemas/aggregate.schema.json.
void ggs_aggregate_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_aggregate * window);

// What `ggscope check` found.
void ggs_checks_write(struct ggs_json * json, const struct ggs_checks * checks);

// What changed between two recordings: the answer of `ggscope diff --json` and of the server.
void ggs_diff_write(struct ggs_json * json, const struct ggs_trace * a, const struct ggs_trace * b,
                    const struct ggs_diff * diff);
// The same without the braces, for an object that has more.
void ggs_diff_members(struct ggs_json * json, const struct ggs_trace * a, const struct ggs_trace * b,
                      const struct ggs_diff * diff);

// Which experts were chosen: the answer of `ggscope experts --json` and of the server.
void ggs_experts_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_experts * experts);

// The graphs of a token step: {experiment_id, token, phase, runs[], graphs[]}, each graph with nodes[], leaves[] and edges[].
// begin, one write per graph that is wanted, end. `runs`: all of the token step.
void ggs_graph_write_begin(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n);
void ggs_graph_write(struct ggs_json * json, const struct ggs_graph_view * view);
void ggs_graph_write_end(struct ggs_json * json);

// What lies where in the model's files, and how often it was touched: docs/schemas/map.schema.json and heat.schema.json.
//
// The places of the map are the rows of both: arrays of the same length, in the same order.
void ggs_map_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map);
// "files": the GGUF files that the engine opened.
void ggs_map_write_files(struct ggs_json * json, const struct ggs_trace * trace);

void ggs_heat_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map,
                    const struct ggs_heat * heat, const struct ggs_machine_heat * machine);

// The log: {experiment_id, of, from, ops[], total}. A stream, because it may be long: begin, a row at a time, end.
// `of`: rows without a filter. `from`: how many rows of the answer are left out before the first.
void ggs_log_write_begin(struct ggs_json * json, const struct ggs_trace * trace, uint64_t of, uint64_t from);
// `row`: its number in the log of everything. With its operands if the filter asked for them.
void ggs_log_write_row(struct ggs_json * json, const struct ggs_trace * trace, uint64_t row,
                       const struct ggs_log_entry * entry, bool operands);
// `total`: rows that the filter leaves, -1 if they were not counted to the end.
void ggs_log_write_end(struct ggs_json * json, int64_t total);

// What the machine did, in order of time: {experiment_id, KEY[]} with page faults ("faults") or block requests ("block_requests").
void ggs_events_write_begin(struct ggs_json * json, const struct ggs_trace * trace, const char * key);
void ggs_fault_write_row(struct ggs_json * json, const struct ggs_fault * fault, const struct ggs_whereabouts * where);
void ggs_block_request_write_row(struct ggs_json * json, const struct ggs_block_request * request,
                                 const struct ggs_whereabouts * where);
void ggs_events_write_end(struct ggs_json * json);

// The card of one op: times by thread, operands with their bytes, experts, and the ops before, behind and around it. A node of a run
// that is seen as a whole has no times and no threads.
// Writes the whole object. A node that was computed together with another gives that one's. GGS_ABSENT if there is no such run, or the
// node was not computed.
int ggs_op_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_overview * overview, uint64_t run,
                 uint64_t node, struct ggs_error * error);

// Pages that ops touched against those that the trace says.
void ggs_proof_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_proof * proof);

struct ggs_rates;
struct ggs_roofline;
// What ops reach, against what the machine can do: docs/schemas/roofline.schema.json.
void ggs_roofline_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_roofline * roofline,
                        const struct ggs_rates * limits);

// When a recording was made: the member "windows" of docs/schemas/stats.schema.json and summary.schema.json.
// null if it was never paused and nothing was marked.
// What ggscope stream did: the member "streamed" of docs/schemas/stats.schema.json.
void ggs_streamed_answer(struct ggs_json * json, const struct ggs_streamed_totals * totals);

void ggs_windows_answer(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_windows * windows);

// The processes of a joined experiment, and where its time went: the member "processes" of docs/schemas/stats.schema.json.
// null if there is one process.
void ggs_processes_answer(struct ggs_json * json, const struct ggs_process_list * list);
