// JSON objects as tables: a table defines the keys of an object, the source of each value and its
// meaning. The JSON writers walk it, and so does the program that generates schemas, types and
// docs/json.md (src/contract).
//
//     #define GROUP(member, key, ...) GGS_FIELD(struct ggs_group, member, key, __VA_ARGS__)
//     static const struct ggs_field group_fields[] = {
//         GROUP(ops, "ops", "ops of the group"),
//         GGS_FIELD_OR_NULL(struct ggs_group, layer, "layer", "null for ops outside of layers"),
//         GGS_NATURAL("busy_ns", group_busy, "sum over threads; null if some ops have no times"),
//         {0},
//     };
//     static const struct ggs_object group = {.fields = group_fields};
//     ...
//         GGS_ROWS(struct ggs_groups, group, n, "by_layer", &group, "sums by layer"),
//
// The text of a field states what its key does not: unit and type follow from the key's ending and
// the member's declaration. Any other member of struct ggs_field may follow the text: `.least = 1`,
// `.asked = has_costs`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_json;
struct ggs_field;

// ---- types of values ----

enum ggs_field_type {
    // members of the struct
    GGS_FIELD_U64,
    GGS_FIELD_I64,
    GGS_FIELD_U32,
    GGS_FIELD_INT,
    GGS_FIELD_U16,
    GGS_FIELD_I16,
    GGS_FIELD_U8,
    GGS_FIELD_BOOL,
    GGS_FIELD_DOUBLE,
    GGS_FIELD_STRING, // const char *; NULL writes null
    GGS_FIELD_CHARS,  // char [N]
    GGS_FIELD_FLAG,   // uint64_t as true or false
    // results of functions
    GGS_FIELD_INTEGER,
    GGS_FIELD_REAL,
    GGS_FIELD_TEXT,
    GGS_FIELD_TEST,
    GGS_FIELD_TRUE, // always true
    // more than one value
    GGS_FIELD_OBJECT,  // an object, or null
    GGS_FIELD_MEMBERS, // the members of an object, merged into the enclosing one; has no key
    GGS_FIELD_ROWS,    // an array of objects
    GGS_FIELD_STREAM,  // the same, one row at a time: see ggs_object_begin
    // an object with an array per field, for long tables. Without a key: merged into the enclosing
    // one
    GGS_FIELD_COLUMNS,
    GGS_FIELD_LIST,  // an array of numbers or strings
    GGS_FIELD_PAIRS, // an object {a, b} per field: its values in two structs
    GGS_FIELD_ANY,   // anything that a function writes
};

struct ggs_object {
    const char *             name;   // its name in TypeScript and docs/json.md; NULL if it is used once
    const char *             text;   // one or two sentences
    const struct ggs_field * fields; // ended by a field without a key and of type 0
    bool                     lines;  // one line per member if output is indented; else all on one line
    bool                     tuple;  // an array of the values, without keys
};

struct ggs_list {
    const void * first;
    uint64_t     n;
    size_t       stride; // bytes from one row to the next
};

enum { GGS_ROOM = 512 };

// `it`: the struct that is written. `context`: passed through from the caller, for values that the
// struct alone does not have; in src/answer it is the trace. `room`: GGS_ROOM bytes of scratch
// space, valid until the value is written.
struct ggs_field {
    const char *        key;
    enum ggs_field_type type : 8;
    enum ggs_field_type element : 8;    // of a list
    enum ggs_field_type count_type : 8; // of the member with the number of rows or entries
    bool                inside : 1;     // rows lie in the member itself, not behind a pointer
    bool                each : 1;       // of a list: `next` yields its entries
    bool                one_line : 1;   // of a list of strings: on one line (lists of numbers always are)
    bool     or_null : 1;   // null for "none": a negative integer, an unsigned 0, "", a NaN. Of a list: its entries
    bool     from_0 : 1;    // of a signed number: never negative
    uint32_t offset;        // of the member
    uint32_t count, stride; // of the member with the number of rows; bytes from one row or entry to the next
    union {
        int64_t (*integer)(const void * it, const void * context);
        double (*real)(const void * it, const void * context);
        bool (*test)(const void * it, const void * context);
        // Sets *length if the text does not end in NUL.
        const char * (*string)(const void * it, const void * context, char * room, size_t * length);
        // Returns the struct to write, NULL for none.
        const void * (*view)(const void * it, const void * context, void * room);
        // Returns the next row, NULL at the end. *i starts at 0; it and `room` are for the function
        // to use.
        const void * (*next)(const void * it, const void * context, uint64_t * i, void * room);
        struct ggs_list (*list)(const void * it, const void * context, void * room);
        void (*put)(struct ggs_json * json, const char * key, const void * it, const void * context);
    };
    const struct ggs_object * object;                              // of what has members
    const char * (*number)(const void * context, uint64_t number); // of a uint64_t: the string with that number
    const char * (*word)(uint64_t number);                         // of a number: its name; "" or NULL if it has none
    // False makes the key null, or omits it.
    bool (*known)(const void * it, const void * context);
    bool (*asked)(const void * it, const void * context);
    // Used by the contract generator only.
    const struct ggs_object * columns;     // of the list of binary columns (answer/columns.h): all possible columns
    const char * const *      words;       // of a string: all possible values, ended by NULL
    float                     least, most; // of a number
    uint32_t                  items;       // of a list: its maximum length
    const char *              pattern;     // of a text
    const char *              text;
};

