#include "export/tables/virtual.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "base/text.h"
#include "export/tables/tables.h"

enum { BATCH_ROWS = 1024, STOPPED = -1000 };

// ---- rows in memory ----

// `width` cells each. A text's cell holds its offset in `text`, because that moves when it grows.
struct rows {
    struct ggs_cell * cells;
    uint64_t          n, n_cells, capacity;
    char *            text;
    uint64_t          n_text, text_capacity;
};

static void rows_clear(struct rows * rows) {
    rows->n = rows->n_cells = rows->n_text = 0;
}

static void rows_release(struct rows * rows) {
    free(rows->cells);
    free(rows->text);
    *rows = (struct rows){0};
}

static bool rows_add(struct rows * rows, const struct ggs_flat_table * table, uint64_t columns,
                     const struct ggs_cell * cells) {
    for (unsigned i = 0; i < table->n_fields; i++) {
        struct ggs_cell cell = cells[i];
        if ((columns >> i & 1) == 0) continue;
        if (!cell.null && table->fields[i].type == GGS_CELL_TEXT) {
            if (!ggs_array_reserve(rows->text, rows->text_capacity, rows->n_text + cell.length + 1)) return false;
            memcpy(rows->text + rows->n_text, cell.text, cell.length);
            cell.integer = (int64_t) rows->n_text;
            rows->n_text += cell.length;
        }
        if (!ggs_array_push(rows->cells, rows->n_cells, rows->capacity, cell)) return false;
    }
    rows->n++;
    return true;
}

// ---- tables ----

struct kept { // all rows of a table, by key
    struct rows rows;
    uint64_t    columns; // bit set of columns that were read; 0: not read yet
};

struct table {
    sqlite3_vtab                  base; // must be first
    const struct ggs_flat_table * table;
    const char *                  directory;
    bool                          damaged;
    double                        size;  // estimated number of rows
    int                           token; // the column of token steps that can limit a scan, -1 for none
    struct kept                   kept;
};

struct scan { // shared by the thread and the query
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    struct rows     made, passed; // being filled by the thread; handed over
    bool            full, ended, stop;
    int             status;
};

struct cursor {
    sqlite3_vtab_cursor       base; // must be first
    uint64_t                  columns;
    unsigned                  slot[GGS_FIELDS_MOST], width; // place of each column's cell in a row
    struct ggs_export_options options;
    struct ggs_export export;
    bool                scanning;
    struct scan         scan;
    struct rows         own;  // the current batch
    const struct rows * rows; // own, or the table's kept rows
    uint64_t            at, end, number;
    struct ggs_error    error;
};

static struct table * table_of(const struct cursor * cursor) {
    return (struct table *) cursor->base.pVtab;
}

static int complain(struct table * table, const char * text) {
    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg = sqlite3_mprintf("%s", text);
    return SQLITE_ERROR;
}

// ---- a scan ----

static int hand_over(struct cursor * cursor) {
    struct scan * scan = &cursor->scan;
    pthread_mutex_lock(&scan->lock);
    while (scan->full && !scan->stop) pthread_cond_wait(&scan->changed, &scan->lock);
    bool stop = scan->stop;
    if (!stop) {
        struct rows empty = scan->passed;
        scan->passed      = scan->made;
        scan->made        = empty;
        scan->full        = true;
        rows_clear(&scan->made);
        pthread_cond_signal(&scan->changed);
    }
    pthread_mutex_unlock(&scan->lock);
    return stop ? STOPPED : 0;
}

static int add_row(void * context, const struct ggs_cell * cells, struct ggs_error * error) {
    struct cursor * cursor = context;
    if (!rows_add(&cursor->scan.made, table_of(cursor)->table, cursor->columns, cells)) return ggs_fail_memory(error);
    return cursor->scan.made.n == BATCH_ROWS ? hand_over(cursor) : 0;
}

