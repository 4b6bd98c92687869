#include "answer/columns.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"

static const struct cell {
    const char * name;
    size_t       size;
} cells[] = {
    [GGS_FIELD_U8] = {"u8", 1},   [GGS_FIELD_U16] = {"u16", 2}, [GGS_FIELD_I16] = {"i16", 2},
    [GGS_FIELD_U32] = {"u32", 4}, [GGS_FIELD_INT] = {"i32", 4}, [GGS_FIELD_DOUBLE] = {"f64", 8},
};
static const char * const cell_names[] = {"u8", "u16", "i16", "u32", "i32", "f64", NULL};

static const struct ggs_field head_fields[] = {
    GGS_FIELD(struct ggs_columns, rows, "rows"),
    GGS_FIELD(struct ggs_columns, base_ns, "base_ns", "what column begin_ns counts from"),
    {0},
};
const struct ggs_object ggs_columns_head = {.fields = head_fields};

static const struct ggs_field column_fields[] = {
    GGS_FIELD(struct ggs_columns_one, name, "name"),
    GGS_FIELD(struct ggs_columns_one, type, "type", "of a value; little endian", .words = cell_names),
    GGS_FIELD(struct ggs_columns_one, offset, "offset", "from the end of the header"),
    GGS_FIELD(struct ggs_columns_one, rows, "rows"),
    {0},
};
const struct ggs_object ggs_columns_one_object = {.fields = column_fields};

void ggs_columns_begin(struct ggs_columns * columns, uint64_t rows, int64_t base_ns) {
    *columns = (struct ggs_columns){.rows = rows, .base_ns = base_ns};
}

static void add(struct ggs_columns * columns, const struct ggs_field * field, const void * first, size_t stride) {
    const struct cell * cell = &cells[field->type];
    if (columns->n == GGS_COLUMNS_MOST || cell->size == 0) {
        columns->body.failed = true;
        return;
    }
    columns->column[columns->n++] =
        (struct ggs_columns_one){field->key, cell->name, columns->body.length, columns->rows};
    for (uint64_t i = 0; i < columns->rows; i++)
        ggs_text_append(&columns->body, (const char *) first + i * stride, cell->size);
    while (columns->body.length % 8 != 0 && !columns->body.failed) ggs_text_putc(&columns->body, '\0');
}

void ggs_columns_add(struct ggs_columns * columns, const struct ggs_object * object, const void * first,
                     size_t stride) {
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++)
        add(columns, field, columns->rows == 0 ? NULL : (const char *) first + field->offset, stride);
}

void ggs_columns_add_one(struct ggs_columns * columns, const struct ggs_object * object, const char * key,
                         const void * first, size_t stride) {
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++)
        if (strcmp(field->key, key) == 0) add(columns, field, first, stride);
}

int ggs_columns_end(struct ggs_columns * columns, const struct ggs_object * header, const struct ggs_trace * trace,
                    struct ggs_text * out, struct ggs_error * error) {
    struct ggs_json json;
    struct ggs_text text = {0};
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_answer_write(&json, header, columns, trace);
    bool failed = ggs_json_finish(&json) != 0 || text.failed || columns->body.failed;
    while (text.length % 8 != 0 && !text.failed) ggs_text_putc(&text, ' ');
    uint32_t numbers[3] = {1, (uint32_t) text.length, 0};
    ggs_text_append(out, "GGSC", 4);
    ggs_text_append(out, (const char *) numbers, sizeof(numbers));
    ggs_text_append(out, text.data, text.length);
    ggs_text_append(out, columns->body.data, columns->body.length);
    ggs_text_release(&text);
    ggs_columns_discard(columns);
    return failed || out->failed ? ggs_fail_memory(error) : 0;
}

void ggs_columns_discard(struct ggs_columns * columns) {
    ggs_text_release(&columns->body);
}
