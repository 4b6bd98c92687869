#include "answer/fields.h"

#include "base/json.h"

static void put_signed(struct ggs_json * json, const char * key, int64_t value, bool or_null) {
    if (or_null && value < 0) {
        ggs_json_null(json, key);
    } else {
        ggs_json_i64(json, key, value);
    }
}

static void put_unsigned(struct ggs_json * json, const char * key, uint64_t value, bool or_null) {
    if (or_null && value == 0) {
        ggs_json_null(json, key);
    } else {
        ggs_json_u64(json, key, value);
    }
}

static void put_text(struct ggs_json * json, const char * key, const char * text, bool or_null) {
    ggs_json_string(json, key, or_null && text != NULL && text[0] == '\0' ? NULL : text);
}

static void put_field(struct ggs_json * json, const char * key, const struct ggs_field * field, const void * object) {
    const void * at = (const char *) object + field->offset;
    switch (field->type) {
        case GGS_FIELD_U64:
            if (field->word != NULL) {
                ggs_json_string(json, key, field->word(*(const uint64_t *) at));
            } else {
                put_unsigned(json, key, *(const uint64_t *) at, field->or_null);
            }
            break;
        case GGS_FIELD_FLAG:
            ggs_json_bool(json, key, *(const uint64_t *) at != 0);
            break;
        case GGS_FIELD_U32:
            put_unsigned(json, key, *(const uint32_t *) at, field->or_null);
            break;
        case GGS_FIELD_I64:
            put_signed(json, key, *(const int64_t *) at, field->or_null);
            break;
        case GGS_FIELD_INT:
            put_signed(json, key, *(const int *) at, field->or_null);
            break;
        case GGS_FIELD_BOOL:
            ggs_json_bool(json, key, *(const bool *) at);
            break;
        case GGS_FIELD_DOUBLE:
            ggs_json_double(json, key, *(const double *) at);
            break;
        case GGS_FIELD_STRING:
            put_text(json, key, *(const char * const *) at, field->or_null);
            break;
        case GGS_FIELD_CHARS:
            put_text(json, key, at, field->or_null);
            break;
    }
}

void ggs_fields_members(struct ggs_json * json, const struct ggs_field * fields, const void * object) {
    for (; fields->key != NULL; fields++) put_field(json, fields->key, fields, object);
}

void ggs_fields_object(struct ggs_json * json, const char * key, const struct ggs_field * fields, const void * object) {
    ggs_json_object_inline(json, key);
    ggs_fields_members(json, fields, object);
    ggs_json_end(json);
}

void ggs_fields_rows(struct ggs_json * json, const char * key, const struct ggs_field * fields, const void * first,
                     size_t stride, uint64_t n) {
    ggs_json_array(json, key);
    for (uint64_t i = 0; i < n; i++) ggs_fields_object(json, NULL, fields, (const char *) first + i * stride);
    ggs_json_end(json);
}

void ggs_fields_lists(struct ggs_json * json, const struct ggs_field * fields, const void * first, size_t stride,
                      uint64_t n) {
    for (; fields->key != NULL; fields++) {
        ggs_json_array_inline(json, fields->key);
        for (uint64_t i = 0; i < n; i++) put_field(json, NULL, fields, (const char *) first + i * stride);
        ggs_json_end(json);
    }
}