static void * scan_thread(void * context) {
    struct cursor * cursor = context;
    struct scan *   scan   = &cursor->scan;
    struct ggs_sink sink   = {add_row, cursor, &cursor->export, table_of(cursor)->table, cursor->columns};
    int             status = ggs_sink_fill(&sink, &cursor->error);
    if (status == 0 && scan->made.n > 0) status = hand_over(cursor);
    pthread_mutex_lock(&scan->lock);
    scan->ended  = true;
    scan->status = status;
    pthread_cond_signal(&scan->changed);
    pthread_mutex_unlock(&scan->lock);
    return NULL;
}

static void stop_scan(struct cursor * cursor) {
    struct scan * scan = &cursor->scan;
    if (!cursor->scanning) return;
    pthread_mutex_lock(&scan->lock);
    scan->stop = true;
    pthread_cond_signal(&scan->changed);
    pthread_mutex_unlock(&scan->lock);
    pthread_join(scan->thread, NULL);
    pthread_mutex_destroy(&scan->lock);
    pthread_cond_destroy(&scan->changed);
    rows_release(&scan->made);
    rows_release(&scan->passed);
    ggs_export_end(&cursor->export);
    cursor->scanning = false;
}

// Receives the next batch, none at the end.
static int receive_batch(struct cursor * cursor) {
    struct scan * scan = &cursor->scan;
    pthread_mutex_lock(&scan->lock);
    while (!scan->full && !scan->ended) pthread_cond_wait(&scan->changed, &scan->lock);
    rows_clear(&cursor->own);
    if (scan->full) {
        struct rows empty = cursor->own;
        cursor->own       = scan->passed;
        scan->passed      = empty;
        scan->full        = false;
        pthread_cond_signal(&scan->changed);
    }
    int status = cursor->own.n == 0 && scan->ended ? scan->status : 0;
    pthread_mutex_unlock(&scan->lock);
    cursor->at  = 0;
    cursor->end = cursor->own.n;
    return status < 0 ? complain(table_of(cursor), cursor->error.text) : SQLITE_OK;
}

