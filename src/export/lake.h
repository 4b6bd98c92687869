// A lake: the tables of many experiments below one folder, as DuckDB, Spark and ClickHouse read
// them.
//
//     LAKE/experiment=3c1f.../table=ops/data.parquet
//
// An experiment appears in it whole or not at all: it is written under a hidden name, which readers
// of such folders skip, and then renamed.
#pragma once

#include <stdbool.h>

struct ggs_error;

struct ggs_lake_entry {
    char * place;     // LAKE/experiment=ID
    char * temporary; // where it is written
    bool   force;     // replaces one that is there
};

// Makes the lake and the temporary folder. An experiment that is there is refused unless `force` is
// set. Release it in any case.
int ggs_lake_begin(struct ggs_lake_entry * entry, const char * lake, const char * id, bool force,
                   struct ggs_error * error);
// Gives it its name (status 0), or removes what was written; returns the first failure.
int  ggs_lake_end(struct ggs_lake_entry * entry, int status, struct ggs_error * error);
void ggs_lake_release(struct ggs_lake_entry * entry);
