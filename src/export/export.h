// Exports a recording to the formats of other programs.
//
//     struct ggs_export_options options = {
//         .format = "csv", .output = "tables", .last_step = INT64_MAX};
//     if (ggs_export(&options, "experiment", &result, &error) < 0) fail(error.text);
//
// Each format is one file behind a row of the table in export.c. All of them walk the trace once or
// a few times and hold one graph run at a time, so memory does not grow with the recording.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/requests/selection.h"
#include "analyze/walk/walk.h"
#include "analyze/walk/words.h"
#include "base/uuid.h"
#include "export/target.h"

struct ggs_metadata;
struct ggs_text;

// The kind of OUT.
enum ggs_export_shape {
    GGS_EXPORT_FILE,      // one stream: a file, or standard output
    GGS_EXPORT_DIRECTORY, // several files
    GGS_EXPORT_DATABASE,  // one file that cannot be a stream
    GGS_EXPORT_STEPS,     // a file per token step; one stream if only one step is requested
};

struct ggs_export_options {
    const char *     format;
    const char *     output; // "-": standard output, if the shape allows
    bool             gzip;
    bool             damaged;               // read the intact part of a damaged trace
    bool             per_thread;            // json: an entry per op run, not per op
    bool             steps;                 // the next two are set: warm-up and whatever belongs to no step is left out
    int64_t          first_step, last_step; // both inclusive
    struct ggs_asked choice;                // only these requests, likewise
    const char **    tables;                // csv, sqlite, parquet: only these; NULL for all
    unsigned         n_tables;
    bool             underscores; // dot: files are named token_00000.dot, as other tools' scripts expect
    bool             lake;        // parquet: the output is a folder of many experiments (lake.h)
    bool             force;       // lake: an existing experiment is replaced
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * context;
};

struct ggs_export_result {
    uint64_t files, unchanged; // `unchanged` of `files` already had the same bytes
    uint64_t bytes;            // before gzip
    char     warning[512];     // a sentence about missing parts of the trace; "" if it is complete
};

// Returns GGS_USAGE with a sentence if the options contradict each other. ggs_export checks this
// first.
int ggs_export_refuse(const struct ggs_export_options * options, struct ggs_error * error);

int ggs_export(const struct ggs_export_options * options, const char * directory, struct ggs_export_result * result,
               struct ggs_error * error);

struct ggs_export;

struct ggs_export_format {
    const char *          name;
    const char *          summary; // half a line, for --help
    enum ggs_export_shape shape;
    bool                  gzip; // may be compressed
    bool                  tables;
    unsigned              passes; // over the runs, for the progress bar; 0: one per table
    int (*write)(struct ggs_export * export, struct ggs_error * error);
};

// Returns NULL beyond the last format.
const struct ggs_export_format * ggs_export_format(unsigned i);

// ---- functions for the formats ----

struct ggs_export {
    const struct ggs_export_options * options;
    const struct ggs_export_format *  format;
    const char *                      directory; // of the experiment
    struct ggs_trace                  trace;
    struct ggs_metadata *             facts;
    const char **                     names; // of tensors, by tensor - 1
    char                              id[GGS_UUID_LENGTH];
    char                              warning[512]; // as the result's
    int64_t                           start_utc_ns; // since 1970; -1: unknown
    char **                           copies;       // made by ggs_export_valid
    uint64_t                          n_copies, copies_capacity;
    struct ggs_graph_words {
        uint64_t graph; // of the cached nodes, 0 for none
        struct {
            const char *category, *qkv;
        } * nodes;
        uint64_t capacity;
    } words;
    struct ggs_export_result result;
    uint64_t                 done, total; // runs, over all passes
    _Atomic uint64_t *       done_by_all; // while several processes write; else NULL
    bool                     silent;      // a worker process: its parent shows progress
};

// Opens the recording to read its tables without writing a format. `options` must outlive it. Call
// ggs_export_end even after a failure.
int  ggs_export_begin(struct ggs_export * export, const struct ggs_export_options * options, const char * directory,
                      struct ggs_error * error);
void ggs_export_end(struct ggs_export * export);

// Starts a walk over the requested part.
int ggs_export_walk(struct ggs_export * export, struct ggs_walk ** walk, struct ggs_error * error);
// Call after each run of a walk.
void ggs_export_step(struct ggs_export * export);
// Opens a cursor over the requested steps without warm-up.
int ggs_export_steps(struct ggs_export * export, struct ggs_cursor ** cursor, struct ggs_error * error);
// Reads the next step; returns 1, 0 at the end, or a negative status.
int ggs_export_next_step(const struct ggs_export * export, struct ggs_cursor * cursor, struct ggs_step * step,
                         struct ggs_error * error);

// Opens OUT, or a file below it if `name` is not NULL. Below a directory ".gz" is appended if
// compression is requested, except for SQL.
int ggs_export_open(struct ggs_export * export, struct ggs_target * target, const char * name,
                    struct ggs_error * error);
// Commits (status 0) or discards, and updates the counts. Returns the first failure.
int ggs_export_close(struct ggs_export * export, struct ggs_target * target, int status, struct ggs_error * error);
// Creates OUT, or a directory below it.
int ggs_export_mkdir(struct ggs_export * export, const char * name, struct ggs_error * error);
// Removes "token-00007.json" and the like below OUT/name that an earlier export wrote and this one
// did not.
void ggs_export_sweep(struct ggs_export * export, const char * name, const char * extension);

// Names come from untrusted files and may have any bytes; exports are UTF-8. Returns the text if it
// is valid, else a copy with U+FFFD for invalid bytes that lives as long as the export. NULL stays
// NULL.
const char * ggs_export_valid(struct ggs_export * export, const char * text);
// The same in place, for text that may end in the middle of a character.
void ggs_text_make_valid(struct ggs_text * text);

// ---- words shared by several formats ----

// Nanoseconds since 1970 as "2026-11-15T05:26:37.435000000Z".
enum { GGS_MOMENT_LENGTH = 48 };
char * ggs_moment_format(char text[GGS_MOMENT_LENGTH], int64_t ns);

const char * ggs_word_type(const struct ggs_export * export, uint64_t type); // "q4_K"
// By number, "" if there is none; by row of trace.tensors, with any number.
const char * ggs_tensor_name_of(const struct ggs_export * export, uint64_t tensor);
const char * ggs_tensor_name(const struct ggs_export * export, const struct ggs_tensor * tensor);
int          ggs_tensor_layer(const struct ggs_export * export, const struct ggs_tensor * tensor);
// Category of what a node computes: input, attention, ffn, norm, output, other.
const char * ggs_node_category(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node);
// The projection that a node computes: "Q", "K", "V", or NULL.
const char * ggs_node_qkv(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node);
