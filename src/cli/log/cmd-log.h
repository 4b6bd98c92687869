// Output of ggscope log: text, CSV or JSON, one entry at a time.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "analyze/ops/log.h"
#include "base/json.h"

enum ggs_log_form { GGS_LOG_TEXT, GGS_LOG_CSV, GGS_LOG_JSON };

enum { GGS_LOG_CELLS = 11 };

struct ggs_log_writer {
    const struct ggs_trace * trace;
    FILE *                   file;
    enum ggs_log_form        form;
    unsigned                 widths[GGS_LOG_CELLS]; // text: 0 for omitted columns
    struct ggs_json          json;
    int64_t                  total; // rows that pass the filter; -1 if not counted
};

void ggs_log_writer_begin(struct ggs_log_writer * writer, const struct ggs_trace * trace, uint64_t of, FILE * file,
                          enum ggs_log_form form);
void ggs_log_writer_add(struct ggs_log_writer * writer, uint64_t row, const struct ggs_log_entry * entry);
int  ggs_log_writer_end(struct ggs_log_writer * writer); // 0, or -1 if a write failed

// Write a CSV field, quoted if needed; a number, empty if negative. `after`: terminator.
void ggs_csv_field(FILE * file, const char * text, const char * after);
void ggs_csv_natural(FILE * file, int64_t number, const char * after);

// ggscope log --faults: page faults in place of ops.
struct ggs_fault_log {
    const struct ggs_log_filter * filter;
    enum ggs_log_form             form;
    uint64_t                      limit;
    bool                          longest; // longest stall first, else in time order
};
int ggs_fault_log_print(const struct ggs_fault_log * log, struct ggs_trace * trace, FILE * file,
                        struct ggs_error * error);
