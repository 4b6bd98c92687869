#include "serve/routes/columns.h"

#include <string.h>

#include "base/error.h"

static const struct {
    const char * name;
    size_t       size;
} cells[] = {[GGS_COLUMNS_U8] = {"u8", 1},   [GGS_COLUMNS_U16] = {"u16", 2}, [GGS_COLUMNS_I16] = {"i16", 2},
             [GGS_COLUMNS_U32] = {"u32", 4}, [GGS_COLUMNS_I32] = {"i32", 4}, [GGS_COLUMNS_F64] = {"f64", 8}};

void ggs_columns_begin(struct ggs_columns * columns, uint64_t rows, int64_t base_ns) {
    columns->n      = 0;
    columns->header = (struct ggs_text){0};
    columns->body   = (struct ggs_text){0};
    ggs_json_init(&columns->json, ggs_json_to_text, &columns->header, false);
    ggs_json_object(&columns->json, NULL);
    ggs_json_u64(&columns->json, "rows", rows);
    ggs_json_i64(&columns->json, "base_ns", base_ns);
}

void ggs_columns_add(struct ggs_columns * columns, const char * name, enum ggs_columns_type cell, const void * first,
                     size_t stride, uint64_t rows) {
    if (columns->n == GGS_COLUMNS_MOST) {
        columns->body.failed = true;
        return;
    }
    size_t size                        = cells[cell].size;
    columns->column[columns->n].name   = name;
    columns->column[columns->n].cell   = cell;
    columns->column[columns->n].offset = columns->body.length;
    columns->column[columns->n].rows   = rows;
    columns->n++;
    for (uint64_t i = 0; i < rows; i++) ggs_text_append(&columns->body, (const char *) first + i * stride, size);
    while (columns->body.length % 8 != 0 && !columns->body.failed) ggs_text_putc(&columns->body, '\0');
}

static void write_list(struct ggs_columns * columns) {
    struct ggs_json * json = &columns->json;
    ggs_json_array(json, "columns");
    for (unsigned i = 0; i < columns->n; i++) {
        ggs_json_object(json, NULL);
        ggs_json_string(json, "name", columns->column[i].name);
        ggs_json_string(json, "type", cells[columns->column[i].cell].name);
        ggs_json_u64(json, "offset", columns->column[i].offset);
        ggs_json_u64(json, "rows", columns->column[i].rows);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

int ggs_columns_end(struct ggs_columns * columns, struct ggs_reply * reply, struct ggs_error * error) {
    write_list(columns);
    bool failed = ggs_json_finish(&columns->json) != 0 || columns->header.failed || columns->body.failed;
    while (columns->header.length % 8 != 0 && !columns->header.failed) ggs_text_putc(&columns->header, ' ');
    uint32_t numbers[3] = {1, (uint32_t) columns->header.length, 0};
    reply->type         = ggs_type_columns;
    ggs_text_append(&reply->body, "GGSC", 4);
    ggs_text_append(&reply->body, (const char *) numbers, sizeof(numbers));
    ggs_text_append(&reply->body, columns->header.data, columns->header.length);
    ggs_text_append(&reply->body, columns->body.data, columns->body.length);
    ggs_columns_discard(columns);
    return failed || reply->body.failed ? ggs_fail_memory(error) : 0;
}

void ggs_columns_discard(struct ggs_columns * columns) {
    ggs_text_release(&columns->header);
    ggs_text_release(&columns->body);
}
