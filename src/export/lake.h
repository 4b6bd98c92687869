// A lake: the tables of many experiments below one folder, in the layout that DuckDB, Spark and
// ClickHouse read.
//
//     LAKE/experiment=3c1f.../table=ops/data.parquet
//
// An experiment appears whole or not at all: it is written under a hidden name, which readers skip,
// and then renamed.
#pragma once

#include <stdbool.h>

struct ggs_error;

struct ggs_lake_entry {
    char * place;     // LAKE/experiment=ID
    char * temporary; // where it is written
    bool   force;     // replaces an existing one
};

// Creates the lake and the temporary folder. An existing experiment is refused unless `force` is
// set. Release the entry even after a failure.
int ggs_lake_begin(struct ggs_lake_entry * entry, const char * lake, const char * id, bool force,
                   struct ggs_error * error);
// Renames the folder (status 0) or removes it. Returns the first failure.
int  ggs_lake_end(struct ggs_lake_entry * entry, int status, struct ggs_error * error);
void ggs_lake_release(struct ggs_lake_entry * entry);
