#include <stdlib.h>

#include "trace/reader-private.h"

#include "base/search.h"

struct ggs_cursor {
    struct ggs_reader *       reader;
    enum ggs_trace_table      table;
    const struct ggs_schema * schema;
    int                       begin, end, duration, wait; // columns, -1 for none
    // Limits:
    uint64_t first_row, last_row;
    int64_t  first_key, last_key;
    int64_t  begin_ns, end_ns;
    int64_t  first_step, last_step;
    int      step; // column of the step, -1 if found by run
    bool     has_keys, has_times, has_steps;
    // Position:
    uint64_t            entry;     // the next one to read
    uint64_t            chunk_row; // number of the block's first row
    uint32_t            position;  // in the block
    uint64_t            row;
    struct ggs_block    block;
    uint64_t            decoded;      // the entry that `block` has, plus 1; 0: none
    uint32_t            decoded_rows; // of that entry; block.rows is 0 until it is reached again
    struct ggs_scratch  scratch;
    const uint64_t *    moved[GGS_COLUMNS_MAX]; // the block's columns from `position` on
    struct ggs_cursor * runs;                   // for steps of op runs
    struct ggs_run      run;
};

int ggs_cursor_open(struct ggs_cursor ** out, struct ggs_reader * reader, enum ggs_trace_table table,
                    struct ggs_error * error) {
    const struct ggs_schema * schema = ggs_trace_schema(table);
    *out                             = NULL;
    if (schema == NULL) return ggs_fail(error, GGS_USAGE, "there is no table %d", (int) table);
    struct ggs_cursor * cursor = calloc(1, sizeof(*cursor));
    if (cursor == NULL) return ggs_fail_memory(error);
    *cursor = (struct ggs_cursor){.reader   = reader,
                                  .table    = table,
                                  .schema   = schema,
                                  .begin    = ggs_schema_role(schema, GGS_ROLE_BEGIN),
                                  .end      = ggs_schema_role(schema, GGS_ROLE_END),
                                  .duration = ggs_schema_role(schema, GGS_ROLE_DURATION),
                                  .wait     = ggs_schema_role(schema, GGS_ROLE_WAIT),
                                  .last_row = UINT64_MAX};
    *out    = cursor;
    return 0;
}

void ggs_cursor_close(struct ggs_cursor * cursor) {
    if (cursor == NULL) return;
    ggs_cursor_close(cursor->runs);
    ggs_block_release(&cursor->block);
    free(cursor->scratch.data);
    free(cursor);
}

void ggs_cursor_rewind(struct ggs_cursor * cursor) {
    cursor->entry      = 0;
    cursor->position   = 0;
    cursor->block.rows = 0;
    cursor->run.run    = 0;
    if (cursor->first_row > 0) cursor->entry = ggs_reader_find_row(cursor->reader, cursor->table, cursor->first_row);
    if (cursor->runs != NULL) ggs_cursor_rewind(cursor->runs);
}

void ggs_cursor_range(struct ggs_cursor * cursor, uint64_t first_row, uint64_t rows) {
    cursor->first_row = first_row;
    cursor->last_row  = rows > UINT64_MAX - first_row ? UINT64_MAX : first_row + rows;
    ggs_cursor_rewind(cursor);
}

void ggs_cursor_keys(struct ggs_cursor * cursor, int64_t first, int64_t last) {
    cursor->has_keys  = cursor->schema->key >= 0;
    cursor->first_key = first;
    cursor->last_key  = last;
    ggs_cursor_rewind(cursor);
}

void ggs_cursor_times(struct ggs_cursor * cursor, int64_t begin_ns, int64_t end_ns) {
    cursor->has_times = cursor->begin >= 0;
    cursor->begin_ns  = begin_ns;
    cursor->end_ns    = end_ns;
    ggs_cursor_rewind(cursor);
}

