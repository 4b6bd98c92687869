// Where an analysis becomes JSON: what `--json` prints, what the server sends and what a report embeds is one object, written by one function.
//
// One file per subject. Where several analyses make up an answer, its header has a struct that holds them all, so that text is written from
// the same numbers:
//
//     ggs_SUBJECT_compute(&subject, trace, &options, &error)     asks the analyzers
//     ggs_SUBJECT_write(&json, &subject)                         writes the whole object
//     ggs_SUBJECT_release(&subject)
//
// docs/schemas/SUBJECT.schema.json is the contract for scripts: it allows no key that it does not name, and a test compares it with the
// output of every verb and every route. Keys follow these rules:
//
//   - Where docs/tables.md has a column, the key is its name: bytes_read, begin_ns, wait_ns, buffer, tensor, run, node, layer, thread, ...
//     `token` is the number of a token step (of a graph run where `step_kind` says so), `name` the name of a tensor, `op` the name of an operation. A sum has the name of what is summed.
//   - Times are integers in nanoseconds and end in _ns; sizes are integers in bytes: `bytes`, or bytes_WHAT.
//   - Words of enums are those of analyze/walk/words.h.
//   - A list of what is summed up by something is by_SOMETHING, and each of its entries says under the key `something` which one it is.
//   - What was not seen, or does not apply, is null. A key is left out only where nobody asked for it.
#pragma once

#include "answer/fields.h"
#include "base/json.h"

struct ggs_trace;

// "experiment_id": the first member of every answer about an experiment; "partial": true after it if damaged chunks were left out.
void ggs_answer_experiment(struct ggs_json * json, const struct ggs_trace * trace);
// "tokens_per_second" of so many steps in so much time; null where there was none.
void ggs_answer_speed(struct ggs_json * json, uint64_t steps, uint64_t ns);
