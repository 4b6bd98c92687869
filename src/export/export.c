#include "export/export.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/uuid.h"
#include "export/formats.h"
#include "export/lake.h"
#include "export/metadata.h"
#include "export/tables/tables.h"

static const struct ggs_export_format formats[] = {
    {"json", "a directory: metadata, memory map, buffers, a graph and a trace for each token", GGS_EXPORT_DIRECTORY,
     true, false, 1, ggs_export_json},
    {"csv", "a directory of tables", GGS_EXPORT_DIRECTORY, true, true, 0, ggs_export_csv},
    {"sqlite", "the same tables as a database", GGS_EXPORT_DATABASE, false, true, 0, ggs_export_sqlite},
    {"parquet", "the same tables as a directory of Parquet files", GGS_EXPORT_DIRECTORY, false, true, 0,
     ggs_export_parquet},
    {"chrome", "a timeline as trace events in JSON", GGS_EXPORT_FILE, true, false, 1, ggs_export_chrome},
    {"perfetto", "a timeline for Perfetto", GGS_EXPORT_FILE, true, false, 1, ggs_export_perfetto},
    {"dot", "the graphs for Graphviz, one for each token", GGS_EXPORT_STEPS, true, false, 1, ggs_export_dot},
    {"fio", "the reads of mapped files, for fio to replay", GGS_EXPORT_FILE, true, false, 1, ggs_export_fio},
    {"buffers", "allocations and frees of buffers as JSON lines", GGS_EXPORT_FILE, true, false, 1, ggs_export_buffers},
    {"ggmlviz", "events as ggml-viz reads them", GGS_EXPORT_FILE, true, false, 1, ggs_export_ggmlviz},
};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct ggs_export_format * ggs_export_format(unsigned i) {
    return i < N_FORMATS ? &formats[i] : NULL;
}

// ---- functions for the formats ----

int ggs_export_walk(struct ggs_export * export, struct ggs_walk ** walk, struct ggs_error * error) {
    const struct ggs_export_options * o = export->options;
    return ggs_walk_open(walk, &export->trace, o->steps ? o->first_step : INT64_MIN,
                         o->steps ? o->last_step : INT64_MAX, error);
}

void ggs_export_step(struct ggs_export * export) {
    export->done = export->done_by_all == NULL ? export->done + 1 : atomic_fetch_add(export->done_by_all, 1) + 1;
    if (export->done > export->total) export->done = export->total;
    if (export->options->progress != NULL && !export->silent)
        export->options->progress(export->options->context, export->done, export->total);
}

int ggs_export_steps(struct ggs_export * export, struct ggs_cursor ** cursor, struct ggs_error * error) {
    const struct ggs_export_options * o      = export->options;
    int                               status = ggs_cursor_open(cursor, export->trace.reader, GGS_TABLE_STEPS, error);
    if (status == 0)
        ggs_cursor_keys(*cursor, o->steps && o->first_step > 0 ? o->first_step : 0,
                        o->steps ? o->last_step : INT64_MAX);
    return status;
}

int ggs_export_next_step(const struct ggs_export * export, struct ggs_cursor * cursor, struct ggs_step * step,
                         struct ggs_error * error) {
    int more;
    do more = ggs_cursor_next(cursor, step, error);
    while (more > 0 && !ggs_trace_has_step(&export->trace, step->step));
    return more;
}

// Returns OUT, or OUT/NAME with an extension. The caller frees it.
static char * path_of(const struct ggs_export * export, const char * name, const char * extension) {
    char * path = NULL;
    int    n    = name == NULL ? asprintf(&path, "%s%s", export->options->output, extension)
                               : asprintf(&path, "%s/%s%s", export->options->output, name, extension);
    return n < 0 ? NULL : path;
}

int ggs_export_open(struct ggs_export * export, struct ggs_target * target, const char * name,
                    struct ggs_error * error) {
    size_t length = name == NULL ? 0 : strlen(name);
    bool   sql    = length > 4 && strcmp(name + length - 4, ".sql") == 0; // its readers need plain text
    bool   gzip   = export->options->gzip && !sql;
    char * path   = path_of(export, name, gzip && name != NULL ? ".gz" : "");
    char * same   = name == NULL ? NULL : path_of(export, name, gzip ? "" : ".gz");
    int    status = path == NULL || (name != NULL && same == NULL) ? ggs_fail_memory(error)
                                                                   : ggs_target_open(target, path, gzip, error);
    if (status == 0 && same != NULL)
        unlink(same); // an earlier export's file, compressed or not, that this one replaces
    free(path);
    free(same);
    return status;
}

int ggs_export_close(struct ggs_export * export, struct ggs_target * target, int status, struct ggs_error * error) {
    if (status < 0) {
        ggs_target_discard(target);
        return status;
    }
    status = ggs_target_commit(target, error);
    export->result.files++;
    export->result.bytes += target->bytes;
    if (target->unchanged) export->result.unchanged++;
    return status;
}

