// Reads JSON: a text is checked once, whole, and then looked into in place. No tree is made and no
// memory is needed.
//
//     struct ggs_json_value root = ggs_json_read(text, strlen(text));
//     if (ggs_json_to_u64(ggs_json_member(ggs_json_member(root, "host"), "cores"), &cores)) ...
//     struct ggs_json_value list = ggs_json_member(root, "command"), word = {0};
//     while (ggs_json_next(list, &word)) ...
//
// A value points into the text and lives as long as it. What is not there is a value too (`at` is
// NULL), and so is whatever is looked for in it: chains of lookups need no checks in between. The
// text may come from anywhere; nesting deeper than GGS_JSON_READ_DEPTH is refused.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { GGS_JSON_READ_DEPTH = 64 };

struct ggs_json_value {
    const char *at, *end;
};

// Absent unless the text is one valid JSON value.
struct ggs_json_value ggs_json_read(const char * text, size_t length);

// A member of an object. Keys are compared as they are written: one with escapes is not found. Of
// equal keys the first counts.
struct ggs_json_value ggs_json_member(struct ggs_json_value object, const char * key);
// The element after `element`, or the first one if that is absent. False at the end, and for what
// is no array.
bool ggs_json_next(struct ggs_json_value array, struct ggs_json_value * element);

bool ggs_json_is_there(struct ggs_json_value value); // null is not there
bool ggs_json_is_true(struct ggs_json_value value);
// An integer that fits; a fraction or an exponent is no integer.
bool ggs_json_to_u64(struct ggs_json_value value, uint64_t * number);
// Appends a string, decoded. False for what is no string. Half of a surrogate pair becomes U+FFFD.
bool ggs_json_append_to(struct ggs_json_value value, struct ggs_text * text);
// The same into a buffer: "" for what is no string, cut if it does not fit.
void ggs_json_to_buffer(struct ggs_json_value value, char * buffer, size_t size);
