// The contract for people: docs/json.md and ggscope-json(5), with the same text. Named objects are
// described once.
#include <ctype.h>
#include <string.h>

#include "base/glossary.h"
#include "base/roff.h"
#include "base/text.h"
#include "contract/contract.h"

static const char * const rules[] = {
    "What a verb prints with --json, what the server sends and what a report holds is the same object. It has exactly "
    "the keys that are listed here.",
    "A key that ends in _ns is a time: an integer in nanoseconds, since the experiment's start or of a duration. bytes, "
    "bytes_WHAT and WHAT_bytes are integers in bytes.",
    "token is the number of a token step, or of a graph run if step_kind says so. run is the number of a graph run, node "
    "that of a node of its graph; together they name an op. op is ggml's name of an operation, name that of a tensor. "
    "layer is the number of a layer; it is null outside of layers. A key that is a column of the export's tables "
    "(docs/tables.md) means the same here.",
    "by_SOMETHING is an array of sums; each entry has the key something, which says what it is the sum of.",
    "A value that was not seen, or that does not apply, is null. A key is left out only if it was not asked for.",
    "list[].key is a key of the objects of an array. table{}.key is an array, one of several of the same length: a column "
    "of a table.",
    "An answer in binary columns begins with a header in JSON, which is described here; docs/http-api.md has the layout.",
};
enum { N_RULES = sizeof(rules) / sizeof(rules[0]) };

// ---- walking an object ----

struct row {
    const char *              path; // of the key; "" for all keys of an object
    const struct ggs_field *  field;
    const struct ggs_object * object; // a named object, described separately; NULL: none
    const char *              cell;   // type of a binary column; NULL: not one
    bool                      column, optional;
};

struct writer {
    FILE * file;
    void (*row)(FILE * file, const struct row * row);
};

static void put_keys(const struct writer * writer, const struct ggs_object * object, const char * path, bool columns);

static void put_columns(const struct writer * writer, const struct ggs_field * field) {
    static const char * const cells[] = {[GGS_FIELD_U8] = "u8",   [GGS_FIELD_U16] = "u16", [GGS_FIELD_I16] = "i16",
                                         [GGS_FIELD_U32] = "u32", [GGS_FIELD_INT] = "i32", [GGS_FIELD_DOUBLE] = "f64"};
    struct ggs_key            keys[GGS_KEYS_MOST];
    unsigned                  n = ggs_object_keys(field->columns, false, keys);
    for (unsigned i = 0; i < n; i++) {
        char path[100];
        snprintf(path, sizeof(path), "column %s", keys[i].field->key);
        writer->row(writer->file,
                    &(struct row){.path = path, .field = keys[i].field, .cell = cells[keys[i].field->type]});
    }
}

static void put_key(const struct writer * writer, const struct ggs_key * key, const char * path, bool columns) {
    const struct ggs_field *  field  = key->field;
    const struct ggs_object * inside = field->object;
    bool                      rows   = field->type == GGS_FIELD_ROWS || field->type == GGS_FIELD_STREAM;
    bool                      named  = inside != NULL && inside->name != NULL;
    char                      at[400];
    snprintf(at, sizeof(at), "%s%s", path, field->key == NULL ? "" : field->key);
    writer->row(writer->file,
                &(struct row){at, field, named ? inside : NULL, NULL, columns || key->column, key->optional});
    if (field->columns != NULL) put_columns(writer, field);
    if (inside == NULL || inside->tuple || named || field->columns != NULL) return;
    size_t length = strlen(at);
    snprintf(at + length, sizeof(at) - length, "%s.", rows ? "[]" : field->type == GGS_FIELD_COLUMNS ? "{}" : "");
    put_keys(writer, inside, at, field->type == GGS_FIELD_COLUMNS);
}

static void put_keys(const struct writer * writer, const struct ggs_object * object, const char * path, bool columns) {
    struct ggs_key keys[GGS_KEYS_MOST];
    unsigned       n = ggs_object_keys(object, true, keys);
    for (unsigned i = 0; i < n; i++) put_key(writer, &keys[i], path, columns);
}

// `name`: the title of a separately described object.
static void put_type(FILE * file, const struct row * row, const char * name) {
    static const char * const names[][2] = {{"integer", "integers"},
                                            {"number", "numbers"},
                                            {"boolean", "booleans"},
                                            {"text", "texts"},
                                            {"any value", "any values"}};
    const struct ggs_field *  field      = row->field;
    unsigned                  i          = 0;
    const char *              word       = ggs_field_next_word(field, &i);
    bool rows = field->type == GGS_FIELD_ROWS || field->type == GGS_FIELD_STREAM, list = field->type == GGS_FIELD_LIST;
    if (row->cell != NULL) {
        fputs(row->cell, file);
        return;
    }
    if (row->column || rows || list) fputs("array of ", file);
    if (row->column && list) fputs("arrays of ", file);
    if (row->object != NULL) {
        fputs(name, file);
    } else if (rows && (field->object == NULL || field->object->tuple)) {
        fputs("arrays", file);
    } else if (field->object != NULL) {
        fputs(rows ? "objects" : field->object->tuple ? "array" : "object", file);
    } else if (field->type == GGS_FIELD_TRUE) {
        fputs("true", file);
    } else if (word == NULL) {
        fputs(names[ggs_field_kind(field)][row->column || list], file);
    }
    for (bool first = true; word != NULL; first = false, word = ggs_field_next_word(field, &i))
        fprintf(file, "%s\"%s\"", first ? "" : ", ", word);
    if (ggs_field_nullable(field)) fputs(" or null", file);
    if (row->optional) fputs(", if asked for", file);
}

