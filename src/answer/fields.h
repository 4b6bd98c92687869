// The members of a struct as members of a JSON object: a list says once which of them go under which keys.
//
//     static const struct ggs_field group_fields[] = {
//         GGS_FIELD(struct ggs_group, ops, "ops"),
//         GGS_FIELD_OR_NULL(struct ggs_group, order, "layer"),
//         {0},
//     };
//     ggs_fields_rows(json, "by_layer", group_fields, groups->group, sizeof(*groups->group), groups->n);
//
// The type of a member is taken from its declaration: one that is none of those below does not compile.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_json;

enum ggs_field_type {
    GGS_FIELD_U64,
    GGS_FIELD_U32,
    GGS_FIELD_I64,
    GGS_FIELD_INT,
    GGS_FIELD_BOOL,
    GGS_FIELD_DOUBLE,
    GGS_FIELD_STRING, // const char *; NULL gives null
    GGS_FIELD_CHARS,  // char member[N]
    GGS_FIELD_FLAG,   // uint64_t, 0 or 1
};

struct ggs_field {
    const char *        key; // NULL ends a list
    size_t              offset;
    enum ggs_field_type type;
    bool                or_null;
    const char * (*word)(uint64_t); // what a uint64_t is called, if that is to be written; see analyze/walk/words.h
};

#define GGS_FIELD_TYPE(expression) \
    _Generic((expression),                                                                                             \
        uint64_t: GGS_FIELD_U64,                                                                                       \
        uint32_t: GGS_FIELD_U32,                                                                                       \
        int64_t: GGS_FIELD_I64,                                                                                        \
        int: GGS_FIELD_INT,                                                                                            \
        bool: GGS_FIELD_BOOL,                                                                                          \
        double: GGS_FIELD_DOUBLE,                                                                                      \
        const char *: GGS_FIELD_STRING,                                                                                \
        char *: GGS_FIELD_CHARS)

#define GGS_FIELD(type, member, key) \
    { key, offsetof(type, member), GGS_FIELD_TYPE(((type){}).member), false, NULL }
// null for what means "none": a negative number, an unsigned 0, an empty text.
#define GGS_FIELD_OR_NULL(type, member, key) \
    { key, offsetof(type, member), GGS_FIELD_TYPE(((type){}).member), true, NULL }
// A uint64_t as its word, or as true or false.
#define GGS_FIELD_WORD(type, member, key, word) \
    { key, offsetof(type, member), _Generic(((type){}).member, uint64_t : GGS_FIELD_U64), false, word }
#define GGS_FIELD_BOOLEAN(type, member, key) \
    { key, offsetof(type, member), _Generic(((type){}).member, uint64_t : GGS_FIELD_FLAG), false, NULL }

// The members, into an object that is open.
void ggs_fields_members(struct ggs_json * json, const struct ggs_field * fields, const void * object);
// An object of them, on one line.
void ggs_fields_object(struct ggs_json * json, const char * key, const struct ggs_field * fields, const void * object);
// An array of such objects, from `n` structs that lie `stride` bytes apart.
void ggs_fields_rows(struct ggs_json * json, const char * key, const struct ggs_field * fields, const void * first,
                     size_t stride, uint64_t n);
// The same as one array for each field, into an object that is open: for long lists.
void ggs_fields_lists(struct ggs_json * json, const struct ggs_field * fields, const void * first, size_t stride,
                      uint64_t n);
