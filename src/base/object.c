#include "base/object.h"

#include <stdint.h>

#include "base/json.h"

bool ggs_field_nullable(const struct ggs_field * field) {
    return field->or_null || field->known != NULL;
}

bool ggs_field_ends(const struct ggs_field * field) {
    return field->key == NULL && field->type == 0;
}

static bool is_unsigned(enum ggs_field_type type) {
    return type == GGS_FIELD_U64 || type == GGS_FIELD_U32 || type == GGS_FIELD_U16 || type == GGS_FIELD_U8;
}

// Reads a member as a number; unsigned ones keep their bits.
static int64_t number_at(enum ggs_field_type type, const void * at) {
    switch (type) {
        case GGS_FIELD_U32:
            return *(const uint32_t *) at;
        case GGS_FIELD_INT:
            return *(const int *) at;
        case GGS_FIELD_U16:
            return *(const uint16_t *) at;
        case GGS_FIELD_I16:
            return *(const int16_t *) at;
        case GGS_FIELD_U8:
            return *(const uint8_t *) at;
        default:
            return *(const int64_t *) at;
    }
}

// ---- one value ----

static void put_string(struct ggs_json * json, const char * key, const struct ggs_field * field, const char * text) {
    ggs_json_string(json, key, field->or_null && text != NULL && text[0] == '\0' ? NULL : text);
}

static void put_number(struct ggs_json * json, const char * key, const struct ggs_field * field, int64_t number,
                       const void * context) {
    bool from_0 = is_unsigned(field->type);
    if (field->word != NULL) {
        put_string(json, key, field, field->word((uint64_t) number));
    } else if (field->number != NULL) {
        put_string(json, key, field, field->number(context, (uint64_t) number));
    } else if (field->or_null && (from_0 ? number == 0 : number < 0)) {
        ggs_json_null(json, key);
    } else if (from_0) {
        ggs_json_u64(json, key, (uint64_t) number);
    } else {
        ggs_json_i64(json, key, number);
    }
}

static void put_text(struct ggs_json * json, const char * key, const struct ggs_field * field, const void * it,
                     const void * context) {
    char         room[GGS_ROOM];
    size_t       length = SIZE_MAX;
    const char * text   = field->string(it, context, room, &length);
    if (text == NULL || length == SIZE_MAX) {
        put_string(json, key, field, text);
    } else {
        ggs_json_string_n(json, key, text, length);
    }
}

static void put_value(struct ggs_json * json, const char * key, const struct ggs_field * field, const void * it,
                      const void * context);

// ---- many values ----

static struct ggs_list find_many(const struct ggs_field * field, const void * it) {
    const char * at = (const char *) it + field->offset;
    return (struct ggs_list){field->inside ? at : *(const void * const *) at,
                             (uint64_t) number_at(field->count_type, (const char *) it + field->count), field->stride};
}

static void put_list(struct ggs_json * json, const char * key, const struct ggs_field * field, const void * it,
                     const void * context) {
    _Alignas(max_align_t) char room[GGS_ROOM];
    const struct ggs_field     element = {
            .type = field->element, .word = field->word, .number = field->number, .or_null = field->or_null};
    if ((field->element == GGS_FIELD_STRING || field->element == GGS_FIELD_CHARS) && !field->one_line) {
        ggs_json_array(json, key);
    } else {
        ggs_json_array_inline(json, key);
    }
    if (field->each) {
        uint64_t i = 0;
        for (const void * entry; (entry = field->next(it, context, &i, room)) != NULL;)
            put_value(json, NULL, &element, entry, context);
    } else {
        struct ggs_list list = field->list != NULL ? field->list(it, context, room) : find_many(field, it);
        for (uint64_t i = 0; i < list.n; i++)
            put_value(json, NULL, &element, (const char *) list.first + i * list.stride, context);
    }
    ggs_json_end(json);
}

static void put_rows(struct ggs_json * json, const char * key, const struct ggs_field * field, const void * it,
                     const void * context) {
    if (field->object->tuple) {
        ggs_json_array_inline(json, key);
    } else {
        ggs_json_array(json, key);
    }
    if (field->next != NULL) {
        _Alignas(max_align_t) char room[GGS_ROOM];
        uint64_t                   i = 0;
        for (const void * row; (row = field->next(it, context, &i, room)) != NULL;)
            ggs_object_write(json, NULL, field->object, row, context);
    } else {
        struct ggs_list list = find_many(field, it);
        for (uint64_t i = 0; i < list.n; i++)
            ggs_object_write(json, NULL, field->object, (const char *) list.first + i * list.stride, context);
    }
    ggs_json_end(json);
}

// Writes an array per field into the open object.
static void put_columns(struct ggs_json * json, const struct ggs_object * object, struct ggs_list list,
                        const void * context) {
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++) {
        if (field->type == GGS_FIELD_MEMBERS) {
            struct ggs_list part = {(const char *) list.first + field->offset, list.n, list.stride};
            put_columns(json, field->object, part, context);
            continue;
        }
        ggs_json_array_inline(json, field->key);
        for (uint64_t i = 0; i < list.n; i++)
            put_value(json, NULL, field, (const char *) list.first + i * list.stride, context);
        ggs_json_end(json);
    }
}

static void put_pairs(struct ggs_json * json, const struct ggs_field * field, const void * it, const void * context) {
    const char * at = it;
    for (const struct ggs_field * one = field->object->fields; !ggs_field_ends(one); one++) {
        ggs_json_object_inline(json, one->key);
        put_value(json, "a", one, at + field->offset, context);
        put_value(json, "b", one, at + field->count, context);
        ggs_json_end(json);
    }
}

