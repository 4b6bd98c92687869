// Shared by the files of `ggscope gguf`. cmd-gguf.c parses the command line and opens the model;
// these functions write it to stdout, which cmd_gguf checks at the end.
#pragma once

#include "gguf/gguf-map.h"
#include "gguf/gguf-split.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;

struct gguf_report {
    const struct ggs_model *    model;
    const struct ggs_gguf_map * maps; // one per file of the model; NULL for metadata
    bool                        experts;
    bool                        full;  // --csv: with shape, type and file
    unsigned                    width; // of the terminal, 0: lines must not be shortened
};

// cmd-gguf-text.c
int gguf_text_summary(const struct gguf_report * report, struct ggs_error * error);
int gguf_text_map(const struct gguf_report * report, struct ggs_error * error);
int gguf_text_regions(const struct gguf_report * report, struct ggs_error * error);
int gguf_text_kv(const struct gguf_report * report, struct ggs_error * error);
int gguf_text_extents(const struct gguf_report * report, struct ggs_error * error);

// cmd-gguf-totals.c: the line of types above the table of tensors, or everything below it
enum gguf_totals { GGUF_TOTALS_MIX, GGUF_TOTALS_TABLES };
int gguf_text_totals(const struct gguf_report * report, enum gguf_totals which, struct ggs_error * error);

// cmd-gguf-csv.c
int gguf_csv_map(const struct gguf_report * report, struct ggs_error * error);
