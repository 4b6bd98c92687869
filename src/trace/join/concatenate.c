// The tables of a joined trace that are concatenated, and the numbers that their rows get.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "trace/join/merge.h"
#include "trace/seal/runs/lods.h"

void ggs_join_part_release(struct ggs_join_part * part) {
    free(part->strings);
    free(part->files);
    free(part->ops);
    free(part->types);
    free(part->steps);
    free(part->origins);
    free(part->peers);
}

// The largest number in a table's first column.
static int largest(struct ggs_reader * reader, enum ggs_trace_table table, uint64_t * most, struct ggs_error * error) {
    struct ggs_cursor *      cursor;
    const uint64_t * const * words;
    uint64_t                 rows;
    int                      status = ggs_cursor_open(&cursor, reader, table, error);
    *most                           = 0;
    while (status >= 0 && (status = ggs_cursor_next_chunk(cursor, &words, &rows, error)) > 0)
        for (uint64_t i = 0; i < rows; i++)
            if (words[0][i] > *most) *most = words[0][i];
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// Copies a table row by row, one recording after the other. `change` may modify a translated row,
// or reject it.
typedef bool (*change_row)(struct ggs_join_part * part, const void * before, void * row);

static int copy(struct ggs_join_part * part, enum ggs_trace_table table, change_row change, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    uint64_t            row[GGS_COLUMNS_MAX + 1], before[GGS_COLUMNS_MAX + 1];
    int                 status = ggs_cursor_open(&cursor, part->reader, table, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, row, error)) > 0) {
        memcpy(before, row, sizeof(before));
        ggs_join_translate(part, table, row);
        if (change == NULL || change(part, before, row)) ggs_writer_append(part->writer, table, row);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// ---- processes ----

// Formats the process's name and number, and its host if there are several.
static void name_process(struct ggs_join_part * part, const struct ggs_process * row, struct ggs_text * text) {
    const char * path  = ggs_reader_string(part->reader, row->executable);
    const char * slash = strrchr(path, '/');
    ggs_text_printf(text, "%s %s %llu", part->source->host, slash == NULL ? path : slash + 1,
                    (unsigned long long) row->pid);
}

static bool map_process(struct ggs_join_part * part, const void * before, void * row) {
    const struct ggs_join_source * source  = part->source;
    struct ggs_process *           process = row;
    (void) before;
    process->host      = ggs_writer_string(part->writer, source->host, strlen(source->host));
    process->recording = ggs_writer_string(part->writer, source->experiment, strlen(source->experiment));
    process->boot      = ggs_writer_string(part->writer, source->boot, strlen(source->boot));
    process->clock     = source->clock;
    process->offset_ns = source->line.offset_ns;
    process->drift_ppb = source->line.drift_ppb;
    process->error_ns  = source->line.error_ns;
    process->pairs     = source->pairs;
    return true;
}

// ---- files, ops, types ----

// A file that two processes of a machine have opened is one.
static int number_files(struct ggs_join_part * part, struct ggs_map * known, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_file     row;
    uint64_t            most;
    int                 status = largest(part->reader, GGS_TABLE_FILES, &most, error);
    if (status == 0 && most > ggs_reader_rows(part->reader, GGS_TABLE_FILES))
        status = ggs_fail(error, GGS_FORMAT, "%s is damaged: its files have wrong numbers", part->source->path);
    if (status < 0) return status;
    part->n_files = most + 1;
    part->files   = calloc(part->n_files, sizeof(*part->files));
    if (part->files == NULL) return ggs_fail_memory(error);
    status = ggs_cursor_open(&cursor, part->reader, GGS_TABLE_FILES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        uint64_t   key[]  = {part->source->machine, ggs_join_string(part, row.path), row.size, (uint64_t) row.mtime_ns};
        uint64_t   old    = row.file;
        uint64_t * number = ggs_map_put(known, ggs_map_key_of(key, sizeof(key)));
        if (number == NULL) {
            status = ggs_fail_memory(error);
            break;
        }
        bool new = *number == 0;
        if (new) *number = ggs_writer_next_row(part->writer, GGS_TABLE_FILES) + 1;
        part->files[old] = *number;
        ggs_join_translate(part, GGS_TABLE_FILES, &row);
        if (new) ggs_writer_append(part->writer, GGS_TABLE_FILES, &row);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// Numbers of ops and types depend on the engine, so names decide. Numbers of the first recording
// stay. Rows of both tables begin with a number and a name.
static int number_names(struct ggs_join_part * part, enum ggs_trace_table table, uint64_t ** list, uint64_t * n,
                        struct ggs_map * known, uint64_t * next, struct ggs_error * error) {
    enum { MOST = 4096 };
    struct ggs_cursor * cursor;
    uint64_t            row[GGS_COLUMNS_MAX + 1];
    *n    = MOST;
    *list = calloc(MOST, sizeof(**list));
    if (*list == NULL) return ggs_fail_memory(error);
    int status = ggs_cursor_open(&cursor, part->reader, table, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, row, error)) > 0) {
        uint64_t old = row[0], name = ggs_join_string(part, row[1]);
        uint64_t key[] = {name, table == GGS_TABLE_TYPES ? row[2] : 0, table == GGS_TABLE_TYPES ? row[3] : 0};
        if (old >= MOST) continue;
        uint64_t * number = ggs_map_put(known, ggs_map_key_of(key, sizeof(key)));
        if (number == NULL) {
            status = ggs_fail_memory(error);
            break;
        }
        bool new = *number == 0;
        if (new) *number = 1 + (part->process == 0 ? old : *next);
        if (*number > *next) *next = *number;
        (*list)[old] = row[0] = *number - 1;
        row[1]                = name;
        if (new) ggs_writer_append(part->writer, table, row);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// ---- lanes ----

static bool map_lane(struct ggs_join_part * part, const void * before, void * row) {
    const struct ggs_lane * lane = before;
    struct ggs_lane *       to   = row;
    struct ggs_process      process;
    struct ggs_text         text = {0};
    if (ggs_reader_row(part->reader, GGS_TABLE_PROCESSES, lane->process == 0 ? 0 : lane->process - 1, &process, NULL) ==
        0)
        name_process(part, &process, &text);
    ggs_text_printf(&text, ": %s", ggs_reader_string(part->reader, lane->name));
    to->name = ggs_writer_string(part->writer, ggs_text_string(&text), strlen(ggs_text_string(&text)));
    ggs_text_release(&text);
    return true;
}

static bool map_tensor(struct ggs_join_part * part, const void * before, void * row) {
    struct ggs_tensor * tensor = row;
    uint64_t            old    = ((const struct ggs_tensor *) before)->tensor;
    if (part->origins == NULL || old == 0 || old > part->n_tensors || part->origins[old - 1].file == 0) return true;
    if (tensor->source == GGS_SOURCE_DISK || tensor->origin_file != 0) return true;
    tensor->origin_file   = part->origins[old - 1].file;
    tensor->origin_offset = part->origins[old - 1].offset;
    return true;
}

// ---- interface ----

static int number_slots(struct ggs_join_part * part, int64_t * next, struct ggs_error * error) {
    int64_t most = -1;
    for (uint64_t i = 0; i < part->side->n; i++) {
        int64_t slot = part->side->runs[i].slot;
        if (slot < GGS_DEVICE_SLOT && slot > most) most = slot;
    }
    part->slot = *next;
    *next += most + 1;
    if (*next > GGS_DEVICE_SLOT)
        return ggs_fail(error, GGS_USAGE, "the recordings have more than %d graph runs at the same time in all",
                        GGS_DEVICE_SLOT);
    return 0;
}

int ggs_join_number(struct ggs_join_part * parts, uint32_t n, struct ggs_error * error) {
    static const struct {
        enum ggs_trace_table table;
        size_t               base;
        change_row           change; // NULL: in time order, written later
    } tables[] = {
        {GGS_TABLE_PROCESSES, offsetof(struct ggs_join_part, process), map_process},
        {GGS_TABLE_GRAPHS, offsetof(struct ggs_join_part, graph), NULL},
        {GGS_TABLE_TENSORS, offsetof(struct ggs_join_part, tensor), map_tensor},
        {GGS_TABLE_BUFFERS, offsetof(struct ggs_join_part, buffer), NULL},
        {GGS_TABLE_DEVICES, offsetof(struct ggs_join_part, device), NULL},
        {GGS_TABLE_LANES, offsetof(struct ggs_join_part, lane), map_lane},
        {GGS_TABLE_LOADS, offsetof(struct ggs_join_part, load), NULL},
        {GGS_TABLE_SCHEDULES, offsetof(struct ggs_join_part, schedule), NULL},
        {GGS_TABLE_DECODES, offsetof(struct ggs_join_part, decode), NULL},
    };
    enum { N = sizeof(tables) / sizeof(tables[0]), CONCATENATED = 6 };
    static const enum ggs_trace_table rest[] = {GGS_TABLE_CONTEXTS, GGS_TABLE_NODES, GGS_TABLE_EDGES,
                                                GGS_TABLE_MAPPINGS};
    struct ggs_map                    files = {0}, ops = {0}, types = {0};
    uint64_t                          next[N] = {0}, next_op = 0, next_type = 0, contexts = 0;
    int64_t                           slots  = 0;
    int                               status = 0;
    for (uint32_t i = 0; status == 0 && i < n; i++) {
        struct ggs_join_part * part = &parts[i];
        for (unsigned t = 0; status == 0 && t < N; t++) {
            uint64_t most;
            status = largest(part->reader, tables[t].table, &most, error);
            *(uint64_t *) (void *) ((char *) part + tables[t].base) = next[t];
            next[t] += most;
        }
        part->context = contexts;
        contexts += ggs_reader_rows(part->reader, GGS_TABLE_CONTEXTS);
        part->n_strings = ggs_reader_rows(part->reader, GGS_TABLE_STRINGS);
        part->strings   = calloc(part->n_strings + 1, sizeof(*part->strings));
        if (status == 0 && part->strings == NULL) status = ggs_fail_memory(error);
        if (status == 0) status = number_slots(part, &slots, error);
        if (status == 0) status = number_files(part, &files, error);
        if (status == 0) status = number_names(part, GGS_TABLE_OPS, &part->ops, &part->n_ops, &ops, &next_op, error);
        if (status == 0)
            status = number_names(part, GGS_TABLE_TYPES, &part->types, &part->n_types, &types, &next_type, error);
    }
    if (status == 0) status = ggs_join_origins(parts, n, error);
    for (unsigned t = 0; t < CONCATENATED; t++)
        for (uint32_t i = 0; status == 0 && i < n; i++)
            status = copy(&parts[i], tables[t].table, tables[t].change, error);
    for (unsigned t = 0; t < sizeof(rest) / sizeof(rest[0]); t++)
        for (uint32_t i = 0; status == 0 && i < n; i++) status = copy(&parts[i], rest[t], NULL, error);
    ggs_map_release(&files);
    ggs_map_release(&ops);
    ggs_map_release(&types);
    return status;
}