int ggs_export_mkdir(struct ggs_export * export, const char * name, struct ggs_error * error) {
    char *      path   = path_of(export, name, "");
    int         status = 0;
    struct stat facts;
    if (path == NULL) return ggs_fail_memory(error);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        status = ggs_fail_errno(error, "cannot create the directory %s", path);
    } else if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode)) {
        status =
            ggs_fail(error, GGS_USAGE, "%s is no directory, but --format %s writes several files; give another name",
                     path, export->format->name);
    }
    free(path);
    return status;
}

// Returns the number in "token-00007" or "token_00007" followed by the extension, else -1.
static int64_t number_of(const char * file, char separator, const char * extension) {
    if (strncmp(file, "token", 5) != 0 || file[5] != separator) return -1;
    char *    end;
    long long number = strtoll(file + 6, &end, 10);
    return end != file + 6 && strcmp(end, extension) == 0 ? number : -1;
}

static bool has_step(struct ggs_export * export, int64_t step) {
    const struct ggs_export_options * o = export->options;
    struct ggs_cursor *               cursor;
    struct ggs_step                   row;
    if (o->steps && (step < o->first_step || step > o->last_step)) return false;
    if (!ggs_trace_has_step(&export->trace, step)) return false;
    if (ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_STEPS, NULL) < 0) return true;
    ggs_cursor_keys(cursor, step, step);
    bool found = ggs_cursor_next(cursor, &row, NULL) != 0; // unreadable: keep the file
    ggs_cursor_close(cursor);
    return found;
}

void ggs_export_sweep(struct ggs_export * export, const char * name, const char * extension) {
    char * path = path_of(export, name, "");
    DIR *  dir  = path == NULL ? NULL : opendir(path);
    char   plain[16], gzip[20];
    snprintf(plain, sizeof(plain), "%s", extension);
    snprintf(gzip, sizeof(gzip), "%s.gz", extension);
    for (struct dirent * entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char    separator = export->options->underscores ? '_' : '-';
        int64_t ours      = number_of(entry->d_name, separator, export->options->gzip ? gzip : plain);
        int64_t other     = number_of(entry->d_name, separator, export->options->gzip ? plain : gzip);
        if (other >= 0 || (ours >= 0 && !has_step(export, ours))) unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir != NULL) closedir(dir);
    free(path);
}

// ---- exporting ----

static const struct ggs_export_format * find_format(const char * name) {
    for (unsigned i = 0; i < N_FORMATS; i++) {
        if (strcmp(formats[i].name, name) == 0) return &formats[i];
    }
    return NULL;
}

// A single table is one stream, although the format writes a file per table.
static bool is_stream(const struct ggs_export_format * format, const struct ggs_export_options * o) {
    if (o->lake) return false;
    return format->shape == GGS_EXPORT_FILE ||
           (format->shape == GGS_EXPORT_STEPS && o->steps && o->first_step == o->last_step) ||
           (format->shape == GGS_EXPORT_DIRECTORY && format->tables && o->n_tables == 1);
}

int ggs_export_refuse(const struct ggs_export_options * o, struct ggs_error * error) {
    const struct ggs_export_format * format = find_format(o->format);
    if (format == NULL) return ggs_fail(error, GGS_USAGE, "there is no format '%s'; --help lists them", o->format);
    if (o->gzip && !format->gzip)
        return ggs_fail(error, GGS_USAGE, "--gzip cannot be used with --format %s", format->name);
    if (o->n_tables > 0 && !format->tables)
        return ggs_fail(error, GGS_USAGE, "--table goes with csv, sqlite and parquet, not with %s", format->name);
    if (o->lake && strcmp(format->name, "parquet") != 0)
        return ggs_fail(error, GGS_USAGE, "--lake goes with --format parquet, not with %s", format->name);
    if (o->force && !o->lake) return ggs_fail(error, GGS_USAGE, "--force goes with --lake");
    if (o->lake && (o->steps || o->choice.request + o->choice.sequence + o->choice.context > 0))
        return ggs_fail(error, GGS_USAGE,
                        "a lake holds whole experiments: --lake cannot be combined with a choice of tokens");
    if (o->per_thread && strcmp(format->name, "json") != 0)
        return ggs_fail(error, GGS_USAGE, "--per-thread goes with --format json, not with %s", format->name);
    if (strcmp(o->output, "-") == 0 && !is_stream(format, o))
        return ggs_fail(error, GGS_USAGE,
                        "--format %s is more than one stream: give a %s with -o, not standard output%s", format->name,
                        format->shape == GGS_EXPORT_DATABASE ? "file" : "directory",
                        format->shape == GGS_EXPORT_STEPS  ? ", or one token step with --token N"
                        : strcmp(format->name, "csv") == 0 ? ", or one table with --table NAME"
                                                           : "");
    for (unsigned i = 0; i < o->n_tables; i++) {
        if (ggs_table_find(o->tables[i]) == NULL)
            return ggs_fail(error, GGS_USAGE, "there is no table '%s'; ggscope export --tables lists them",
                            o->tables[i]);
    }
    return 0;
}

