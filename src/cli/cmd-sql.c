// ggscope sql DIR 'SELECT ...': queries the tables of a recording without an export.
#include <argp.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/sql.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/scaffold/newest.h"
#include "cli/scaffold/verb.h"
#include "export/tables/virtual.h"

struct arguments {
    struct ggs_input input;
    bool             csv;
    bool             partial; // the recording is incomplete
};
#define AT(member) offsetof(struct arguments, member)

// ---- csv and json: row by row ----

static void put_csv(const char * text) {
    if (text == NULL) return;
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void csv_names(sqlite3_stmt * statement) {
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        if (i > 0) putchar(',');
        put_csv(sqlite3_column_name(statement, i));
    }
    fputs("\r\n", stdout);
}

static void csv_row(sqlite3_stmt * statement) {
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        if (i > 0) putchar(',');
        put_csv((const char *) sqlite3_column_text(statement, i));
    }
    fputs("\r\n", stdout);
}

static void json_row(struct ggs_json * json, sqlite3_stmt * statement) {
    ggs_json_array_inline(json, NULL);
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        switch (sqlite3_column_type(statement, i)) {
            case SQLITE_INTEGER:
                ggs_json_i64(json, NULL, sqlite3_column_int64(statement, i));
                break;
            case SQLITE_FLOAT:
                ggs_json_double(json, NULL, sqlite3_column_double(statement, i));
                break;
            case SQLITE_NULL:
                ggs_json_null(json, NULL);
                break;
            default:
                ggs_json_string(json, NULL, (const char *) sqlite3_column_text(statement, i));
                break;
        }
    }
    ggs_json_end(json);
}

// ---- box: its width depends on all rows ----

struct box {
    char **  cells;
    size_t   n, capacity;
    int      columns;
    size_t * widths;
    bool *   numbers; // right-aligned
};

static bool box_add(struct box * box, const char * text) {
    char * copy = strdup(text == NULL ? "" : text);
    for (char * c = copy; c != NULL && *c != '\0'; c++) {
        if ((unsigned char) *c < 0x20 || *c == 0x7f) *c = ' '; // one line, no controls
    }
    if (copy == NULL || !ggs_array_push(box->cells, box->n, box->capacity, copy)) {
        free(copy);
        return false;
    }
    size_t width = ggs_terminal_columns(copy), column = (box->n - 1) % (size_t) box->columns;
    if (width > box->widths[column]) box->widths[column] = width;
    return true;
}

static bool box_start(struct box * box, sqlite3_stmt * statement) {
    box->columns = sqlite3_column_count(statement);
    box->widths  = calloc((size_t) box->columns, sizeof(*box->widths));
    box->numbers = calloc((size_t) box->columns, sizeof(*box->numbers));
    bool good    = box->widths != NULL && box->numbers != NULL;
    for (int i = 0; i < box->columns && good; i++) {
        box->numbers[i] = true;
        good            = box_add(box, sqlite3_column_name(statement, i));
    }
    return good;
}

static bool box_row(struct box * box, sqlite3_stmt * statement) {
    bool good = true;
    for (int i = 0; i < box->columns && good; i++) {
        int type = sqlite3_column_type(statement, i);
        if (type == SQLITE_TEXT || type == SQLITE_BLOB) box->numbers[i] = false;
        good = box_add(box, (const char *) sqlite3_column_text(statement, i));
    }
    return good;
}

static void box_rule(const struct box * box, const char * left, const char * middle, const char * right) {
    for (int i = 0; i < box->columns; i++) {
        fputs(i == 0 ? left : middle, stdout);
        for (size_t k = 0; k < box->widths[i] + 2; k++) fputs("─", stdout);
    }
    puts(right);
}

static void box_print(const struct box * box) {
    box_rule(box, "┌", "┬", "┐");
    for (size_t at = 0; at < box->n; at++) {
        size_t column  = at % (size_t) box->columns;
        int    padding = (int) (box->widths[column] - ggs_terminal_columns(box->cells[at]));
        bool   right   = box->numbers[column] && at >= (size_t) box->columns;
        printf("%s %*s%s%*s ", "│", right ? padding : 0, "", box->cells[at], right ? 0 : padding, "");
        if (column + 1 == (size_t) box->columns) puts("│");
        if (at + 1 == (size_t) box->columns) box_rule(box, "├", "┼", "┤");
    }
    box_rule(box, "└", "┴", "┘");
}

static void box_release(struct box * box) {
    for (size_t i = 0; i < box->n; i++) free(box->cells[i]);
    free(box->cells);
    free(box->widths);
    free(box->numbers);
}

// ---- statements ----

// Refuses statements that change data: the change would exist only in memory, until the query ends.
static int allow(void * nothing, int action, const char * name, const char * of, const char * schema,
                 const char * trigger) {
    (void) nothing, (void) name, (void) of, (void) trigger;
    static const int changes[] = {SQLITE_INSERT,       SQLITE_UPDATE,       SQLITE_DELETE,       SQLITE_ALTER_TABLE,
                                  SQLITE_CREATE_TABLE, SQLITE_CREATE_VIEW,  SQLITE_CREATE_INDEX, SQLITE_CREATE_TRIGGER,
                                  SQLITE_DROP_TABLE,   SQLITE_DROP_VIEW,    SQLITE_DROP_INDEX,   SQLITE_DROP_TRIGGER,
                                  SQLITE_DROP_VTABLE,  SQLITE_CREATE_VTABLE};
    // The schema of ALTER TABLE is its first name.
    const char * in = action == SQLITE_ALTER_TABLE ? name : schema;
    if (in == NULL || strcmp(in, "main") != 0) return SQLITE_OK;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        if (action == changes[i]) return SQLITE_DENY;
    return SQLITE_OK;
}

