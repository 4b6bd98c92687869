// Tables as an SQLite database.
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/tables/tables.h"

struct database {
    sqlite3 *                     handle;
    sqlite3_stmt *                insert;
    const struct ggs_flat_table * table;
    const char *                  path;
};

static int fail(struct database * db, struct ggs_error * error) {
    // SQLite reports a full disk as such; for other failures errno says more.
    int reason = sqlite3_system_errno(db->handle);
    if ((sqlite3_errcode(db->handle) & 0xff) == SQLITE_FULL) reason = ENOSPC;
    return ggs_fail(error, GGS_IO, "cannot write the database %s: %s", db->path,
                    reason != 0 ? strerror(reason) : sqlite3_errmsg(db->handle));
}

static int execute(struct database * db, const char * sql, struct ggs_error * error) {
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(db, error);
}

static int put_row(void * context, const struct ggs_cell * cells, struct ggs_error * error) {
    struct database * db = context;
    for (unsigned i = 0; i < db->table->n_fields; i++) {
        int at = (int) i + 1;
        if (cells[i].null) {
            sqlite3_bind_null(db->insert, at);
        } else if (db->table->fields[i].type == GGS_CELL_REAL) {
            sqlite3_bind_double(db->insert, at, cells[i].real);
        } else if (db->table->fields[i].type == GGS_CELL_TIME) {
            char moment[GGS_MOMENT_LENGTH];
            sqlite3_bind_text(db->insert, at, ggs_moment_format(moment, cells[i].integer), -1, SQLITE_TRANSIENT);
        } else if (db->table->fields[i].type != GGS_CELL_TEXT) {
            sqlite3_bind_int64(db->insert, at, cells[i].integer);
        } else {
            sqlite3_bind_text64(db->insert, at, cells[i].text, cells[i].length, SQLITE_STATIC, SQLITE_UTF8);
        }
    }
    int result = sqlite3_step(db->insert);
    sqlite3_reset(db->insert);
    return result == SQLITE_DONE ? 0 : fail(db, error);
}

static int write_table(struct ggs_export * export, struct database * db, struct ggs_error * error) {
    struct ggs_text sql = {0};
    ggs_sql_table(&sql, db->table, export->options, true);
    int status = sql.failed ? ggs_fail_memory(error) : execute(db, ggs_text_string(&sql), error);
    ggs_text_clear(&sql);
    ggs_text_printf(&sql, "INSERT INTO \"%s\" VALUES (", db->table->name);
    for (unsigned i = 0; i < db->table->n_fields; i++) ggs_text_puts(&sql, i == 0 ? "?" : ",?");
    ggs_text_puts(&sql, ")");
    if (status == 0 && sqlite3_prepare_v2(db->handle, ggs_text_string(&sql), -1, &db->insert, NULL) != SQLITE_OK)
        status = fail(db, error);
    ggs_text_release(&sql);
    struct ggs_sink sink = {put_row, db, export, db->table, 0};
    if (status == 0) status = ggs_sink_fill(&sink, error);
    sqlite3_finalize(db->insert);
    db->insert = NULL;
    return status;
}

static int write_all(struct ggs_export * export, struct database * db, struct ggs_error * error) {
    // The file is temporary until it is complete: it need not survive a crash.
    int status = execute(db,
                         "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                         "PRAGMA cache_size = -32768; BEGIN",
                         error);
    for (unsigned i = 0; status >= 0 && (db->table = ggs_flat_table_at(i)) != NULL; i++) {
        if (ggs_table_wanted(export->options, db->table)) status = write_table(export, db, error);
    }
    if (status == 0 && ggs_table_wanted(export->options, ggs_table_find("accesses")))
        status = execute(db, "CREATE INDEX accesses_of_op ON accesses (run, node)", error);
    struct ggs_text views = {0};
    ggs_sql_views(&views, export->options);
    if (status == 0) status = views.failed ? ggs_fail_memory(error) : execute(db, ggs_text_string(&views), error);
    ggs_text_release(&views);
    return status < 0 ? status : execute(db, "COMMIT", error);
}

int ggs_export_sqlite(struct ggs_export * export, struct ggs_error * error) {
    struct database   db = {.path = export->options->output};
    struct ggs_output output;
    struct stat       facts;
    int               status = ggs_output_open_named(&output, db.path, error);
    if (status < 0) return status;
    if (sqlite3_open(output.temporary, &db.handle) != SQLITE_OK) status = fail(&db, error);
    if (status == 0) status = write_all(export, &db, error);
    if (sqlite3_close(db.handle) != SQLITE_OK && status == 0) status = fail(&db, error);
    bool unchanged = false;
    if (status == 0 && stat(output.temporary, &facts) == 0) export->result.bytes += (uint64_t) facts.st_size;
    if (status < 0) {
        ggs_output_discard(&output);
        return status;
    }
    status = ggs_output_commit_changed(&output, &unchanged, error);
    export->result.files++;
    export->result.unchanged += unchanged;
    return status;
}
