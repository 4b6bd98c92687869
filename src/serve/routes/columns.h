// Binary columns, for what is too much for JSON (docs/server.md has the layout):
//
//     struct ggs_columns columns;
//     ggs_columns_begin(&columns, n, base_ns);
//     ggs_json_u64(&columns.json, "level", 3);                                     // more about it, as members of the header
//     ggs_columns_add(&columns, "lane", GGS_COLUMNS_U16, &rows[0].lane, sizeof(rows[0]), n);
//     ggs_columns_end(&columns, answer, error);
#pragma once

#include <stdint.h>

#include "base/json.h"
#include "serve/reply.h"

enum ggs_columns_type {
    GGS_COLUMNS_U8,
    GGS_COLUMNS_U16,
    GGS_COLUMNS_I16,
    GGS_COLUMNS_U32,
    GGS_COLUMNS_I32,
    GGS_COLUMNS_F64
};

enum { GGS_COLUMNS_MOST = 24 };

struct ggs_columns {
    struct ggs_json json; // the header, an object that is open
    struct ggs_text header, body;
    unsigned        n;
    struct {
        const char *          name; // constant
        enum ggs_columns_type cell;
        uint64_t              offset, rows;
    } column[GGS_COLUMNS_MOST];
};

void ggs_columns_begin(struct ggs_columns * columns, uint64_t rows, int64_t base_ns);
// Takes a member of `rows` structs that lie `stride` bytes apart.
void ggs_columns_add(struct ggs_columns * columns, const char * name, enum ggs_columns_type cell, const void * first,
                     size_t stride, uint64_t rows);
// Puts it into the answer, and releases it.
int  ggs_columns_end(struct ggs_columns * columns, struct ggs_reply * reply, struct ggs_error * error);
void ggs_columns_discard(struct ggs_columns * columns);