// UTC time of 0 ns, from the first process.
static int64_t start_utc(struct ggs_reader * reader) {
    struct ggs_process process;
    if (ggs_reader_rows(reader, GGS_TABLE_PROCESSES) == 0) return -1;
    if (ggs_reader_row(reader, GGS_TABLE_PROCESSES, 0, &process, NULL) < 0 || process.realtime_ns == 0 ||
        process.realtime_ns > INT64_MAX / 2)
        return -1;
    return process.begin_ns < 0 ? -1 : (int64_t) process.realtime_ns - process.begin_ns;
}

static int open_names(struct ggs_export * export, struct ggs_error * error) {
    export->start_utc_ns = start_utc(export->trace.reader);
    ggs_uuid_format(export->id, ggs_reader_uuid(export->trace.reader));
    export->names = malloc((export->trace.n_tensors + 1) * sizeof(*export->names));
    if (export->names == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < export->trace.n_tensors; i++)
        export->names[i] =
            ggs_export_valid(export, ggs_reader_string(export->trace.reader, export->trace.tensors[i].name));
    return ggs_metadata_open(&export->facts, &export->trace, error);
}

// At least one of the requested steps must exist.
static int check_steps(struct ggs_export * export, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    if (!export->options->steps) return 0;
    int status = ggs_export_steps(export, &cursor, error);
    if (status == 0) status = ggs_export_next_step(export, cursor, &step, error);
    ggs_cursor_close(cursor);
    if (status == 0)
        return ggs_fail(error, GGS_ABSENT, "this recording has no such %s; ggscope stats tells how many there are",
                        export->trace.tokenless ? "graph run" : "token step");
    return status < 0 ? status : 0;
}

int ggs_export_begin(struct ggs_export * export, const struct ggs_export_options * options, const char * directory,
                     struct ggs_error * error) {
    *export = (struct ggs_export){.options = options, .format = find_format(options->format), .directory = directory};
    int status = options->damaged ? ggs_trace_open_damaged(&export->trace, directory, error)
                                  : ggs_trace_open(&export->trace, directory, error);
    if (status == 0 && ggs_trace_missing(&export->trace) != NULL)
        snprintf(export->warning, sizeof(export->warning), "%s", ggs_trace_missing(&export->trace));
    if (status == 0) status = ggs_selection_make(&export->trace.selection, &export->trace, &options->choice, error);
    return status == 0 ? open_names(export, error) : status;
}

void ggs_export_end(struct ggs_export * export) {
    ggs_metadata_free(export->facts);
    for (uint64_t i = 0; i < export->n_copies; i++) free(export->copies[i]);
    free(export->copies);
    free(export->names);
    free(export->words.nodes);
    ggs_selection_free(export->trace.selection);
    ggs_trace_close(&export->trace);
}

// Creates the folder of OUT and its parents.
static int make_parents(const char * output, struct ggs_error * error) {
    const char * end = output + strlen(output);
    while (end > output + 1 && end[-1] == '/') end--;
    while (end > output && end[-1] != '/') end--;
    char * parent = end <= output + 1 ? NULL : strndup(output, (size_t) (end - output - 1));
    int    status = parent == NULL ? 0 : ggs_make_directories(parent, error);
    free(parent);
    return status;
}

int ggs_export(const struct ggs_export_options * options, const char * directory, struct ggs_export_result * result,
               struct ggs_error * error) {
    struct ggs_export export;
    *result    = (struct ggs_export_result){0};
    int status = ggs_export_refuse(options, error);
    if (status < 0) return status;
    status = ggs_export_begin(&export, options, directory, error);
    if (status == 0) status = check_steps(&export, error);
    if (status == 0) {
        unsigned passes = export.format->passes > 0 ? export.format->passes : ggs_tables_passes(options);
        export.total    = ggs_reader_rows(export.trace.reader, GGS_TABLE_RUNS) * passes;
    }
    struct ggs_lake_entry     entry  = {0};
    struct ggs_export_options inside = *options;
    if (status == 0 && strcmp(options->output, "-") != 0) status = make_parents(options->output, error);
    if (status == 0 && options->lake) {
        status         = ggs_lake_begin(&entry, options->output, export.id, options->force, error);
        inside.output  = entry.temporary;
        export.options = &inside;
    } else if (status == 0 && !is_stream(export.format, options) && export.format->shape != GGS_EXPORT_DATABASE) {
        status = ggs_export_mkdir(&export, NULL, error);
    }
    bool begun = status == 0;
    if (status == 0) status = export.format->write(&export, error);
    if (begun && options->lake) status = ggs_lake_end(&entry, status, error);
    ggs_lake_release(&entry);
    *result = export.result;
    memcpy(result->warning, export.warning, sizeof(result->warning));
    ggs_export_end(&export);
    return status;
}
