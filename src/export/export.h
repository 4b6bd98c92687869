// A recording in the formats of other programs.
//
//     struct ggs_export_options options = {.format = "csv", .output = "tables", .last_step =
//         INT64_MAX};
//     if (ggs_export(&options, "experiment", &result, &error) < 0) fail(error.text);
//
// One file per format, each behind a row of the table in export.c. All of them walk the trace once
// or a few times and hold one graph run at a time, so memory does not grow with the recording.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/requests/selection.h"
#include "analyze/walk/walk.h"
#include "analyze/walk/words.h"
#include "base/uuid.h"
#include "export/target.h"

struct ggs_facts;
struct ggs_text;

// What OUT is.
enum ggs_export_shape {
    GGS_EXPORT_FILE,      // one stream: a file, or standard output
    GGS_EXPORT_DIRECTORY, // several files
    GGS_EXPORT_DATABASE,  // one file that cannot be a stream
    GGS_EXPORT_STEPS,     // a file for each token step; one stream if only one step is asked for
};

struct ggs_export_options {
    const char *     format;
    const char *     output; // "-": standard output, if the shape allows
    bool             gzip;
    bool             damaged;    // read what is intact of a damaged trace
    bool             per_thread; // json: an entry for each op run, not for each op
    bool             steps;      // the next two were asked for: warm-up and what belongs to no step is left out
    int64_t          first_step, last_step; // both inclusive
    struct ggs_asked choice;                // only what belongs to these requests, as with steps
    const char **    tables;                // csv, sqlite, parquet: only these; NULL for all
    unsigned         n_tables;
    bool             underscores; // dot: files are token_00000.dot, as scripts of other tools look for them
    bool             lake;        // parquet: the output is a folder of many experiments (lake.h)
    bool             force;       // lake: an experiment that is there is replaced
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * context;
};

struct ggs_export_result {
    uint64_t files, unchanged; // `unchanged` of `files` had these bytes already
    uint64_t bytes;            // before gzip
    char     warning[512];     // what is missing of the trace, a sentence; "" if it is whole
};

// Do the options fit together? GGS_USAGE with a sentence if they do not. ggs_export asks this
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
    unsigned              passes; // over the runs, for the progress bar; 0: as many as there are tables
    int (*write)(struct ggs_export * export, struct ggs_error * error);
};

// NULL beyond the last.
const struct ggs_export_format * ggs_export_format(unsigned i);

// ---- for the formats ----

struct ggs_export {
    const struct ggs_export_options * options;
    const struct ggs_export_format *  format;
    const char *                      directory; // of the experiment
    struct ggs_trace                  trace;
    struct ggs_facts *                facts;
    const char **                     names; // of tensors, by tensor - 1
    char                              id[GGS_UUID_LENGTH];
    char                              warning[512]; // as the result's
    int64_t                           start_utc_ns; // since 1970; -1: the trace does not tell
    char **                           copies;       // that ggs_export_valid made
    uint64_t                          n_copies, copies_capacity;
    struct ggs_graph_words {
        uint64_t graph; // that they are about, 0 for none yet
        struct {
            const char *category, *qkv;
        } * nodes;
        uint64_t capacity;
    } words;
    struct ggs_export_result result;
    uint64_t                 done, total; // runs, over all passes
    _Atomic uint64_t *       done_by_all; // while several processes write; else NULL
};

// Opens the recording to read its tables without writing a format. `options` must outlive it. End
// it whatever was returned.
int  ggs_export_begin(struct ggs_export * export, const struct ggs_export_options * options, const char * directory,
                      struct ggs_error * error);
void ggs_export_end(struct ggs_export * export);

// A walk over what was asked for.
int ggs_export_walk(struct ggs_export * export, struct ggs_walk ** walk, struct ggs_error * error);
// Call after each run of a walk.
void ggs_export_step(struct ggs_export * export);
// Opens a cursor over the steps that were asked for, warm-up left out.
int ggs_export_steps(struct ggs_export * export, struct ggs_cursor ** cursor, struct ggs_error * error);
// The next of them; 1, 0 at the end, or negative.
int ggs_export_next_step(const struct ggs_export * export, struct ggs_cursor * cursor, struct ggs_step * step,
                         struct ggs_error * error);

// Opens OUT, or a file below it if `name` is not NULL; ".gz" is appended below a directory if that
// is asked for, but for SQL.
int ggs_export_open(struct ggs_export * export, struct ggs_target * target, const char * name,
                    struct ggs_error * error);
// Commits (status 0) or discards; counts; returns the first failure.
int ggs_export_close(struct ggs_export * export, struct ggs_target * target, int status, struct ggs_error * error);
// Makes OUT, or a directory below it.
int ggs_export_mkdir(struct ggs_export * export, const char * name, struct ggs_error * error);
// "token-00007.json" and the like below OUT/name that an earlier export left and that this one did
// not write are removed.
void ggs_export_sweep(struct ggs_export * export, const char * name, const char * extension);

// Names come from files of others and may be any bytes; exports are UTF-8. The text itself if it is
// valid, else a copy with U+FFFD for what is not, which lives as long as the export. NULL stays
// NULL.
const char * ggs_export_valid(struct ggs_export * export, const char * text);
// The same in place, for a piece of text that may end in the middle of a character.
void ggs_text_make_valid(struct ggs_text * text);

// ---- words that several formats share ----

// Nanoseconds since 1970 as "2026-11-15T05:26:37.435000000Z".
enum { GGS_MOMENT_LENGTH = 48 };
char * ggs_moment_format(char text[GGS_MOMENT_LENGTH], int64_t ns);

const char * ggs_word_type(const struct ggs_export * export, uint64_t type); // "q4_K"
// Of a number, "" if there is none; of a row of trace.tensors, whatever number it carries.
const char * ggs_tensor_name_of(const struct ggs_export * export, uint64_t tensor);
const char * ggs_tensor_name(const struct ggs_export * export, const struct ggs_tensor * tensor);
int          ggs_tensor_layer(const struct ggs_export * export, const struct ggs_tensor * tensor);
// input, attention, ffn, norm, output, other: of what a node computes.
const char * ggs_node_category(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node);
// "Q", "K", "V", or NULL: which projection a node makes.
const char * ggs_node_qkv(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node);
