// Options as tables: a row says what an option is called and which member of a struct its value
// goes to. src/cli/scaffold/verb.h reads them from a command line.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads the text of an option into its member; false if it is no such value. The text is NULL if
// there is none: of a flag, or of an option whose value may be left out.
typedef bool (*ggs_take)(void * member, const char * text);

// A value that an option takes: --help, completion and the man page list them.
struct ggs_word {
    const char * word; // NULL behind the last
    const char * text; // half a line; NULL: nothing to say
};
typedef struct ggs_word (*ggs_words)(unsigned i);

struct ggs_option {
    const char * name;
    int          letter;  // 0: none
    const char * value;   // as --help names it, behind "=" if it may be left out; NULL: a flag
    const char * help;    // half a line
    int          group;   // in --help
    size_t       offset;  // of the member
    ggs_take     take;    // NULL for a flag whose member is a bool
    const char * expects; // "--NAME takes EXPECTS, not 'TEXT'"; NULL: one of the words
    ggs_words    words;   // all values; NULL: it takes others
};

#define GGS_SWITCH(name_, letter_, help_, group_, offset_) \
    { .name = (name_), .letter = (letter_), .help = (help_), .group = (group_), .offset = (offset_) }
#define GGS_OPTION(name_, letter_, value_, help_, group_, offset_, take_, expects_)                  \
    {                                                                                                \
        .name = (name_), .letter = (letter_), .value = (value_), .help = (help_), .group = (group_), \
        .offset = (offset_), .take = (take_), .expects = (expects_)                                  \
    }
// An option that takes words.
#define GGS_OPTION_OF(name_, letter_, value_, help_, group_, offset_, take_, words_)                 \
    {                                                                                                \
        .name = (name_), .letter = (letter_), .value = (value_), .help = (help_), .group = (group_), \
        .offset = (offset_), .take = (take_), .words = (words_)                                      \
    }
// The words of an option: GGS_WORDS(policies, {"stop", "stop recording"}, {"ring", "drop the
// oldest"})
#define GGS_WORDS(name_, ...)                                              \
    static struct ggs_word name_(unsigned i) {                             \
        static const struct ggs_word list[] = {__VA_ARGS__, {NULL, NULL}}; \
        return list[i];                                                    \
    }

// Appends "a, b or c".
struct ggs_text;
void ggs_words_append(struct ggs_text * text, ggs_words words);

// Options of a struct that is a member of another, `offset` bytes from its begin.
struct ggs_option_list {
    const char *              title;   // above them in --help
    const struct ggs_option * options; // a row without a name ends them
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
bool ggs_set_tokens(void * member, const char * text); // int64_t[2], both included: "5", "5..9", "5..", "..9"
bool ggs_set_offsets(void *       member,
                     const char * text); // uint64_t[2], the end not included: "64K..1.5M", "1G..", "4096"
#define GGS_EXPECTS_TOKENS "a token or a range such as 3, 3..5 or 3.."
