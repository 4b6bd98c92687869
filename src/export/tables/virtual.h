// The tables of docs/tables.md as virtual tables of SQLite: queries read the trace itself, without
// an export.
//
// A scan is a thread that walks the trace and passes batches of rows with the needed columns; its
// memory does not grow with the recording. A limit on `token` restricts the walk to those token
// steps. Rows that a join looks up by key are read once and kept.
#pragma once

#include <stdbool.h>

struct ggs_error;
struct sqlite3;

// Makes an in-memory database with all tables and views of the recording. `directory` must outlive
// it; close it with sqlite3_close.
int ggs_virtual_open(struct sqlite3 ** database, const char * directory, bool damaged, struct ggs_error * error);
