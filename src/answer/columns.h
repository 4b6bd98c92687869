// Answers in binary columns, for data that is too large for JSON (docs/http-api.md has the layout).
// A JSON header lists the columns and further facts; its struct begins with a struct ggs_columns:
//
//     struct ggs_bins_header header = {.level = 3};
//     ggs_columns_begin(&header.columns, n, base_ns);
//     ggs_columns_add(&header.columns, &ggs_bins_columns, bins, sizeof(*bins));
//     ggs_columns_end(&header.columns, &ggs_bins_object, trace, &out, error);
#pragma once

#include "answer/fields.h"
#include "base/text.h"

struct ggs_error;

enum { GGS_COLUMNS_MOST = 24 };

struct ggs_columns {
    uint64_t        rows;
    int64_t         base_ns;
    struct ggs_text body;
    unsigned        n;
    struct ggs_columns_one {
        const char *name, *type; // constant
        uint64_t    offset, rows;
    } column[GGS_COLUMNS_MOST];
};

// Members of a header: these come first, the list of columns last.
extern const struct ggs_object ggs_columns_head, ggs_columns_one_object;
#define GGS_COLUMNS_HEAD GGS_MEMBERS_OF(&ggs_columns_head)
#define GGS_COLUMNS_LIST(columns_)                                                                        \
    GGS_ROWS(struct ggs_columns, column, n, "columns", &ggs_columns_one_object, "where each column lies", \
             .inside = true, .columns = (columns_))

void ggs_columns_begin(struct ggs_columns * columns, uint64_t rows, int64_t base_ns);
// Adds a column per field of `object`, with the values of one struct per row, `stride` bytes apart.
void ggs_columns_add(struct ggs_columns * columns, const struct ggs_object * object, const void * first, size_t stride);
// Adds the column of one field with the given values.
void ggs_columns_add_one(struct ggs_columns * columns, const struct ggs_object * object, const char * key,
                         const void * first, size_t stride);
// Appends everything to `out` and releases the columns. `header` describes the struct whose first
// member is `columns`.
int  ggs_columns_end(struct ggs_columns * columns, const struct ggs_object * header, const struct ggs_trace * trace,
                     struct ggs_text * out, struct ggs_error * error);
void ggs_columns_discard(struct ggs_columns * columns);
