#include "answer/sql.h"

#include "answer/fields.h"

GGS_GET(bool, is_partial, struct ggs_sql_answer, it->partial)

static const struct ggs_field fields[] = {
    GGS_TRUE("partial", GGS_PARTIAL_TEXT, .asked = is_partial),
    GGS_LIST(struct ggs_sql_answer, columns, n_columns, "columns", "names", .one_line = true),
    GGS_STREAM("rows", NULL, "an array per row, with a text, a number or null per column"),
    {0},
};
const struct ggs_object ggs_sql_object = {
    .name   = "SqlResult",
    .text   = "What a query gave: one object for each statement that gives rows.",
    .fields = fields,
    .lines  = true,
};
