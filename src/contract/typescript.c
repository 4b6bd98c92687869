// Types for the page: an interface per named object.
#include <ctype.h>

#include "analyze/diff/figures.h"
#include "analyze/ops/groups.h"
#include "analyze/walk/words.h"
#include "base/glossary.h"
#include "contract/contract.h"

static void put_object(FILE * file, const struct ggs_object * object, bool columns, unsigned depth);

static void put_scalar(FILE * file, const struct ggs_field * field, bool or_null, bool array) {
    static const char * const names[] = {"number", "number", "boolean", "string", "unknown"};
    unsigned                  i       = 0;
    const char *              word    = ggs_field_next_word(field, &i);
    bool                      several = or_null || word != NULL;
    if (array && several) fputc('(', file);
    if (word == NULL) fputs(names[ggs_field_kind(field)], file);
    for (bool first = true; word != NULL; first = false, word = ggs_field_next_word(field, &i))
        fprintf(file, "%s\"%s\"", first ? "" : " | ", word);
    if (or_null) fputs(" | null", file);
    if (array && several) fputc(')', file);
    if (array) fputs("[]", file);
}

static void put_reference(FILE * file, const struct ggs_object * object, bool columns, unsigned depth) {
    if (object->name != NULL && !columns) {
        fputs(object->name, file);
    } else {
        put_object(file, object, columns, depth);
    }
}

static void put_value(FILE * file, const struct ggs_field * field, bool column, unsigned depth) {
    bool or_null = ggs_field_nullable(field);
    switch (field->type) {
        case GGS_FIELD_OBJECT:
            put_reference(file, field->object, false, depth);
            break;
        case GGS_FIELD_COLUMNS:
            put_reference(file, field->object, true, depth);
            break;
        case GGS_FIELD_ROWS:
        case GGS_FIELD_STREAM:
            if (field->object == NULL)
                fputs("(string | number | null)[]", file);
            else
                put_reference(file, field->object, false, depth);
            fputs("[]", file);
            break;
        case GGS_FIELD_PAIRS:
            fputs("Record<", file);
            for (const struct ggs_field * one = field->object->fields; !ggs_field_ends(one); one++)
                fprintf(file, "%s\"%s\"", one == field->object->fields ? "" : " | ", one->key);
            fputs(", { a: number; b: number }>", file);
            break;
        case GGS_FIELD_LIST:
            put_scalar(file, field, field->or_null, true);
            fputs(column ? "[]" : "", file);
            fputs(field->known == NULL ? "" : " | null", file);
            return;
        case GGS_FIELD_TRUE:
            fputs("true", file);
            break;
        default:
            put_scalar(file, field, or_null, column);
            return;
    }
    if (or_null) fputs(" | null", file);
}

static void put_object(FILE * file, const struct ggs_object * object, bool columns, unsigned depth) {
    struct ggs_key keys[GGS_KEYS_MOST];
    unsigned       n = ggs_object_keys(object, false, keys);
    if (object->tuple) {
        for (unsigned i = 0; i < n; i++) {
            fputs(i == 0 ? "[" : ", ", file);
            put_value(file, keys[i].field, false, depth);
        }
        fputc(']', file);
        return;
    }
    fputs("{\n", file);
    for (unsigned i = 0; i < n; i++) {
        const struct ggs_field * field = keys[i].field;
        bool                     plain = true;
        for (const char * c = field->key; *c != '\0'; c++) plain = plain && (isalnum((unsigned char) *c) || *c == '_');
        bool above = field->object != NULL && field->object->name == NULL && field->text[0] != '\0';
        if (above) fprintf(file, "%*s// %s\n", 4 * (int) (depth + 1), "", field->text);
        fprintf(file, plain ? "%*s%s%s: " : "%*s\"%s\"%s: ", 4 * (int) (depth + 1), "", field->key,
                keys[i].optional ? "?" : "");
        put_value(file, field, columns || keys[i].column, depth + 1);
        fputs(";", file);
        if (!above && field->text[0] != '\0') fprintf(file, " // %s", field->text);
        fputc('\n', file);
    }
    fprintf(file, "%*s}", 4 * (int) depth, "");
}

// Writes the names of the numbers in a column as a list.
static void put_list(FILE * file, const char * name, const char * (*word)(uint64_t), unsigned n) {
    fprintf(file, "\nexport const %s = [", name);
    for (unsigned i = 0; i < n; i++) fprintf(file, "%s\"%s\"", i == 0 ? "" : ", ", word(i));
    fputs("] as const;\n", file);
}

// Writes a constant for each word, so that the page holds only those that it uses: meaningOfOpRun.
static void put_glossary(FILE * file) {
    fputs("\n// The glossary.\n", file);
    for (const struct ggs_term * term = ggs_glossary; term->word != NULL; term++) {
        fputs("export const meaningOf", file);
        for (const char * c = term->word; *c != '\0'; c++)
            if (*c != ' ')
                fputc(c == term->word || c[-1] == ' ' ? toupper((unsigned char) *c) : tolower((unsigned char) *c),
                      file);
        fprintf(file, " = \"%s\";\n", term->meaning);
    }
}

void ggs_contract_typescript(FILE * file) {
    const struct ggs_object * named[GGS_NAMED_MOST];
    unsigned                  n = ggs_named_objects(named);
    fputs("// The answers of the server. Generated by the build (src/contract), not part of the repository.\n", file);
    for (unsigned i = 0; i < n; i++) {
        if (named[i]->text != NULL) fprintf(file, "\n// %s", named[i]->text);
        fprintf(file, "\nexport interface %s ", named[i]->name);
        put_object(file, named[i], false, 0);
        fputc('\n', file);
    }
    put_list(file, "phases", ggs_word_phase, GGS_PHASE_COUNT);
    fputs("\n// The groupings of stats that have a table: by_NAME, whose entries have the key.\n"
          "export const groupings = {\n",
          file);
    for (unsigned i = 0; i < GGS_BY_COUNT; i++)
        if (ggs_groupings[i].by != GGS_GROUPED_BY_RUN)
            fprintf(file, "    %s: { key: \"%s\", text: \"%s\" },\n", ggs_groupings[i].name, ggs_groupings[i].key,
                    ggs_groupings[i].text);
    fputs("} as const;\n", file);
    fputs("\n// The figures of diff.\nexport const figureTexts: Record<string, string> = {\n", file);
    for (size_t i = 0; i < ggs_n_figures; i++)
        fprintf(file, "    %s: \"%s\",\n", ggs_figures[i].name, ggs_figures[i].text);
    fputs("};\n", file);
    put_glossary(file);
}
