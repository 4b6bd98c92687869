// The tables' schema as SQL for DuckDB and SQLite, and views over the tables.
#include <string.h>

#include "base/text.h"
#include "export/tables/tables.h"

void ggs_sql_table(struct ggs_text * sql, const struct ggs_flat_table * table,
                   const struct ggs_export_options * options, bool keys) {
    // DuckDB's BIGINT, DOUBLE and TIMESTAMP have affinity INTEGER, REAL and NUMERIC in SQLite.
    static const char * const types[GGS_CELL_TYPES] = {[GGS_CELL_INTEGER] = "BIGINT",
                                                       [GGS_CELL_BOOLEAN] = "BOOLEAN",
                                                       [GGS_CELL_REAL]    = "DOUBLE",
                                                       [GGS_CELL_TEXT]    = "TEXT",
                                                       [GGS_CELL_TIME]    = "TIMESTAMP"};
    ggs_text_printf(sql, "CREATE TABLE \"%s\" (", table->name);
    for (unsigned i = 0; i < table->n_fields; i++)
        ggs_text_printf(sql, "%s\"%s\" %s%s", i == 0 ? "" : ", ", table->fields[i].name, types[table->fields[i].type],
                        ggs_table_field_nullable(&table->fields[i]) ? "" : " NOT NULL");
    for (unsigned i = 0; keys && i < table->keys; i++)
        ggs_text_printf(sql, "%s\"%s\"%s", i == 0 ? ", PRIMARY KEY (" : ", ", table->fields[i].name,
                        i + 1 == table->keys ? ")" : "");
    for (const struct ggs_foreign_key * key = table->foreign; keys && key->table != NULL; key++) {
        if (!ggs_table_wanted(options, ggs_table_find(key->table))) continue;
        ggs_text_printf(sql, ", FOREIGN KEY (%s) REFERENCES \"%s\" (%s)", key->columns, key->table,
                        key->theirs != NULL ? key->theirs : key->columns);
    }
    // Rows come in order of their key, so a table that is its own index grows at its end.
    ggs_text_puts(sql, keys && table->keys > 0 ? ") WITHOUT ROWID;\n" : ");\n");
}

static const struct {
    const char * name;
    const char * tables[4];
    const char * select;
} views[] = {
    {"op_totals",
     {"ops"},
     "SELECT op, count(*) - count(fused_into) AS ops, sum(duration_ns) AS duration_ns, sum(busy_ns) AS busy_ns, sum(wait_ns) AS wait_ns, "
     "sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written FROM ops GROUP BY op"},
    {"layer_totals",
     {"ops"},
     "SELECT layer, count(*) - count(fused_into) AS ops, sum(duration_ns) AS duration_ns, sum(busy_ns) AS busy_ns, sum(wait_ns) AS wait_ns, "
     "sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written FROM ops GROUP BY layer"},
    {"token_totals",
     {"ops", "tokens"},
     "SELECT t.token, t.phase, t.begin_ns, t.end_ns - t.begin_ns AS duration_ns, count(o.node) - count(o.fused_into) AS ops, "
     "sum(o.busy_ns) AS busy_ns, sum(o.wait_ns) AS wait_ns, sum(o.bytes_read) AS bytes_read, "
     "sum(o.bytes_written) AS bytes_written, sum(o.bytes_disk) AS bytes_disk FROM tokens t "
     "LEFT JOIN ops o ON o.token = t.token GROUP BY t.token, t.phase, t.begin_ns, t.end_ns"},
    {"weight_reads",
     {"accesses", "tensors", "files"},
     "SELECT t.name, f.path, a.source, count(*) AS reads, sum(a.bytes) AS bytes FROM accesses a "
     "JOIN tensors t ON t.tensor = a.tensor JOIN files f ON f.file = a.file WHERE a.slot IS NOT NULL "
     "GROUP BY t.name, f.path, a.source"},
};

void ggs_sql_views(struct ggs_text * sql, const struct ggs_export_options * options) {
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        bool all = true;
        for (unsigned k = 0; k < 4 && views[i].tables[k] != NULL; k++)
            all = all && ggs_table_wanted(options, ggs_table_find(views[i].tables[k]));
        if (all) ggs_text_printf(sql, "CREATE VIEW %s AS %s;\n", views[i].name, views[i].select);
    }
}
