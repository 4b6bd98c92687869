// A streaming JSON writer: one buffer, no tree, 64-bit integers exact, output always valid UTF-8
// (bytes that are not UTF-8 become U+FFFD). It writes commas and indentation by itself.
//
//     struct ggs_json json;
//     ggs_json_init(&json, ggs_json_to_file, stdout, true);
//     ggs_json_object(&json, NULL);
//         ggs_json_string(&json, "name", "blk.0.attn_q.weight");
//         ggs_json_array(&json, "shape");
//             ggs_json_u64(&json, NULL, 4096);
//         ggs_json_end(&json);
//     ggs_json_end(&json);
//     if (ggs_json_finish(&json) != 0) ...        // true only if every byte was written
//
// `key` is NULL inside arrays and for the outermost value. A failure of the sink sticks and shows
// in ggs_json_finish. Nesting deeper than GGS_JSON_DEPTH is a programming error and sticks
// likewise.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_JSON_DEPTH = 32, GGS_JSON_BUFFER = 16384 };

// Writes `length` bytes; returns 0 on success.
typedef int (*ggs_json_sink)(void * context, const char * data, size_t length);

struct ggs_json {
    ggs_json_sink sink;
    void *        context;
    bool          pretty; // two-space indentation; else one line without blanks
    bool          failed;
    unsigned      depth;
    char          closer[GGS_JSON_DEPTH];  // '}' or ']' of each open level
    bool          filled[GGS_JSON_DEPTH];  // true if this level has a member
    bool          inlined[GGS_JSON_DEPTH]; // true if this level stays on one line although `pretty`
    size_t        used;
    char          buffer[GGS_JSON_BUFFER];
};

void ggs_json_init(struct ggs_json * json, ggs_json_sink sink, void * context, bool pretty);

void ggs_json_object(struct ggs_json * json, const char * key);
void ggs_json_array(struct ggs_json * json, const char * key);
void ggs_json_array_inline(struct ggs_json * json, const char * key); // stays on one line: for [1, 2, 3]
void ggs_json_object_inline(struct ggs_json * json, const char * key);
void ggs_json_end(struct ggs_json * json); // closes the innermost object or array

void ggs_json_string(struct ggs_json * json, const char * key, const char * value); // NULL writes null
void ggs_json_string_n(struct ggs_json * json, const char * key, const char * value, size_t length);
void ggs_json_u64(struct ggs_json * json, const char * key, uint64_t value);
void ggs_json_i64(struct ggs_json * json, const char * key, int64_t value);
void ggs_json_natural(struct ggs_json * json, const char * key, int64_t value); // a negative value writes null
void ggs_json_double(struct ggs_json * json, const char * key,
                     double value); // shortest text that reads back equal; NaN and infinities write null
void ggs_json_bool(struct ggs_json * json, const char * key, bool value);
void ggs_json_null(struct ggs_json * json, const char * key);

// True if an object or array was begun.
bool ggs_json_begun(const struct ggs_json * json);
// Flushes, adds a final newline if pretty, returns 0 or -1 if any byte was lost.
int ggs_json_finish(struct ggs_json * json);

// Sinks whose context is a FILE * or a struct ggs_text *.
int ggs_json_to_file(void * file, const char * data, size_t length);
int ggs_json_to_text(void * text, const char * data, size_t length);
