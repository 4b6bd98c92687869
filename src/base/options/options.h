// Options as tables: a row has the name of an option and the struct member that takes its value.
// src/cli/scaffold/verb.h parses command lines with them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Parses the text of an option into its member; false if it is invalid. `text` is NULL for a flag,
// and for an option whose optional value is missing.
typedef bool (*ggs_set_member)(void * member, const char * text);

// A possible value of an option; --help, completion and the man page list them.
struct ggs_word {
    const char * word; // NULL ends the list
    const char * text; // half a line; NULL: none
};
typedef struct ggs_word (*ggs_words)(unsigned i);

struct ggs_option {
    const char *   name;
    int            letter;  // 0: none
    const char *   value;   // its name in --help, after "=" if it is optional; NULL: a flag
    const char *   help;    // half a line
    int            group;   // in --help
    size_t         offset;  // of the member
    ggs_set_member set;     // NULL for a flag whose member is a bool
    const char *   expects; // "--NAME takes EXPECTS, not 'TEXT'"; NULL: one of the words
    ggs_words      words;   // all possible values; NULL: other values are possible
};

#define GGS_SWITCH(name_, letter_, help_, group_, offset_) \
    { .name = (name_), .letter = (letter_), .help = (help_), .group = (group_), .offset = (offset_) }
#define GGS_OPTION(name_, letter_, value_, help_, group_, offset_, set_, expects_)                   \
    {                                                                                                \
        .name = (name_), .letter = (letter_), .value = (value_), .help = (help_), .group = (group_), \
        .offset = (offset_), .set = (set_), .expects = (expects_)                                    \
    }
// An option with a fixed set of values.
#define GGS_OPTION_OF(name_, letter_, value_, help_, group_, offset_, set_, words_)                  \
    {                                                                                                \
        .name = (name_), .letter = (letter_), .value = (value_), .help = (help_), .group = (group_), \
        .offset = (offset_), .set = (set_), .words = (words_)                                        \
    }
// The values of an option:
//     GGS_WORDS(policies, {"stop", "stop recording"}, {"ring", "drop the oldest"})
#define GGS_WORDS(name_, ...)                                              \
    static struct ggs_word name_(unsigned i) {                             \
        static const struct ggs_word list[] = {__VA_ARGS__, {NULL, NULL}}; \
        return list[i];                                                    \
    }

// Appends "a, b or c".
struct ggs_text;
void ggs_words_append(struct ggs_text * text, ggs_words words);

// Options of a struct that is nested in another at `offset` bytes.
struct ggs_option_list {
    const char *              title;   // above them in --help
    const struct ggs_option * options; // ended by a row without a name
    size_t                    offset;
};

bool ggs_set_text(void * member, const char * text);   // const char *
bool ggs_set_path(void * member, const char * text);   // const char *, not empty
bool ggs_set_count(void * member, const char * text);  // uint64_t
bool ggs_set_size(void * member, const char * text);   // uint64_t bytes: "4096", "64K", "1.5G"
bool ggs_set_time(void * member, const char * text);   // int64_t nanoseconds: "1.5s", "300ms", "20us", "5000"
bool ggs_set_chosen(void * member, const char * text); // uint64_t: the number + 1
bool ggs_set_index(void * member, const char * text);  // int64_t, from 0
bool ggs_set_layer(void * member, const char * text);  // int
bool ggs_set_tokens(void * member, const char * text); // int64_t[2], inclusive: "5", "5..9", "5..", "..9"
bool ggs_set_offsets(void *       member,
                     const char * text); // uint64_t[2], end exclusive: "64K..1.5M", "1G..", "4096"
#define GGS_EXPECTS_TOKENS "a token or a range such as 3, 3..5 or 3.."
