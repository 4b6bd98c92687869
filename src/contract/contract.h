// The contract of all JSON answers, written from the tables that the answers themselves are written
// from:
//
//     contract schemas DIR       a JSON Schema for each answer, as DIR/NAME.schema.json
//     contract typescript FILE   types for the page
//     contract markdown FILE     docs/json.md
//     contract man FILE          ggscope-json(5)
//
// It is a program of the build: `ggscope` itself has no need of it.
#pragma once

#include <stdio.h>

#include "base/object.h"

struct ggs_answer {
    const char *              name; // of its schema
    const char *              from; // who gives it: "ggscope stats --json, /api/x/N/stats"
    const struct ggs_object * object;
    bool                      array; // of such objects
};
extern const struct ggs_answer ggs_answers[]; // one without a name ends them

// ---- what a table says ----

struct ggs_key {
    const struct ggs_field * field;
    bool                     column;   // its value is an array of what the field says
    bool                     optional; // left out if nobody asked for it
};
enum { GGS_KEYS_MOST = 160 };
// All keys, with those of GGS_MEMBERS and of columns that have no object of their own; if `parts`,
// GGS_MEMBERS of an object that has a name is one entry instead, without a key. Returns how many.
unsigned ggs_object_keys(const struct ggs_object * object, bool parts, struct ggs_key keys[GGS_KEYS_MOST]);

enum ggs_kind { GGS_KIND_INTEGER, GGS_KIND_NUMBER, GGS_KIND_BOOLEAN, GGS_KIND_TEXT, GGS_KIND_NONE };
// Of one value, or of the entries of a list.
enum ggs_kind ggs_field_kind(const struct ggs_field * field);
// An integer that is never negative, or null then.
bool ggs_field_from_0(const struct ggs_field * field);
// Of a list of binary columns: their names, ended by NULL.
void ggs_field_column_names(const struct ggs_field * field, const char * names[GGS_KEYS_MOST + 1]);
// All words that the text can be, from *i = 0 on; NULL behind the last. None if it can be any text.
const char * ggs_field_next_word(const struct ggs_field * field, unsigned * i);

// All objects that have a name, each once; those that another one is made of come first. Returns
// how many.
enum { GGS_NAMED_MOST = 200 };
unsigned ggs_named_objects(const struct ggs_object * named[GGS_NAMED_MOST]);
// The answer that an object is; NULL if it is only a part of others.
const struct ggs_answer * ggs_answer_of(const struct ggs_object * object);

// ---- writers ----

int  ggs_contract_schemas(const char * directory);
void ggs_contract_typescript(FILE * file);
void ggs_contract_markdown(FILE * file);
void ggs_contract_man(FILE * file);
