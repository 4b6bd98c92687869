#include <stdlib.h>
#include <string.h>

#include "contract/contract.h"

static unsigned add_keys(const struct ggs_object * object, struct ggs_key around, bool parts, struct ggs_key * keys,
                         unsigned n) {
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++) {
        struct ggs_key key = {field, around.column, around.optional || field->asked != NULL};
        if (field->key == NULL && field->object != NULL && !(parts && field->object->name != NULL)) {
            key.column |= field->type == GGS_FIELD_COLUMNS;
            n = add_keys(field->object, key, parts, keys, n);
        } else {
            if (n == GGS_KEYS_MOST) abort(); // a table in the code is too long
            keys[n++] = key;
        }
    }
    return n;
}

unsigned ggs_object_keys(const struct ggs_object * object, bool parts, struct ggs_key keys[GGS_KEYS_MOST]) {
    return add_keys(object, (struct ggs_key){0}, parts, keys, 0);
}

enum ggs_kind ggs_field_kind(const struct ggs_field * field) {
    if (field->word != NULL || field->number != NULL) return GGS_KIND_TEXT;
    switch (field->type == GGS_FIELD_LIST ? field->element : field->type) {
        case GGS_FIELD_U64:
        case GGS_FIELD_I64:
        case GGS_FIELD_U32:
        case GGS_FIELD_INT:
        case GGS_FIELD_U16:
        case GGS_FIELD_I16:
        case GGS_FIELD_U8:
        case GGS_FIELD_INTEGER:
            return GGS_KIND_INTEGER;
        case GGS_FIELD_DOUBLE:
        case GGS_FIELD_REAL:
            return GGS_KIND_NUMBER;
        case GGS_FIELD_BOOL:
        case GGS_FIELD_FLAG:
        case GGS_FIELD_TEST:
        case GGS_FIELD_TRUE:
            return GGS_KIND_BOOLEAN;
        case GGS_FIELD_STRING:
        case GGS_FIELD_CHARS:
        case GGS_FIELD_TEXT:
            return GGS_KIND_TEXT;
        default:
            return GGS_KIND_NONE;
    }
}

bool ggs_field_from_0(const struct ggs_field * field) {
    switch (field->type == GGS_FIELD_LIST ? field->element : field->type) {
        case GGS_FIELD_U64:
        case GGS_FIELD_U32:
        case GGS_FIELD_U16:
        case GGS_FIELD_U8:
            return true;
        default:
            return field->from_0 || field->or_null;
    }
}

void ggs_field_column_names(const struct ggs_field * field, const char * names[GGS_KEYS_MOST + 1]) {
    struct ggs_key keys[GGS_KEYS_MOST];
    unsigned       n = ggs_object_keys(field->columns, false, keys), n_names = 0;
    for (unsigned i = 0; i < n; i++) {
        bool again = false;
        for (unsigned k = 0; k < n_names; k++) again = again || strcmp(names[k], keys[i].field->key) == 0;
        if (!again) names[n_names++] = keys[i].field->key;
    }
    names[n_names] = NULL;
}

const char * ggs_field_next_word(const struct ggs_field * field, unsigned * i) {
    enum { NUMBERS_MOST = 64 };
    if (field->words != NULL) return field->words[*i] == NULL ? NULL : field->words[(*i)++];
    while (field->word != NULL && *i < NUMBERS_MOST) {
        const char * word    = field->word((*i)++);
        bool         skipped = word == NULL || word[0] == '\0' || strcmp(word, "?") == 0;
        for (unsigned k = 0; !skipped && k + 1 < *i; k++) {
            const char * other = field->word(k);
            skipped            = other != NULL && strcmp(other, word) == 0;
        }
        if (!skipped) return word;
    }
    return NULL;
}

static unsigned add_named(const struct ggs_object * object, const struct ggs_object ** named, unsigned n) {
    for (const struct ggs_field * field = object->fields; !ggs_field_ends(field); field++)
        if (field->object != NULL && field->type != GGS_FIELD_PAIRS) n = add_named(field->object, named, n);
    if (object->name == NULL) return n;
    for (unsigned i = 0; i < n; i++) {
        if (named[i] == object) return n;
        if (strcmp(named[i]->name, object->name) == 0) {
            fprintf(stderr, "contract: two objects are called %s\n", object->name);
            exit(1);
        }
    }
    if (n == GGS_NAMED_MOST) abort();
    named[n] = object;
    return n + 1;
}

unsigned ggs_named_objects(const struct ggs_object * named[GGS_NAMED_MOST]) {
    unsigned n = 0;
    for (const struct ggs_answer * answer = ggs_answers; answer->name != NULL; answer++)
        n = add_named(answer->object, named, n);
    return n;
}

const struct ggs_answer * ggs_answer_of(const struct ggs_object * object) {
    for (const struct ggs_answer * answer = ggs_answers; answer->name != NULL; answer++)
        if (answer->object == object) return answer;
    return NULL;
}