#if SIZE_MAX == UINT32_MAX
#define GGS_FIELD_SIZE unsigned long : GGS_FIELD_U32,
#else
#define GGS_FIELD_SIZE // size_t is uint64_t
#endif
// A pointer to char and an array of char differ in the type of their address.
#define GGS_FIELD_TYPE(expression) \
    _Generic(&(expression), char ** : GGS_FIELD_STRING, default : GGS_FIELD_TYPE_OF(expression))
#define GGS_FIELD_TYPE_OF(expression) \
    _Generic((expression),                                                                                             \
        GGS_FIELD_SIZE                                                                                                 \
        uint64_t: GGS_FIELD_U64,                                                                                       \
        int64_t: GGS_FIELD_I64,                                                                                        \
        uint32_t: GGS_FIELD_U32,                                                                                       \
        int: GGS_FIELD_INT,                                                                                            \
        uint16_t: GGS_FIELD_U16,                                                                                       \
        int16_t: GGS_FIELD_I16,                                                                                        \
        uint8_t: GGS_FIELD_U8,                                                                                         \
        bool: GGS_FIELD_BOOL,                                                                                          \
        double: GGS_FIELD_DOUBLE,                                                                                      \
        const char *: GGS_FIELD_STRING,                                                                                \
        char *: GGS_FIELD_CHARS)
#define GGS_MEMBER_AT(type_, member_) .type = GGS_FIELD_TYPE(((type_ *) 0)->member_), .offset = offsetof(type_, member_)

// The text and what follows it. Reports do not need texts, so their module omits them.
#ifdef __wasm__
#define GGS_SAY(...)            GGS_SAY_NOT(__VA_ARGS__, )
#define GGS_SAY_NOT(text_, ...) .text = NULL, __VA_ARGS__
#else
#define GGS_SAY(...) .text = "" __VA_ARGS__
#endif

// ---- one value ----

#define GGS_FIELD(type_, member_, key_, ...) \
    { .key = (key_), GGS_MEMBER_AT(type_, member_), GGS_SAY(__VA_ARGS__) }
#define GGS_FIELD_OR_NULL(type_, member_, key_, ...) \
    { .key = (key_), GGS_MEMBER_AT(type_, member_), .or_null = true, GGS_SAY(__VA_ARGS__) }
#define GGS_FIELD_WORD(type_, member_, key_, word_, ...) \
    { .key = (key_), GGS_MEMBER_AT(type_, member_), .word = (word_), GGS_SAY(__VA_ARGS__) }
#define GGS_FIELD_FLAG(type_, member_, key_, ...)                \
    {                                                            \
        .key    = (key_),                                        \
        .type   = _Generic(((type_ *) 0)->member_, uint64_t      \
                         : GGS_FIELD_FLAG),                    \
        .offset = offsetof(type_, member_), GGS_SAY(__VA_ARGS__) \
    }
#define GGS_INTEGER(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_INTEGER, .integer = (get_), GGS_SAY(__VA_ARGS__) }
#define GGS_COUNT(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_INTEGER, .integer = (get_), .from_0 = true, GGS_SAY(__VA_ARGS__) }
// A negative number writes null.
#define GGS_NATURAL(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_INTEGER, .integer = (get_), .or_null = true, GGS_SAY(__VA_ARGS__) }
#define GGS_REAL(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_REAL, .real = (get_), GGS_SAY(__VA_ARGS__) }
// NaN writes null.
#define GGS_REAL_OR_NULL(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_REAL, .real = (get_), .or_null = true, GGS_SAY(__VA_ARGS__) }
#define GGS_TEXT(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_TEXT, .string = (get_), GGS_SAY(__VA_ARGS__) }
#define GGS_TEXT_OR_NULL(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_TEXT, .string = (get_), .or_null = true, GGS_SAY(__VA_ARGS__) }
#define GGS_TEST(key_, get_, ...) \
    { .key = (key_), .type = GGS_FIELD_TEST, .test = (get_), GGS_SAY(__VA_ARGS__) }
#define GGS_TRUE(key_, ...) \
    { .key = (key_), .type = GGS_FIELD_TRUE, GGS_SAY(__VA_ARGS__) }
#define GGS_ANY(key_, put_, ...) \
    { .key = (key_), .type = GGS_FIELD_ANY, .put = (put_), GGS_SAY(__VA_ARGS__) }

// ---- objects ----

// A struct that is a member.
#define GGS_OBJECT(type_, member_, key_, object_, ...)                                                    \
    {                                                                                                     \
        .key = (key_), .type = GGS_FIELD_OBJECT, .offset = offsetof(type_, member_), .object = (object_), \
        GGS_SAY(__VA_ARGS__)                                                                              \
    }