// Runs of the steps first..last have numbers between the smallest and the largest of these steps.
static int runs_of_steps(struct ggs_cursor * cursor, struct ggs_error * error) {
    struct ggs_cursor * steps;
    struct ggs_step     step  = {0};
    uint64_t            first = UINT64_MAX, last = 0;
    int                 more, status             = ggs_cursor_open(&steps, cursor->reader, GGS_TABLE_STEPS, error);
    if (status != 0 || steps == NULL) return status;
    ggs_cursor_keys(steps, cursor->first_step, cursor->last_step);
    while ((more = ggs_cursor_next(steps, &step, error)) > 0) {
        if (step.runs == 0) continue;
        if (step.first_run < first) first = step.first_run;
        if (step.last_run > last) last = step.last_run;
    }
    ggs_cursor_close(steps);
    if (more < 0) return more;
    if (cursor->table != GGS_TABLE_RUNS && cursor->runs == NULL) {
        status = ggs_cursor_open(&cursor->runs, cursor->reader, GGS_TABLE_RUNS, error);
        if (status != 0) return status;
    }
    if (first > INT64_MAX) first = 1; // no such step has runs: an empty range
    if (last > INT64_MAX) last = INT64_MAX;
    if (cursor->runs != NULL) ggs_cursor_keys(cursor->runs, (int64_t) first, (int64_t) last);
    ggs_cursor_keys(cursor, (int64_t) first, (int64_t) last);
    return 0;
}

int ggs_cursor_steps(struct ggs_cursor * cursor, int64_t first, int64_t last, struct ggs_error * error) {
    static const int columns[GGS_TABLE_COUNT] = {
        [GGS_TABLE_RUNS] = 4,   [GGS_TABLE_OP_RUNS] = -1, [GGS_TABLE_INDEX] = -1,
        [GGS_TABLE_TOKENS] = 0, [GGS_TABLE_STEPS] = 0,    [GGS_TABLE_DECODES] = 2};
    cursor->first_step = first;
    cursor->last_step  = last;
    cursor->step       = columns[cursor->table];
    cursor->has_steps  = false;
    int status         = 0;
    switch (cursor->table) {
        case GGS_TABLE_RUNS:
        case GGS_TABLE_OP_RUNS:
        case GGS_TABLE_INDEX:
            status = runs_of_steps(cursor, error);
            break;
        case GGS_TABLE_TOKENS:
        case GGS_TABLE_STEPS:
            ggs_cursor_keys(cursor, first, last);
            break;
        case GGS_TABLE_DECODES:
            ggs_cursor_rewind(cursor);
            break;
        default:
            return ggs_fail(error, GGS_USAGE, "rows of the table %s belong to no step", cursor->schema->name);
    }
    cursor->has_steps = status == 0;
    return status;
}

// ---- chunks ----

// In a sorted table, the first entry that may contain the first key.
static uint64_t first_entry(const struct ggs_cursor * cursor) {
    const struct ggs_directory * directory = &cursor->reader->tables[cursor->table];
    if (cursor->entry >= directory->entries) return cursor->entry;
    const struct ggs_index_entry * entries = cursor->reader->entries + directory->first;
    return cursor->entry + ggs_search(directory->entries - cursor->entry, at,
                                      entries[cursor->entry + at].header.last_key < cursor->first_key);
}

static bool excluded(const struct ggs_cursor * cursor, const struct ggs_chunk_header * header) {
    return header->first_row >= cursor->last_row || header->first_row + header->rows <= cursor->first_row ||
           (cursor->has_keys && (header->last_key < cursor->first_key || header->first_key > cursor->last_key)) ||
           (cursor->has_times && (header->begin_ns >= cursor->end_ns || header->end_ns < cursor->begin_ns));
}

// A chunk that was read last is not decoded again.
static int decode(struct ggs_cursor * cursor, uint64_t number, const struct ggs_index_entry * entry,
                  struct ggs_error * error) {
    if (cursor->decoded == number + 1) {
        cursor->block.rows = cursor->decoded_rows;
        return 0;
    }
    cursor->decoded      = 0;
    int status           = ggs_reader_chunk(cursor->reader, entry, &cursor->block, &cursor->scratch, error);
    cursor->decoded      = status == 0 ? number + 1 : 0;
    cursor->decoded_rows = status == 0 ? cursor->block.rows : 0;
    return status;
}