static int start_scan(struct cursor * cursor) {
    struct table * table  = table_of(cursor);
    int            status = ggs_export_begin(&cursor->export, &cursor->options, table->directory, &cursor->error);
    cursor->scan          = (struct scan){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    if (status < 0 || pthread_create(&cursor->scan.thread, NULL, scan_thread, cursor) != 0) {
        ggs_export_end(&cursor->export);
        return complain(table, status < 0 ? cursor->error.text : "cannot start a thread");
    }
    cursor->scanning = true;
    cursor->rows     = &cursor->own;
    return receive_batch(cursor);
}

// ---- kept rows ----

struct keeping {
    struct table * table;
    struct kept    kept;
};

static int keep_row(void * context, const struct ggs_cell * cells, struct ggs_error * error) {
    struct keeping * keeping = context;
    if (!rows_add(&keeping->kept.rows, keeping->table->table, keeping->kept.columns, cells))
        return ggs_fail_memory(error);
    return 0;
}

static int keep(struct cursor * cursor) {
    struct table * table = table_of(cursor);
    if (table->kept.columns != 0 && (cursor->columns & ~table->kept.columns) == 0) return SQLITE_OK;
    struct keeping  keeping = {table, {.columns = table->kept.columns | cursor->columns}};
    int             status  = ggs_export_begin(&cursor->export, &cursor->options, table->directory, &cursor->error);
    struct ggs_sink sink    = {keep_row, &keeping, &cursor->export, table->table, keeping.kept.columns};
    if (status == 0) status = ggs_sink_fill(&sink, &cursor->error);
    ggs_export_end(&cursor->export);
    if (status < 0) {
        rows_release(&keeping.kept.rows);
        return complain(table, cursor->error.text);
    }
    rows_release(&table->kept.rows); // no cursor reads it: a query looks it up with all its columns from the start
    table->kept = keeping.kept;
    return SQLITE_OK;
}

static void lay_out(struct cursor * cursor, uint64_t columns) {
    cursor->width = 0;
    for (unsigned i = 0; i < table_of(cursor)->table->n_fields; i++) {
        if (columns >> i & 1) cursor->slot[i] = cursor->width++;
    }
}

static int compare(const struct cursor * cursor, const struct ggs_cell * row, const int64_t * keys, unsigned n) {
    int order = 0;
    for (unsigned i = 0; i < n && order == 0; i++) {
        const struct ggs_cell * cell = &row[cursor->slot[i]];
        order                        = cell->null || cell->integer < keys[i] ? -1 : cell->integer > keys[i];
    }
    return order;
}

// Returns the first row that is not below the keys, or the first above them. Rows ascend by key.
static uint64_t search(const struct cursor * cursor, const int64_t * keys, unsigned n, bool above) {
    const struct rows * rows = &table_of(cursor)->kept.rows;
    return ggs_search(rows->n, at, compare(cursor, &rows->cells[at * cursor->width], keys, n) < above);
}

// ---- the module ----

// A plan: the columns, and the arguments of xFilter, one letter each: keys of a lookup, or limits
// of token steps.
//     "k 1f 2"      "t 3 =<"

static int best_index(sqlite3_vtab * base, sqlite3_index_info * info) {
    static const struct {
        int  op;
        char letter;
    } limits[]             = {{SQLITE_INDEX_CONSTRAINT_EQ, '='},
                              {SQLITE_INDEX_CONSTRAINT_GE, ']'},
                              {SQLITE_INDEX_CONSTRAINT_GT, '>'},
                              {SQLITE_INDEX_CONSTRAINT_LE, '['},
                              {SQLITE_INDEX_CONSTRAINT_LT, '<'}};
    struct table * table   = (struct table *) base;
    uint64_t       columns = info->colUsed & ((1ull << table->table->n_fields) - 1);
    unsigned       n_keys = 0, n = 0;
    char           letters[16] = "";
    for (; n_keys < table->table->keys && table->table->fields[n_keys].type == GGS_CELL_INTEGER; n_keys++) {
        int found = -1;
        for (int i = 0; i < info->nConstraint; i++) {
            if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == (int) n_keys &&
                info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
                found = i;
        }
        if (found < 0) break;
        info->aConstraintUsage[found].argvIndex = (int) n_keys + 1;
        columns |= 1ull << n_keys;
    }
    bool looks_up = n_keys > 0 && (int) n_keys - 1 != table->token;
    for (int i = 0; !looks_up && i < info->nConstraint && n < sizeof(letters) - 1; i++) {
        info->aConstraintUsage[i].argvIndex = 0;
        for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
            if (table->token < 0 || !info->aConstraint[i].usable || info->aConstraint[i].iColumn != table->token ||
                info->aConstraint[i].op != limits[k].op)
                continue;
            letters[n++]                        = limits[k].letter;
            info->aConstraintUsage[i].argvIndex = (int) n;
        }
    }
    info->estimatedRows    = looks_up ? 10 : (sqlite3_int64) (n > 0 ? table->size / 10 + 1 : table->size);
    info->estimatedCost    = looks_up ? 20 : 100 * (double) info->estimatedRows + 1000;
    info->idxNum           = (int) n_keys;
    info->idxStr           = sqlite3_mprintf("%c %llx %s", looks_up ? 'k' : 't', (unsigned long long) columns, letters);
    info->needToFreeIdxStr = 1;
    return info->idxStr == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

static void limit_steps(struct cursor * cursor, const char * letters, sqlite3_value ** values) {
    struct ggs_export_options * options = &cursor->options;
    for (unsigned i = 0; letters[i] != '\0'; i++) {
        if (sqlite3_value_type(values[i]) != SQLITE_INTEGER) continue; // SQLite checks every row itself as well
        int64_t value  = sqlite3_value_int64(values[i]);
        options->steps = true;
        if (strchr("=]>", letters[i]) != NULL && value > options->first_step) options->first_step = value;
        if (strchr("=[<", letters[i]) != NULL && value < options->last_step) options->last_step = value;
    }
}

static int filter(sqlite3_vtab_cursor * base, int number, const char * plan, int argc, sqlite3_value ** values) {
    struct cursor *    cursor = (struct cursor *) base;
    struct table *     table  = table_of(cursor);
    unsigned long long columns;
    int                rest                  = 0;
    int64_t            keys[GGS_FIELDS_MOST] = {0};
    stop_scan(cursor);
    if (sscanf(plan + 2, "%llx %n", &columns, &rest) != 1) return SQLITE_ERROR;
    cursor->columns = columns == 0 ? 1 : columns;
    cursor->number  = 0;
    cursor->at = cursor->end = 0;
    cursor->options =
        (struct ggs_export_options){.format = "sqlite", .last_step = INT64_MAX, .damaged = table->damaged};
    if (plan[0] != 'k') {
        limit_steps(cursor, plan + 2 + rest, values);
        lay_out(cursor, cursor->columns);
        rows_clear(&cursor->own);
        return start_scan(cursor);
    }
    for (int i = 0; i < argc && i < number; i++) {
        if (sqlite3_value_type(values[i]) == SQLITE_NULL) return SQLITE_OK; // equals nothing
        keys[i] = sqlite3_value_int64(values[i]);
    }
    int status = keep(cursor);
    if (status != SQLITE_OK) return status;
    lay_out(cursor, table->kept.columns);
    cursor->rows = &table->kept.rows;
    cursor->at   = search(cursor, keys, (unsigned) argc, false);
    cursor->end  = search(cursor, keys, (unsigned) argc, true);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor * base) {
    struct cursor * cursor = (struct cursor *) base;
    cursor->number++;
    cursor->at++;
    return cursor->at == cursor->end && cursor->scanning ? receive_batch(cursor) : SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor * base) {
    const struct cursor * cursor = (const struct cursor *) base;
    return cursor->at >= cursor->end;
}

static int column(sqlite3_vtab_cursor * base, sqlite3_context * context, int i) {
    const struct cursor *   cursor = (const struct cursor *) base;
    const struct ggs_cell * cell   = &cursor->rows->cells[cursor->at * cursor->width + cursor->slot[i]];
    char                    moment[GGS_MOMENT_LENGTH];
    if (cell->null) {
        sqlite3_result_null(context);
        return SQLITE_OK;
    }
    switch (table_of(cursor)->table->fields[i].type) {
        case GGS_CELL_REAL:
            sqlite3_result_double(context, cell->real);
            break;
        case GGS_CELL_TEXT:
            sqlite3_result_text64(context, cursor->rows->text + cell->integer, cell->length, SQLITE_TRANSIENT,
                                  SQLITE_UTF8);
            break;
        case GGS_CELL_TIME:
            sqlite3_result_text(context, ggs_moment_format(moment, cell->integer), -1, SQLITE_TRANSIENT);
            break;
        default:
            sqlite3_result_int64(context, cell->integer);
            break;
    }
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor * base, sqlite3_int64 * id) {
    *id = (sqlite3_int64) ((struct cursor *) base)->number;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab * base, sqlite3_vtab_cursor ** out) {
    struct cursor * cursor = calloc(1, sizeof(*cursor));
    (void) base;
    if (cursor == NULL) return SQLITE_NOMEM;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor * base) {
    struct cursor * cursor = (struct cursor *) base;
    stop_scan(cursor);
    rows_release(&cursor->own);
    free(cursor);
    return SQLITE_OK;
}

struct recording {
    const char * directory;
    bool         damaged;
    double       runs, op_runs;
};

static int token_column(const struct ggs_flat_table * table) {
    static const struct ggs_flat_table * const limited[] = {&ggs_table_ops,     &ggs_table_op_runs, &ggs_table_accesses,
                                                            &ggs_table_experts, &ggs_table_runs,    &ggs_table_inputs};
    for (size_t k = 0; k < sizeof(limited) / sizeof(limited[0]); k++) {
        for (unsigned i = 0; limited[k] == table && i < table->n_fields; i++) {
            if (strcmp(table->fields[i].name, "token") == 0) return (int) i;
        }
    }
    return -1;
}

static int connect_table(sqlite3 * database, void * context, int argc, const char * const * argv, sqlite3_vtab ** out,
                         char ** error) {
    const struct recording *      recording = context;
    const struct ggs_flat_table * flat      = argc < 3 ? NULL : ggs_table_find(argv[2]);
    struct ggs_text               sql       = {0};
    struct ggs_export_options     options   = {.format = "sqlite"};
    (void) error;
    struct table * table = flat == NULL ? NULL : calloc(1, sizeof(*table));
    if (table == NULL) return SQLITE_NOMEM;
    table->table     = flat;
    table->directory = recording->directory;
    table->damaged   = recording->damaged;
    table->size      = flat->walks ? recording->op_runs : recording->runs;
    table->token     = token_column(flat);
    ggs_sql_table(&sql, flat, &options, false);
    int status = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(database, ggs_text_string(&sql));
    ggs_text_release(&sql);
    if (status != SQLITE_OK) {
        free(table);
        return status;
    }
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab * base) {
    struct table * table = (struct table *) base;
    rows_release(&table->kept.rows);
    free(table);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion    = 1,
    .xCreate     = connect_table,
    .xConnect    = connect_table,
    .xBestIndex  = best_index,
    .xDisconnect = disconnect,
    .xDestroy    = disconnect,
    .xOpen       = open_cursor,
    .xClose      = close_cursor,
    .xFilter     = filter,
    .xNext       = next,
    .xEof        = at_end,
    .xColumn     = column,
    .xRowid      = row_id,
};

static int make_tables(sqlite3 * database, struct ggs_error * error) {
    struct ggs_text               sql     = {0};
    struct ggs_export_options     options = {.format = "sqlite"};
    const struct ggs_flat_table * flat;
    for (unsigned i = 0; (flat = ggs_flat_table_at(i)) != NULL; i++)
        ggs_text_printf(&sql, "CREATE VIRTUAL TABLE \"%s\" USING ggscope;\n", flat->name);
    ggs_sql_views(&sql, &options);
    int status = 0;
    if (sql.failed) {
        status = ggs_fail_memory(error);
    } else if (sqlite3_exec(database, ggs_text_string(&sql), NULL, NULL, NULL) != SQLITE_OK) {
        status = ggs_fail(error, GGS_FORMAT, "cannot make the tables: %s", sqlite3_errmsg(database));
    }
    ggs_text_release(&sql);
    return status;
}

int ggs_virtual_open(sqlite3 ** database, const char * directory, bool damaged, struct ggs_error * error) {
    struct ggs_trace   trace;
    struct recording * recording = malloc(sizeof(*recording));
    *database                    = NULL;
    if (recording == NULL) return ggs_fail_memory(error);
    int status = damaged ? ggs_trace_open_damaged(&trace, directory, error) : ggs_trace_open(&trace, directory, error);
    if (status == 0) {
        *recording = (struct recording){directory, damaged, (double) ggs_reader_rows(trace.reader, GGS_TABLE_RUNS) + 1,
                                        (double) ggs_reader_rows(trace.reader, GGS_TABLE_OP_RUNS) + 1};
        ggs_trace_close(&trace);
    }
    if (status < 0) {
        free(recording);
        return status;
    }
    bool open = sqlite3_open(":memory:", database) == SQLITE_OK;
    // From here on the database owns it.
    if (!open || sqlite3_create_module_v2(*database, "ggscope", &module, recording, free) != SQLITE_OK)
        status = ggs_fail(error, GGS_MEMORY, "cannot open a database in memory: %s", sqlite3_errmsg(*database));
    if (!open) free(recording);
    if (status == 0) status = make_tables(*database, error);
    if (status < 0) {
        sqlite3_close(*database);
        *database = NULL;
    }
    return status;
}