static int fail(sqlite3 * database, struct ggs_error * error) {
    if (sqlite3_errcode(database) == SQLITE_AUTH)
        return ggs_fail(
            error, GGS_USAGE,
            "the tables of a recording are read-only; CREATE TEMP TABLE makes one for the statements that follow");
    return ggs_fail(error, GGS_FORMAT, "%s", sqlite3_errmsg(database));
}

static bool json_begin(struct ggs_json * json, sqlite3_stmt * statement, bool partial) {
    int           n     = sqlite3_column_count(statement);
    const char ** names = calloc((size_t) n + 1, sizeof(*names));
    if (names == NULL) return false;
    for (int i = 0; i < n; i++) names[i] = sqlite3_column_name(statement, i);
    struct ggs_sql_answer answer = {partial, names, (uint64_t) n};
    ggs_object_begin(json, &ggs_sql_object, &answer, NULL);
    free(names);
    return true;
}

static int each_row(sqlite3_stmt * statement, const struct arguments * arguments, struct ggs_json * json,
                    struct box * box, struct ggs_error * error) {
    bool good = true;
    int  result;
    while (good && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        if (arguments->input.json) {
            json_row(json, statement);
        } else if (arguments->csv) {
            csv_row(statement);
        } else {
            good = box_row(box, statement);
        }
    }
    if (!good) return ggs_fail_memory(error);
    return result == SQLITE_DONE ? 0 : fail(sqlite3_db_handle(statement), error);
}

static int answer(sqlite3_stmt * statement, const struct arguments * arguments, struct ggs_error * error) {
    struct ggs_json json;
    struct box      box  = {0};
    bool            good = true;
    if (arguments->input.json) {
        ggs_json_init(&json, ggs_json_to_file, stdout, true);
        good = json_begin(&json, statement, arguments->partial);
    } else if (arguments->csv) {
        csv_names(statement);
    } else {
        good = box_start(&box, statement);
    }
    int status = good ? each_row(statement, arguments, &json, &box, error) : ggs_fail_memory(error);
    if (arguments->input.json) {
        if (good) ggs_object_end(&json, &ggs_sql_object, NULL, NULL);
        if (ggs_json_finish(&json) != 0 && status == 0) status = -1;
    } else if (!arguments->csv && status == 0) {
        box_print(&box);
    }
    box_release(&box);
    return status;
}

static int execute(sqlite3 * database, const char * sql, const struct arguments * arguments, struct ggs_error * error) {
    int status = 0;
    while (status == 0 && *sql != '\0') {
        sqlite3_stmt * statement = NULL;
        if (sqlite3_prepare_v2(database, sql, -1, &statement, &sql) != SQLITE_OK) return fail(database, error);
        if (statement == NULL) continue; // blanks and comments
        if (sqlite3_column_count(statement) > 0) {
            status = answer(statement, arguments, error);
        } else if (sqlite3_step(statement) != SQLITE_DONE) {
            status = fail(database, error);
        }
        sqlite3_finalize(statement);
    }
    return status;
}

static int read_stdin(struct ggs_text * text, struct ggs_error * error) {
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof(buffer) - 1, stdin)) > 0;) {
        buffer[n] = '\0';
        ggs_text_puts(text, buffer);
    }
    return text->failed ? ggs_fail_memory(error) : 0;
}

static int query(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments = input;
    const char *       path      = arguments->input.n > 1 ? arguments->input.paths[0] : arguments->input.newest;
    const char *       sql       = arguments->input.paths[arguments->input.n - 1];
    sqlite3 *          database  = NULL;
    struct ggs_trace   trace     = {0};
    struct ggs_text    text      = {0};
    int                status    = 0;
    (void) traces;
    if (arguments->input.n == 1) {
        status = ggs_newest_find(arguments->input.newest, error);
        if (status == 0 && !arguments->input.quiet) fprintf(stderr, "ggscope: %s, the newest recording here\n", path);
    }
    if (status == 0 && strcmp(sql, "-") == 0) {
        status = read_stdin(&text, error);
        sql    = ggs_text_string(&text);
    }
    if (status == 0) status = ggs_verb_open(&trace, path, &arguments->input, error);
    if (status == 0) {
        arguments->partial = ggs_trace_missing(&trace) != NULL;
        ggs_trace_close(&trace);
    }
    if (status == 0) status = ggs_virtual_open(&database, path, arguments->input.damaged, error);
    if (status == 0) sqlite3_set_authorizer(database, allow, NULL);
    if (status == 0) status = execute(database, sql, arguments, error);
    sqlite3_close(database);
    ggs_text_release(&text);
    return status;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (arguments->csv && arguments->input.json) argp_error(state, "--csv and --json exclude each other");
}

int cmd_sql(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_SWITCH("csv", 0, "As CSV", 1, AT(csv)), GGS_OPTION_JSON(1), GGS_OPTION_DAMAGED(1), {0}};
    static const struct ggs_verb verb = {
        .operands = "[DIR] SQL",
        .least    = 1,
        .most     = 2,
        .options  = options,
        .check    = check,
        .run      = query,
        .text =
            "Query the tables of a recording in SQL, without an export: they are virtual tables of SQLite over the trace. SQL is one or more statements, or - for standard input.\vggscope export --tables lists the tables and their columns; those that the examples of the man page use are a good start."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