// Another object of the same struct.
#define GGS_OBJECT_OF(key_, object_, ...) \
    { .key = (key_), .type = GGS_FIELD_OBJECT, .object = (object_), GGS_SAY(__VA_ARGS__) }
// An object of a struct that a function returns.
#define GGS_OBJECT_VIEW(key_, view_, object_, ...) \
    { .key = (key_), .type = GGS_FIELD_OBJECT, .view = (view_), .object = (object_), GGS_SAY(__VA_ARGS__) }
// The same; NULL writes null.
#define GGS_OBJECT_OR_NULL(key_, view_, object_, ...)                                                   \
    {                                                                                                   \
        .key = (key_), .type = GGS_FIELD_OBJECT, .view = (view_), .object = (object_), .or_null = true, \
        GGS_SAY(__VA_ARGS__)                                                                            \
    }
#define GGS_MEMBERS(type_, member_, object_) \
    { .type = GGS_FIELD_MEMBERS, .offset = offsetof(type_, member_), .object = (object_) }
#define GGS_MEMBERS_OF(object_) \
    { .type = GGS_FIELD_MEMBERS, .object = (object_) }
#define GGS_MEMBERS_VIEW(view_, object_) \
    { .type = GGS_FIELD_MEMBERS, .view = (view_), .object = (object_) }

// ---- arrays ----

#define GGS_MANY(type_, pointer_, count_)                                                                              \
    .offset = offsetof(type_, pointer_), .stride = sizeof(*((type_ *) 0)->pointer_), .count = offsetof(type_, count_), \
    .count_type = GGS_FIELD_TYPE(((type_ *) 0)->count_)
// An array of structs behind a pointer member, with the count in another member.
#define GGS_ROWS(type_, pointer_, count_, key_, object_, ...)                                          \
    {                                                                                                  \
        .key = (key_), .type = GGS_FIELD_ROWS, GGS_MANY(type_, pointer_, count_), .object = (object_), \
        GGS_SAY(__VA_ARGS__)                                                                           \
    }
#define GGS_EACH(key_, next_, object_, ...) \
    { .key = (key_), .type = GGS_FIELD_ROWS, .next = (next_), .object = (object_), GGS_SAY(__VA_ARGS__) }
#define GGS_STREAM(key_, object_, ...) \
    { .key = (key_), .type = GGS_FIELD_STREAM, .object = (object_), GGS_SAY(__VA_ARGS__) }
#define GGS_COLUMNS(type_, pointer_, count_, key_, object_, ...)                                          \
    {                                                                                                     \
        .key = (key_), .type = GGS_FIELD_COLUMNS, GGS_MANY(type_, pointer_, count_), .object = (object_), \
        GGS_SAY(__VA_ARGS__)                                                                              \
    }
#define GGS_LIST(type_, pointer_, count_, key_, ...)                              \
    {                                                                             \
        .key = (key_), .type = GGS_FIELD_LIST, GGS_MANY(type_, pointer_, count_), \
        .element = GGS_FIELD_TYPE(*((type_ *) 0)->pointer_), GGS_SAY(__VA_ARGS__) \
    }
#define GGS_LIST_OF(element_, key_, list_, ...) \
    { .key = (key_), .type = GGS_FIELD_LIST, .element = GGS_FIELD_##element_, .list = (list_), GGS_SAY(__VA_ARGS__) }
#define GGS_LIST_EACH(element_, key_, next_, ...)                                                              \
    {                                                                                                          \
        .key = (key_), .type = GGS_FIELD_LIST, .element = GGS_FIELD_##element_, .each = true, .next = (next_), \
        GGS_SAY(__VA_ARGS__)                                                                                   \
    }
// `a_` and `b_` are members of the same type, which `object_` describes.
#define GGS_PAIRS(type_, a_, b_, key_, object_, ...)                                                         \
    {                                                                                                        \
        .key = (key_), .type = GGS_FIELD_PAIRS, .offset = offsetof(type_, a_), .count = offsetof(type_, b_), \
        .object = (object_), GGS_SAY(__VA_ARGS__)                                                            \
    }

// ---- writing ----

// Writes an object under `key`; without a key inside an array and as the outermost value.
void ggs_object_write(struct ggs_json * json, const char * key, const struct ggs_object * object, const void * it,
                      const void * context);
// Writes the members into an open object.
void ggs_object_members(struct ggs_json * json, const struct ggs_object * object, const void * it,
                        const void * context);

// Writes an object that contains a stream. ggs_object_begin writes the members ahead of the stream,
// ggs_object_end those after it, each from the state of `it` at the call.
void ggs_object_begin(struct ggs_json * json, const struct ggs_object * object, const void * it, const void * context);
void ggs_object_row(struct ggs_json * json, const struct ggs_object * object, const void * row, const void * context);
void ggs_object_end(struct ggs_json * json, const struct ggs_object * object, const void * it, const void * context);

// True if the field can be null.
bool ggs_field_nullable(const struct ggs_field * field);
bool ggs_field_ends(const struct ggs_field * field);
