// The tables of docs/tables.md as virtual tables of SQLite: a query reads the trace itself, nothing
// is exported first.
//
// A scan is a thread that walks the trace and hands over batches of rows, of the columns that the
// query looks at; its memory does not grow with the recording. A limit on `token` makes it walk
// those token steps only. What a join looks up by a table's key is read once and kept.
#pragma once

#include <stdbool.h>

struct ggs_error;
struct sqlite3;

// Makes a database in memory with all tables and views of the recording. `directory` must outlive
// it; close it with sqlite3_close.
int ggs_virtual_open(struct sqlite3 ** database, const char * directory, bool damaged, struct ggs_error * error);
