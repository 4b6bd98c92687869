// Reads JSON in place: the whole text is validated once, then values are looked up in it. There is
// no tree and no allocation.
//
//     struct ggs_json_value root = ggs_json_read(text, strlen(text));
//     if (ggs_json_to_u64(ggs_json_member(ggs_json_member(root, "host"), "cores"), &cores)) ...
//     struct ggs_json_value list = ggs_json_member(root, "command"), word = {0};
//     while (ggs_json_next(list, &word)) ...
//
// A value points into the text and lives as long as it. An absent value has `at` NULL, and lookups
// in it are absent too, so chains of lookups need no checks. The text is untrusted; nesting deeper
// than GGS_JSON_READ_DEPTH is refused.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { GGS_JSON_READ_DEPTH = 64 };

struct ggs_json_value {
    const char *at, *end;
};

// Returns an absent value unless the text is one valid JSON value.
struct ggs_json_value ggs_json_read(const char * text, size_t length);

// Returns a member of an object. Keys are compared as written: a key with escapes is not found. Of
// equal keys the first counts.
struct ggs_json_value ggs_json_member(struct ggs_json_value object, const char * key);
// Moves to the next element, or to the first if `element` is absent. False at the end, and for a
// value that is not an array.
bool ggs_json_next(struct ggs_json_value array, struct ggs_json_value * element);

bool ggs_json_is_there(struct ggs_json_value value); // false for null
bool ggs_json_is_true(struct ggs_json_value value);
// True for an integer that fits. A number with a fraction or an exponent is not an integer.
bool ggs_json_to_u64(struct ggs_json_value value, uint64_t * number);
// Appends the decoded string; false if the value is not a string. Half of a surrogate pair becomes
// U+FFFD.
bool ggs_json_append_to(struct ggs_json_value value, struct ggs_text * text);
// The same into a buffer, truncated to fit; "" if the value is not a string.
void ggs_json_to_buffer(struct ggs_json_value value, char * buffer, size_t size);