// ---- Markdown ----

static void put_link(char * link, size_t size, const struct ggs_object * object) {
    const struct ggs_answer * answer = ggs_answer_of(object);
    int                       length = snprintf(link, size, "[%s](#", object->name);
    for (const char * c = answer != NULL ? answer->name : object->name; *c != '\0'; c++)
        link[length++] = (char) tolower((unsigned char) *c);
    snprintf(link + length, size - (size_t) length, ")");
}

static void put_markdown_row(FILE * file, const struct row * row) {
    char link[100] = "";
    if (row->object != NULL) put_link(link, sizeof(link), row->object);
    if (row->path[0] == '\0' || row->path[strlen(row->path) - 1] == '.') {
        fprintf(file, "| %s | | the keys of %s |\n", row->path, link);
        return;
    }
    fprintf(file, "| %s | ", row->path);
    put_type(file, row, link);
    fprintf(file, " | %s |\n", row->field->text);
}

static void put_table(FILE * file, const struct ggs_object * object) {
    fputs("\n| key | type | what it is |\n|---|---|---|\n", file);
    put_keys(&(struct writer){file, put_markdown_row}, object, "", false);
}

static void put_paragraph(FILE * file, const char * bullet, const char * words) {
    struct ggs_text text = {0};
    ggs_text_puts(&text, bullet);
    ggs_text_paragraph(&text, words, (unsigned) strlen(bullet));
    fputs(ggs_text_string(&text), file);
    ggs_text_release(&text);
}

void ggs_contract_markdown(FILE * file) {
    const struct ggs_object * named[GGS_NAMED_MOST];
    unsigned                  n = ggs_named_objects(named);
    fputs(
        "# The JSON answers\n\nWhich keys does an answer have, and what do they mean? `make docs` writes this page from the\n"
        "program. A JSON Schema of each answer is installed in `share/ggscope/schemas`, and in a build tree\n"
        "in `build/schemas`.\n\n",
        file);
    for (unsigned i = 0; i < N_RULES; i++) put_paragraph(file, "- ", rules[i]);
    for (const struct ggs_answer * answer = ggs_answers; answer->name != NULL; answer++) {
        fprintf(file, "\n## %s\n`%s`%s\n\n", answer->name, answer->from, answer->array ? ", an array" : "");
        put_paragraph(file, "", answer->object->text);
        put_table(file, answer->object);
    }
    fputs("\n## Parts of answers\n", file);
    for (unsigned i = 0; i < n; i++) {
        if (ggs_answer_of(named[i]) != NULL) continue;
        fprintf(file, "\n### %s\n", named[i]->name);
        if (named[i]->text != NULL) put_paragraph(file, "", named[i]->text);
        put_table(file, named[i]);
    }
}

void ggs_contract_glossary(FILE * file) {
    fputs(
        "# Glossary\n\nWhat does a word mean? It has this sense everywhere: in commands, tables, JSON and on the\n"
        "page. `ggscope help WORD` prints its meaning. `make docs` writes this page.\n\n| word | meaning |\n|---|---|\n",
        file);
    for (const struct ggs_term * term = ggs_glossary; term->word != NULL; term++)
        fprintf(file, "| %s | %s |\n", term->word, term->meaning);
}

// ---- man ----

static void put_man_row(FILE * file, const struct row * row) {
    if (row->path[0] == '\0' || row->path[strlen(row->path) - 1] == '.') {
        fprintf(file, ".It %s\nthe keys of\n.Sx %s\n", row->path[0] == '\0' ? "..." : row->path, row->object->name);
        return;
    }
    fprintf(file, ".It Li %s\n", row->path);
    put_type(file, row, row->object == NULL ? "" : row->object->name);
    fputs(row->field->text[0] == '\0' ? "\n" : ":\n", file);
    if (row->field->text[0] != '\0') ggs_roff_put(file, row->field->text);
}

static void put_list(FILE * file, const struct ggs_object * object) {
    fputs(".Bl -tag -width Ds\n", file);
    put_keys(&(struct writer){file, put_man_row}, object, "", false);
    fputs(".El\n", file);
}

void ggs_contract_man(FILE * file) {
    const struct ggs_object * named[GGS_NAMED_MOST];
    unsigned                  n = ggs_named_objects(named);
    fputs(".Dd November 17, 2026\n.Dt GGSCOPE-JSON 5\n.Os\n.Sh NAME\n.Nm ggscope-json\n.Nd the keys of all JSON "
          "answers\n.Sh DESCRIPTION\n",
          file);
    for (unsigned i = 0; i < N_RULES; i++) {
        if (i > 0) fputs(".Pp\n", file);
        ggs_roff_put(file, rules[i]);
    }
    fputs(".Sh ANSWERS\n", file);
    for (const struct ggs_answer * answer = ggs_answers; answer->name != NULL; answer++) {
        fprintf(file, ".Ss %s\n", answer->name);
        ggs_roff_put(file, answer->from);
        fputs(answer->array ? "(an array)\n.Pp\n" : ".Pp\n", file);
        ggs_roff_put(file, answer->object->text);
        put_list(file, answer->object);
    }
    fputs(".Sh PARTS OF ANSWERS\n", file);
    for (unsigned i = 0; i < n; i++) {
        if (ggs_answer_of(named[i]) != NULL) continue;
        fprintf(file, ".Ss %s\n", named[i]->name);
        if (named[i]->text != NULL) ggs_roff_put(file, named[i]->text);
        put_list(file, named[i]);
    }
    fputs(".Sh SEE ALSO\n.Xr ggscope 1 ,\n.Xr ggscope-serve 1\n", file);
}
