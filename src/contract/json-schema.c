// JSON Schema, 2020-12. Every object lists all its possible keys.
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/json.h"
#include "contract/contract.h"

static void put_object(struct ggs_json * json, const struct ggs_object * object, bool or_null, bool columns);

static void put_type(struct ggs_json * json, const char * name, bool or_null) {
    if (!or_null) {
        ggs_json_string(json, "type", name);
        return;
    }
    ggs_json_array_inline(json, "type");
    ggs_json_string(json, NULL, name);
    ggs_json_string(json, NULL, "null");
    ggs_json_end(json);
}

static void put_words(struct ggs_json * json, const struct ggs_field * field, bool or_null) {
    unsigned     i    = 0;
    const char * word = ggs_field_next_word(field, &i);
    if (word == NULL) return;
    ggs_json_array_inline(json, "enum");
    for (; word != NULL; word = ggs_field_next_word(field, &i)) ggs_json_string(json, NULL, word);
    if (or_null) ggs_json_null(json, NULL);
    ggs_json_end(json);
}

static void put_scalar(struct ggs_json * json, const struct ggs_field * field, bool or_null) {
    static const char * const names[] = {"integer", "number", "boolean", "string"};
    enum ggs_kind             kind    = ggs_field_kind(field);
    put_type(json, names[kind], or_null);
    if (kind == GGS_KIND_TEXT) put_words(json, field, or_null);
    if (field->pattern != NULL) ggs_json_string(json, "pattern", field->pattern);
    if (field->least > 0) {
        ggs_json_double(json, "minimum", field->least);
    } else if (field->most > 0 || field->from_0 || (kind == GGS_KIND_INTEGER && ggs_field_from_0(field))) {
        ggs_json_u64(json, "minimum", 0);
    }
    if (field->most > 0) ggs_json_double(json, "maximum", field->most);
}

// A row of a query: one value per column.
static void put_any_row(struct ggs_json * json) {
    put_type(json, "array", false);
    ggs_json_object(json, "items");
    ggs_json_array_inline(json, "type");
    ggs_json_string(json, NULL, "string");
    ggs_json_string(json, NULL, "number");
    ggs_json_string(json, NULL, "null");
    ggs_json_end(json);
    ggs_json_end(json);
}

// A list of binary columns: possible names as an enum.
static void put_columns(struct ggs_json * json, const struct ggs_field * field) {
    const char *     names[GGS_KEYS_MOST + 1] = {NULL};
    struct ggs_field fields[8]                = {{0}};
    unsigned         n                        = 0;
    ggs_field_column_names(field, names);
    for (; !ggs_field_ends(&field->object->fields[n]); n++) fields[n] = field->object->fields[n];
    fields[0].words = names;
    put_object(json, &(struct ggs_object){.fields = fields}, false, false);
}

static void put_array(struct ggs_json * json, const struct ggs_field * field) {
    put_type(json, "array", field->known != NULL);
    if (field->items > 0) ggs_json_u64(json, "maxItems", field->items);
    ggs_json_object(json, "items");
    if (field->type == GGS_FIELD_LIST) {
        put_scalar(json, field, field->or_null);
    } else if (field->object == NULL) {
        put_any_row(json);
    } else if (field->columns != NULL) {
        put_columns(json, field);
    } else {
        put_object(json, field->object, false, false);
    }
    ggs_json_end(json);
}

static void put_pairs(struct ggs_json * json, const struct ggs_object * object) {
    put_type(json, "object", false);
    ggs_json_object(json, "properties");
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++) {
        struct ggs_field sides[] = {*field, *field, {0}};
        sides[0].key = "a", sides[1].key = "b";
        ggs_json_object(json, field->key);
        put_object(json, &(struct ggs_object){.fields = sides}, false, false);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_array_inline(json, "required");
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++)
        ggs_json_string(json, NULL, field->key);
    ggs_json_end(json);
    ggs_json_bool(json, "additionalProperties", false);
}

// Writes the type of a value into an open object.
static void put_value(struct ggs_json * json, const struct ggs_field * field) {
    bool or_null = ggs_field_nullable(field);
    switch (field->type) {
        case GGS_FIELD_OBJECT:
            put_object(json, field->object, or_null, false);
            break;
        case GGS_FIELD_COLUMNS:
            put_object(json, field->object, or_null, true);
            break;
        case GGS_FIELD_PAIRS:
            put_pairs(json, field->object);
            break;
        case GGS_FIELD_ROWS:
        case GGS_FIELD_STREAM:
        case GGS_FIELD_LIST:
            put_array(json, field);
            break;
        case GGS_FIELD_TRUE:
            ggs_json_bool(json, "const", true);
            break;
        case GGS_FIELD_ANY:
            break;
        default:
            put_scalar(json, field, or_null);
            break;
    }
}

static void put_key(struct ggs_json * json, const struct ggs_key * key, bool columns, bool tuple) {
    ggs_json_object(json, tuple ? NULL : key->field->key);
    if (columns || key->column) {
        put_type(json, "array", false);
        ggs_json_object(json, "items");
        put_value(json, key->field);
        ggs_json_end(json);
    } else {
        put_value(json, key->field);
    }
    if (key->field->text[0] != '\0') ggs_json_string(json, "description", key->field->text);
    ggs_json_end(json);
}

static void put_object(struct ggs_json * json, const struct ggs_object * object, bool or_null, bool columns) {
    struct ggs_key keys[GGS_KEYS_MOST];
    unsigned       n = ggs_object_keys(object, false, keys);
    put_type(json, object->tuple ? "array" : "object", or_null);
    if (object->tuple)
        ggs_json_array(json, "prefixItems");
    else
        ggs_json_object(json, "properties");
    for (unsigned i = 0; i < n; i++) put_key(json, &keys[i], columns, object->tuple);
    ggs_json_end(json);
    if (object->tuple) {
        ggs_json_u64(json, "minItems", n);
        ggs_json_bool(json, "items", false);
        return;
    }
    ggs_json_array_inline(json, "required");
    for (unsigned i = 0; i < n; i++) {
        if (!keys[i].optional) ggs_json_string(json, NULL, keys[i].field->key);
    }
    ggs_json_end(json);
    ggs_json_bool(json, "additionalProperties", false);
}

static void put_answer(struct ggs_json * json, const struct ggs_answer * answer) {
    ggs_json_object(json, NULL);
    ggs_json_string(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    ggs_json_string(json, "title", answer->from);
    ggs_json_string(json, "description", answer->object->text);
    if (answer->array) {
        put_type(json, "array", false);
        ggs_json_object(json, "items");
    }
    put_object(json, answer->object, false, false);
    if (answer->array) ggs_json_end(json);
    ggs_json_end(json);
}

int ggs_contract_schemas(const char * directory) {
    for (const struct ggs_answer * answer = ggs_answers; answer->name != NULL; answer++) {
        struct ggs_json json;
        char            path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s.schema.json", directory, answer->name);
        FILE * file = fopen(path, "w");
        if (file != NULL) {
            ggs_json_init(&json, ggs_json_to_file, file, true);
            put_answer(&json, answer);
        }
        bool written = file != NULL && ggs_json_finish(&json) == 0;
        if (file == NULL || fclose(file) != 0 || !written) {
            fprintf(stderr, "contract: cannot write %s: %s\n", path, strerror(errno));
            return 1;
        }
    }
    return 0;
}
