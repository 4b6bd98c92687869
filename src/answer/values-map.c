#include "answer/pictures.h"
#include "answer/values-diff.h"

// ---- cells ----

#define CELL(member, ...) GGS_FIELD(struct ggs_value_cell, member, #member, __VA_ARGS__)

static const struct ggs_field cell_fields[] = {
    CELL(value, "the largest one, or the worst error, of the outputs that share the cell"),
    CELL(allowed, "for an error: the size that inputs and rounding explain; infinite if not known"),
    CELL(run, "that computed it"),
    CELL(node, "of that run's graph"),
    CELL(marks, "bits: 1 recorded, 2 has NaN, 4 has infinities, 8 wrong"),
    {0},
};
const struct ggs_object ggs_values_map_columns = {.fields = cell_fields};

// ---- lines ----

#define LINE(get, ...) GGS_GET_TEXT(get, struct ggs_value_line, __VA_ARGS__)
LINE(op_of, it->node->op)
LINE(name_of, it->node->name)
LINE(key_of, ggs_value_key(it->node, room, GGS_ROOM))
LINE(verdict_of, it->compared == NULL ? NULL : ggs_value_verdict_word(it->compared->verdict))
GGS_GET(int64_t, layer_of, struct ggs_value_line, it->node->layer)
GGS_GET(bool, is_compared, struct ggs_value_line, it->compared != NULL)

static const struct ggs_field line_fields[] = {
    GGS_TEXT("op", op_of, "op; the first one, if several share the line"),
    GGS_TEXT("name", name_of, ""),
    GGS_TEXT("key", key_of, "kind and name, and a count for the second of several"),
    GGS_NATURAL("layer", layer_of, ""),
    GGS_FIELD(struct ggs_value_line, ops, "ops", "ops that share the line"),
    GGS_TEXT("verdict", verdict_of, "for two recordings: the worst of these ops", .asked = is_compared),
    {0},
};
static const struct ggs_object line = {.name = "ValuesLine", .fields = line_fields};

// ---- columns of the grid ----

#define COLUMN(member) GGS_FIELD_OR_NULL(struct ggs_value_column, member, #member)

static const struct ggs_field column_fields[] = {
    COLUMN(token),
    COLUMN(last_token),
    COLUMN(position),
    COLUMN(last_position),
    GGS_FIELD(struct ggs_value_column, tokens, "tokens", "tokens that share it"),
    {0},
};
static const struct ggs_object column = {.name = "ValuesColumn", .fields = column_fields};

// ---- the header ----

GGS_GET_VIEW(grid_of, struct ggs_values_header, it->grid)
GGS_GET_TEXT(by_of, struct ggs_value_grid, it->by_layer ? "layer" : "op")

static const struct ggs_field grid_fields[] = {
    GGS_TEXT("by", by_of, "what a line stands for; layers if there are more than 1024 ops",
             .words = (const char * const[]){"op", "layer", NULL}),
    GGS_FIELD(struct ggs_value_grid, tokens, "tokens", "tokens of all token steps, in the window or not"),
    GGS_FIELD(struct ggs_value_grid, n_columns, "n_columns"),
    GGS_ROWS(struct ggs_value_grid, column, n_columns, "places", &column, "what each column stands for"),
    GGS_ROWS(struct ggs_value_grid, line, n_lines, "lines", &line, "layers in order"),
    {0},
};
static const struct ggs_object grid = {.fields = grid_fields};

static const struct ggs_field fields[] = {
    GGS_COLUMNS_HEAD,
    GGS_FIELD(struct ggs_values_header, of, "of", "what column value holds",
              .words = (const char * const[]){"rms", "largest", "error", NULL}),
    GGS_MEMBERS_VIEW(grid_of, &grid),
    GGS_COLUMNS_LIST(&ggs_values_map_columns),
    {0},
};
const struct ggs_object ggs_values_map_object = {
    .name   = "ValuesMap",
    .text   = "What ops computed, or how far it is from another recording: a grid of ops and tokens, line by line; at "
              "most 40,000 cells.",
    .fields = fields,
};
