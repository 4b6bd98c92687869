// Generates the contract of all JSON answers from the tables that write them:
//
//     contract schemas DIR       a JSON Schema for each answer, as DIR/NAME.schema.json
//     contract typescript FILE   types for the page
//     contract markdown FILE     docs/json.md
//     contract man FILE          ggscope-json(5)
//     contract glossary FILE     docs/glossary.md
//
// A program of the build; `ggscope` does not need it.
#pragma once

#include <stdio.h>

#include "base/object.h"

struct ggs_answer {
    const char *              name; // of its schema
    const char *              from; // its sources: "ggscope stats --json, /api/x/N/stats"
    const struct ggs_object * object;
    bool                      array; // of such objects
};
extern const struct ggs_answer ggs_answers[]; // ended by one without a name

// ---- reading tables ----

struct ggs_key {
    const struct ggs_field * field;
    bool                     column;   // its value is an array of the field's type
    bool                     optional; // omitted unless requested
};
enum { GGS_KEYS_MOST = 160 };
// Lists all keys, including those of GGS_MEMBERS and of columns without an object. With `parts`,
// GGS_MEMBERS of a named object is one entry without a key. Returns the number of keys.
unsigned ggs_object_keys(const struct ggs_object * object, bool parts, struct ggs_key keys[GGS_KEYS_MOST]);

enum ggs_kind { GGS_KIND_INTEGER, GGS_KIND_NUMBER, GGS_KIND_BOOLEAN, GGS_KIND_TEXT, GGS_KIND_NONE };
// The kind of a value, or of the entries of a list.
enum ggs_kind ggs_field_kind(const struct ggs_field * field);
// True for an integer that is never negative, or null instead.
bool ggs_field_from_0(const struct ggs_field * field);
// Lists the names of a list of binary columns, ended by NULL.
void ggs_field_column_names(const struct ggs_field * field, const char * names[GGS_KEYS_MOST + 1]);
// Yields all possible values of a string, starting with *i = 0; NULL at the end. None if any string
// is possible.
const char * ggs_field_next_word(const struct ggs_field * field, unsigned * i);

// Lists all named objects once, each after its parts. Returns their number.
enum { GGS_NAMED_MOST = 200 };
unsigned ggs_named_objects(const struct ggs_object * named[GGS_NAMED_MOST]);
// Returns the answer of an object; NULL if it is only a part of others.
const struct ggs_answer * ggs_answer_of(const struct ggs_object * object);

// ---- writers ----

int  ggs_contract_schemas(const char * directory);
void ggs_contract_typescript(FILE * file);
void ggs_contract_markdown(FILE * file);
void ggs_contract_man(FILE * file);
void ggs_contract_glossary(FILE * file);