// ---- fields ----

static const void * find_object(const struct ggs_field * field, const void * it, const void * context, void * room) {
    return field->view != NULL ? field->view(it, context, room) : (const char *) it + field->offset;
}

static void put_parts(struct ggs_json * json, const char * key, const struct ggs_field * field, const void * it,
                      const void * context) {
    _Alignas(max_align_t) char room[GGS_ROOM];
    const void *               object = NULL;
    if (field->type == GGS_FIELD_OBJECT || field->type == GGS_FIELD_MEMBERS) {
        object = find_object(field, it, context, room);
        if (object == NULL && field->view != NULL) {
            ggs_json_null(json, key);
        } else if (field->type == GGS_FIELD_OBJECT) {
            ggs_object_write(json, key, field->object, object, context);
        } else {
            ggs_object_members(json, field->object, object, context);
        }
        return;
    }
    if (key != NULL) ggs_json_object(json, key);
    if (field->type == GGS_FIELD_PAIRS) {
        put_pairs(json, field, it, context);
    } else {
        put_columns(json, field->object, find_many(field, it), context);
    }
    if (key != NULL) ggs_json_end(json);
}

static void put_value(struct ggs_json * json, const char * key, const struct ggs_field * field, const void * it,
                      const void * context) {
    const void * at = (const char *) it + field->offset;
    if (field->known != NULL && !field->known(it, context)) {
        ggs_json_null(json, key);
        return;
    }
    switch (field->type) {
        case GGS_FIELD_U64:
        case GGS_FIELD_I64:
        case GGS_FIELD_U32:
        case GGS_FIELD_INT:
        case GGS_FIELD_U16:
        case GGS_FIELD_I16:
        case GGS_FIELD_U8:
            put_number(json, key, field, number_at(field->type, at), context);
            break;
        case GGS_FIELD_INTEGER:
            put_number(json, key, field, field->integer(it, context), context);
            break;
        case GGS_FIELD_FLAG:
            ggs_json_bool(json, key, *(const uint64_t *) at != 0);
            break;
        case GGS_FIELD_BOOL:
            ggs_json_bool(json, key, *(const bool *) at);
            break;
        case GGS_FIELD_TEST:
            ggs_json_bool(json, key, field->test(it, context));
            break;
        case GGS_FIELD_TRUE:
            ggs_json_bool(json, key, true);
            break;
        case GGS_FIELD_DOUBLE:
            ggs_json_double(json, key, *(const double *) at);
            break;
        case GGS_FIELD_REAL:
            ggs_json_double(json, key, field->real(it, context));
            break;
        case GGS_FIELD_STRING:
            put_string(json, key, field, *(const char * const *) at);
            break;
        case GGS_FIELD_CHARS:
            put_string(json, key, field, at);
            break;
        case GGS_FIELD_TEXT:
            put_text(json, key, field, it, context);
            break;
        case GGS_FIELD_LIST:
            put_list(json, key, field, it, context);
            break;
        case GGS_FIELD_ROWS:
            put_rows(json, key, field, it, context);
            break;
        case GGS_FIELD_ANY:
            field->put(json, key, it, context);
            break;
        case GGS_FIELD_STREAM: // see ggs_object_begin
            break;
        case GGS_FIELD_OBJECT:
        case GGS_FIELD_MEMBERS:
        case GGS_FIELD_COLUMNS:
        case GGS_FIELD_PAIRS:
            put_parts(json, key, field, it, context);
            break;
    }
}

static void put_field(struct ggs_json * json, const struct ggs_field * field, bool keys, const void * it,
                      const void * context) {
    if (field->asked == NULL || field->asked(it, context))
        put_value(json, keys ? field->key : NULL, field, it, context);
}

// ---- objects ----

static void open_object(struct ggs_json * json, const char * key, const struct ggs_object * object) {
    if (object->tuple) {
        ggs_json_array_inline(json, key);
    } else if (object->lines) {
        ggs_json_object(json, key);
    } else {
        ggs_json_object_inline(json, key);
    }
}

void ggs_object_members(struct ggs_json * json, const struct ggs_object * object, const void * it,
                        const void * context) {
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++)
        put_field(json, field, !object->tuple, it, context);
}

void ggs_object_write(struct ggs_json * json, const char * key, const struct ggs_object * object, const void * it,
                      const void * context) {
    open_object(json, key, object);
    ggs_object_members(json, object, it, context);
    ggs_json_end(json);
}

static const struct ggs_field * find_stream(const struct ggs_object * object) {
    const struct ggs_field * field = object->fields;
    while (field->type != GGS_FIELD_STREAM) field++;
    return field;
}

void ggs_object_begin(struct ggs_json * json, const struct ggs_object * object, const void * it, const void * context) {
    const struct ggs_field * stream = find_stream(object);
    open_object(json, NULL, object);
    for (const struct ggs_field * field = object->fields; field != stream; field++)
        put_field(json, field, true, it, context);
    ggs_json_array(json, stream->key);
}

void ggs_object_row(struct ggs_json * json, const struct ggs_object * object, const void * row, const void * context) {
    ggs_object_write(json, NULL, find_stream(object)->object, row, context);
}

void ggs_object_end(struct ggs_json * json, const struct ggs_object * object, const void * it, const void * context) {
    ggs_json_end(json);
    for (const struct ggs_field * field = find_stream(object) + 1; !ggs_field_ends(field); field++)
        put_field(json, field, true, it, context);
    ggs_json_end(json);
}