// Reads the next chunk within the limits: returns 1, 0 at the end, or negative.
static int load(struct ggs_cursor * cursor, struct ggs_error * error) {
    uint64_t entries   = cursor->reader->tables[cursor->table].entries;
    cursor->block.rows = cursor->position = 0;
    if (cursor->has_keys && cursor->schema->sorted) cursor->entry = first_entry(cursor);
    while (cursor->entry < entries) {
        struct ggs_index_entry entry;
        uint64_t               number = cursor->entry++;
        int                    status = ggs_reader_entry(cursor->reader, cursor->table, number, &entry, error);
        bool                   skip   = cursor->reader->skip_damaged;
        if (status == GGS_FORMAT && skip) continue;
        if (status != 0) return status;
        if (cursor->has_keys && cursor->schema->sorted && entry.header.first_key > cursor->last_key) break;
        if (entry.header.first_row >= cursor->last_row) break;
        if (excluded(cursor, &entry.header)) continue;
        status = decode(cursor, number, &entry, error);
        if (status != 0) {
            cursor->block.rows = 0;
            if (status == GGS_FORMAT && skip) continue;
            return status;
        }
        cursor->chunk_row = entry.header.first_row;
        if (cursor->first_row > cursor->chunk_row)
            cursor->position = (uint32_t) (cursor->first_row - cursor->chunk_row);
        return 1;
    }
    cursor->entry = entries;
    return 0;
}

int ggs_cursor_next_chunk(struct ggs_cursor * cursor, const uint64_t * const ** words, uint64_t * rows,
                          struct ggs_error * error) {
    if (cursor->position >= cursor->block.rows) {
        int status = load(cursor, error);
        if (status <= 0) return status;
    }
    for (uint32_t w = 0; w < cursor->schema->n_words; w++) cursor->moved[w] = cursor->block.words[w] + cursor->position;
    *words      = cursor->moved;
    cursor->row = cursor->chunk_row + cursor->position;
    *rows       = cursor->block.rows - cursor->position;
    if (*rows > cursor->last_row - cursor->row) *rows = cursor->last_row - cursor->row;
    cursor->position = cursor->block.rows;
    return *rows > 0;
}

// ---- rows ----

static bool in_time(const struct ggs_cursor * cursor, uint32_t i) {
    uint64_t * const * words = cursor->block.words;
    int64_t            begin = (int64_t) words[cursor->begin][i], end = begin;
    if (begin >= cursor->end_ns) return false;
    if (cursor->end >= 0) end = (int64_t) words[cursor->end][i] < begin ? INT64_MAX : (int64_t) words[cursor->end][i];
    uint64_t length = 0;
    if (cursor->duration >= 0) length += words[cursor->duration][i];
    if (cursor->wait >= 0) length += words[cursor->wait][i];
    if (length > (uint64_t) (INT64_MAX - (end < 0 ? 0 : end))) return true;
    end += (int64_t) length;
    return end > cursor->begin_ns || begin >= cursor->begin_ns;
}

// Returns 1 if the row's run belongs to one of the steps, 0 if not, or a negative status. Runs
// ascend in both tables.
static int in_steps(struct ggs_cursor * cursor, uint32_t i, struct ggs_error * error) {
    int64_t step;
    if (cursor->step >= 0) {
        step = (int64_t) cursor->block.words[cursor->step][i];
    } else {
        uint64_t run = cursor->block.words[0][i];
        while (cursor->run.run < run) {
            int more = ggs_cursor_next(cursor->runs, &cursor->run, error);
            if (more < 0) return more;
            if (more == 0) cursor->run = (struct ggs_run){.run = UINT64_MAX, .step = -1};
        }
        if (cursor->run.run != run) return 0;
        step = cursor->run.step;
    }
    return step >= cursor->first_step && step <= cursor->last_step;
}

int ggs_cursor_next(struct ggs_cursor * cursor, void * row, struct ggs_error * error) {
    for (;;) {
        if (cursor->position >= cursor->block.rows) {
            int status = load(cursor, error);
            if (status <= 0) return status;
        }
        uint32_t i  = cursor->position++;
        cursor->row = cursor->chunk_row + i;
        if (cursor->row >= cursor->last_row) return 0;
        if (cursor->has_keys) {
            int64_t key = (int64_t) cursor->block.words[cursor->schema->key][i];
            if (key < cursor->first_key || key > cursor->last_key) continue;
        }
        if (cursor->has_times && !in_time(cursor, i)) continue;
        if (cursor->has_steps) {
            int in = in_steps(cursor, i, error);
            if (in < 0) return in;
            if (in == 0) continue;
        }
        uint64_t * const * words = cursor->block.words;
        for (uint32_t w = 0; w < cursor->schema->n_words; w++) ((uint64_t *) row)[w] = words[w][i];
        return 1;
    }
}

uint64_t ggs_cursor_row(const struct ggs_cursor * cursor) {
    return cursor->row;
}
