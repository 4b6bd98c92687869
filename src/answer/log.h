// The log: {experiment_id, of, from, ops[], total}. A stream, because it may be long: begin, a row at a time, end.
#pragma once

#include "analyze/machine/faults.h"
#include "analyze/ops/log.h"
#include "answer/answer.h"

// `of`: rows without a filter. `from`: how many rows of the answer are left out before the first.
void ggs_log_write_begin(struct ggs_json * json, const struct ggs_trace * trace, uint64_t of, uint64_t from);
// `row`: its number in the log of everything. With its operands where the filter asked for them.
void ggs_log_write_row(struct ggs_json * json, const struct ggs_trace * trace, uint64_t row,
                       const struct ggs_log_entry * entry, bool operands);
// `total`: rows that the filter leaves, -1 if they were not counted to the end.
void ggs_log_write_end(struct ggs_json * json, int64_t total);

// The log of page faults: {experiment_id, faults[]}.
void ggs_fault_log_write_begin(struct ggs_json * json, const struct ggs_trace * trace);
void ggs_fault_log_write_row(struct ggs_json * json, const struct ggs_fault * fault,
                             const struct ggs_whereabouts * where);
void ggs_fault_log_write_end(struct ggs_json * json);
